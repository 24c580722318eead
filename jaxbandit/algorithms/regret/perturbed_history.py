"""Rules that add made-up rewards to the history of an arm: PHE and Giro of Kveton et al. (2019).

Both play the arm with the largest mean of its randomized history; ties go to the lowest-numbered arm.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxbandit.base.arguments import NumArms, Positive
from jaxbandit.base.contract import Algorithm, Arms, Choice, Offer, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.offers import best_available
from jaxbandit.support.numerics import as_float, unit_of_words
from jaxbandit.support.types import Array, Key, Scalar
from jaxbandit.theory.estimators import counts as estimator
from jaxbandit.theory.estimators.counts import Successes
from jaxbandit.theory.solvers.discrete import binomial_quantile

MARGIN = 1e-4  # by how much a product of a and a count may exceed a whole number by rounding


@declare(
    question="regret", rewards="in [0, 1]", cost="O(K), a binomial draw an arm", memory="O(K)", tries={"a": (1.1, 2.0)}
)
def phe(num_arms: NumArms, *, a: Positive = 1.1) -> Algorithm:
    """Perturbed-history exploration, Kveton et al. 2019.

    Return PHE: the index of an arm with S successes in N pulls is (S + U) / (N + M), U ~ Binomial(M, 1/2), M = ceil(a
    N). A reward strictly between 0 and 1 is replaced by a Bernoulli draw with that success probability. Each arm is
    pulled once first.

    Guarantee: For a > 1 and rewards in [0, 1], regret O(log T) times the sum of 1 / gap (Kveton, Szepesvari,
    Ghavamzadeh and Boutilier 2019).

    Args:
      a: made-up rewards per pull.

    Returns:
      Its noise is float[num_arms + 1], uniform numbers for the arms and one for the Bernoulli draw.

    Source:
      Kveton, Szepesvari, Ghavamzadeh and Boutilier (2019), Perturbed-history exploration in stochastic multi-armed
      bandits, IJCAI, Algorithm 1, with Bernoulli draws of the rewards.
    """

    def score(u: Array, n: Array, successes: Array) -> Array:
        drawn = binomial_quantile(u, made_up(a, n), jnp.full_like(n, 0.5))
        return (successes + drawn) / (n + made_up(a, n))

    return _rule(num_arms, score)


@declare(
    question="regret", rewards="in [0, 1]", cost="O(K), a binomial draw an arm", memory="O(K)", tries={"a": (1.0, 0.5)}
)
def giro(num_arms: NumArms, *, a: Positive = 1.0) -> Algorithm:
    """Garbage in, reward out: the bootstrap of a history with made-up rewards, Kveton et al. 2019.

    Return Giro: the index of an arm is the mean of a bootstrap sample of its history with M = ceil(a N) made-up ones
    and as many zeros. The number of ones in that sample is Binomial(w, (S + M) / w), with w = N + 2 M and S the
    successes in N pulls. A reward strictly between 0 and 1 is replaced by a Bernoulli draw with that success
    probability. Each arm is pulled once first.

    Guarantee: For a > 1 / sqrt(2), logarithmic regret for Bernoulli rewards (Kveton, Szepesvari, Vaswani, Wen,
    Lattimore and Ghavamzadeh 2019).

    Args:
      a: made-up ones, and as many zeros, per pull.

    Returns:
      Its noise is float[num_arms + 1], uniform numbers for the arms and one for the Bernoulli draw.

    Source:
      Kveton, Szepesvari, Vaswani, Wen, Lattimore and Ghavamzadeh (2019), Garbage in, reward out: bootstrapping
      exploration in multi-armed bandits, ICML, Algorithm 1.
    """

    def score(u: Array, n: Array, successes: Array) -> Array:
        size = jnp.maximum(n + 2 * made_up(a, n), 1.0)
        return binomial_quantile(u, size, (successes + made_up(a, n)) / size) / size

    return _rule(num_arms, score)


def made_up(a: Scalar, n: Array) -> Array:
    """Return ceil(a n), whatever the rounding of the product."""
    return jnp.ceil(as_float(a) * n - MARGIN)


def _rule(num_arms: int, score: Callable[[Array, Array, Array], Array]) -> Algorithm:
    """Return the rule of a score of uniform numbers, pulls and successes."""

    def noise(key: Key) -> Array:
        return unit_of_words(jax.random.bits(key, (num_arms + 1,), jnp.uint32))

    def select(noise: Array, state: Successes, context: Offer | None) -> Choice:
        scores = score(noise[:num_arms], as_float(state.counts), as_float(state.successes))
        scores = jnp.where(state.counts > 0, scores, jnp.inf)
        return Choice(best_available(context, scores), noise[num_arms])

    def update(state: Successes, context: Offer | None, choice: Choice, reward: Array) -> Successes:
        return estimator.toss(state, *choice, reward)

    return Algorithm(
        init=lambda key: estimator.no_successes(num_arms),
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        noise=noise,
        arms=Arms(num_arms),
        rewards=Rewards(0.0, 1.0),
    )
