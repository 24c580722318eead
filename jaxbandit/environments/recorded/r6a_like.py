"""Synthetic instances with the shape of the click experiment of LinGapE (Xu, Honda and Sugiyama 2018, Section 7.2).

Users and articles are mixtures of five segments in addition to a constant, as in the Yahoo! R6A log. An arm is a
user-article pair whose features are all products of the six of the user and the six of the article, x in R^36. Nothing
is fitted to the log; `r6a` reads the log itself.
"""

from typing import Annotated

import numpy as np

from jaxbandit.base.arguments import AtLeastOne, Seed, SeveralArms
from jaxbandit.base.contract import Environment
from jaxbandit.base.declaration import declare
from jaxbandit.base.parameters import Arg
from jaxbandit.environments.linear_arms.linear import linear
from jaxbandit.support.domains import number

MinGap = Annotated[
    float, Arg(number(0, 1, open_low=True, open_high=True), "smallest gap between the best arm and another; static")
]
_PAIRS = 10_000  # number of pairs from which arms are drawn, at least 100 per arm
_CLICK_RATE = 0.04  # mean over pairs of segments, whose rates are drawn from an exponential distribution


@declare(concrete=("min_gap",), settings=({"num_arms": 3},))
def r6a_like(
    num_arms: SeveralArms, *, instance_seed: Seed = 0, min_gap: MinGap = 0.05, sigma: AtLeastOne = 2.0
) -> Environment:
    """Synthetic clicks in the form of the R6A log.

    The 36 features span 25 dimensions, because the mixture weights add up to the constant, as they do in the R6A log.

    Args:
      sigma: sub-Gaussian scale that algorithms are told. The paper uses 2, see `linear`.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] -1 and 1, as `linear` with sign noise.

    Raises:
      ValueError: there are no num_arms arms with such a gap.

    Source:
      After Xu, Honda and Sugiyama (2018), A fully adaptive algorithm for pure exploration in linear bandits, AISTATS,
      Section 7.2.
    """
    instance = _instance(num_arms, instance_seed, min_gap)
    return linear(*instance, noise="sign", sigma=sigma)._replace(name="r6a_like")


def _instance(num_arms: int, instance_seed: int, min_gap: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(instance_seed)
    click_rates = np.minimum(rng.exponential(_CLICK_RATE, (5, 5)), 1.0)
    # Features are the constant 1 and then the mixture, so that a mean is 2 (probability of a click) - 1.
    theta = np.zeros((6, 6))
    theta[0, 0], theta[1:, 1:] = -1.0, 2 * click_rates
    size = max(_PAIRS, 100 * num_arms)
    user, article = (np.insert(rng.dirichlet(np.full(5, 0.3), size), 0, 1.0, axis=1) for _ in range(2))
    x = products(user, article)
    arms = choose(x @ theta.ravel(), num_arms, min_gap, rng)
    return x[arms], theta.ravel()


def products(user: np.ndarray, article: np.ndarray) -> np.ndarray:
    """Return float64[n, 36], whose entry 6 i + j is the product of the user's feature i and the article's feature j."""
    return (user[:, :, None] * article[:, None, :]).reshape(len(user), -1)


def choose(means: np.ndarray, num_arms: int, min_gap: float, rng: np.random.Generator) -> np.ndarray:
    """Return the indices of num_arms random entries of `means`, one of which, at a random place, is best by min_gap.

    It is the best of num_arms random entries, among those that exceed enough others by min_gap; the others are some of
    these.
    """
    order = rng.permutation(len(means))
    num_below = np.searchsorted(np.sort(means), means - min_gap, side="right")
    most = int(num_below.max(initial=0))
    if most < num_arms - 1:
        reason = f"none of {len(means)} pairs is {min_gap:g} above more than {most} others"
        raise ValueError(f"num_arms = {num_arms}, must be at most {most + 1}: {reason}")
    eligible = order[num_below[order] >= num_arms - 1][:num_arms]
    best = eligible[np.argmax(means[eligible])]
    below = order[means[order] <= means[best] - min_gap]
    return np.insert(below[: num_arms - 1], rng.integers(num_arms), best)
