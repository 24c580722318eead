"""Linear arms: the reward of arm a has mean features[a] @ theta, with Gaussian noise or with the values -1 and 1.

The sign noise is that of Xu, Honda and Sugiyama (2018, LinGapE), Section 7.2.
"""

from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.arguments import Candidates, Deviation, Matrix, Vector
from jaxbandit.base.batches import BatchRewards
from jaxbandit.base.contract import Arms, Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.truth import Truth
from jaxbandit.environments.linear_arms.linear_truth import characteristic_time, linear_known, linear_truth
from jaxbandit.environments.means import MeansState, equal_if_rounded, means_of_state, shortfall, stationary_arms
from jaxbandit.environments.stationary.binomial import binomial
from jaxbandit.environments.stationary.gaussian import gaussian
from jaxbandit.support import checks
from jaxbandit.support.domains import number
from jaxbandit.support.numerics import as_float, get_at
from jaxbandit.support.types import Array, ArrayLike, Key, Scalar

_ROUNDING = 1e-12  # by how much an inner product may exceed 1


@declare(
    settings=(
        {"features": ((1.0, 0.1), (-0.5, 0.9), (0.7, 0.5)), "theta": (0.5, 0.1), "noise": "gaussian"},
        {"features": ((1.0, 0.1), (-0.5, 0.9), (0.7, 0.5)), "theta": (0.5, 0.1), "noise": "sign"},
    )
)
def linear(
    features: Matrix,
    theta: Vector,
    *,
    candidates: Candidates | None = None,
    noise: Literal["gaussian", "sign"] = "gaussian",
    sigma: Deviation = 1.0,
) -> Environment:
    """Means linear in the features, Gaussian noise or rewards -1 and 1.

    Return the linear bandit, whose arms are the rows of a feature matrix: arm a has mean features[a] @ theta.

    Args:
      features: float[num_arms, dim].
      theta: float[dim]. It is hidden from algorithms.
      candidates: the recommendation is judged by their means, candidates @ theta. Regret is that of the arms.
      noise: "gaussian", or "sign" for rewards -1 and 1.
      sigma: with Gaussian noise its standard deviation. With sign noise it is only the sub-Gaussian scale that
        algorithms are told, >= 1: rewards in [-1, 1] are 1-sub-Gaussian by Hoeffding's lemma, and no smaller scale is
        valid for all means. The LinGapE paper uses 2.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[]. Its noise is one standard normal, or one
      uniform in [-1, 1), per round, shared by all arms; the noise of a batch is that of `gaussian`, or a key. With sign
      noise and traced arguments, means outside [-1, 1] are clipped, also in the true means.

    Raises:
      ValueError: the dimensions of features, theta and candidates differ, sigma is too small, or some mean of an arm is
        outside [-1, 1] with sign noise.

    Source:
      Xu, Honda and Sugiyama (2018), A fully adaptive algorithm for pure exploration in linear bandits, AISTATS, Section
      7.2, for the sign noise.
    """
    checks.same_dimension(candidates, features)
    environment = from_means(linear_means(features, theta), noise, sigma)._replace(
        known=lambda: linear_known(features, theta, sigma, candidates),
        truth=linear_truth(features, theta, sigma, gaussian=noise == "gaussian"),
    )
    return environment if candidates is None else _judged_by(environment, features, theta, sigma, candidates)


def _judged_by(
    environment: Environment, features: Array, theta: Array, sigma: Scalar, candidates: Array
) -> Environment:
    """Return the environment in which one of the candidates is recommended in place of an arm."""
    truth, means = environment.truth, linear_means(candidates, theta)

    def time() -> float:
        return characteristic_time(features, means, sigma, candidates)

    def simple_regret(state: MeansState, recommendation: Array) -> Array:
        return shortfall(as_float(means), recommendation)

    return environment._replace(
        simple_regret=simple_regret,
        arms=Arms(len(features), num_candidates=len(candidates)),
        truth=truth._replace(characteristic_time=truth.characteristic_time and time, candidates=lambda: means),
    )


def linear_means(features: Array, theta: Array) -> ArrayLike:
    """Return features @ theta, float[num_arms], in float64 NumPy if both are concrete; ties on paper are equal numbers.

    Inner products tie if they differ by no more than the rounding of their own products.
    """
    x, weights = features, theta
    if x.shape[1] != weights.shape[0]:
        raise ValueError(f"theta has {weights.shape[0]} entries, must have {x.shape[1]}, as rows of features")
    if not all(isinstance(array, np.ndarray) for array in (x, weights)):
        x, weights = as_float(x), as_float(weights)
    products = x * weights[None]
    # A sum of n terms is within n - 1 rounding errors of their absolute values, and each term has one to three more:
    # its own, and those of its two factors, which may be rounded already.
    rounding = (x.shape[1] + 2) * jnp.finfo(x.dtype).eps / 2 * abs(products).sum(axis=1)
    return equal_if_rounded(products.sum(axis=1), rounding)


def from_means(means: Array, noise: Literal["gaussian", "sign"], sigma: Scalar) -> Environment:
    """Return the environment with these means and this noise."""
    if noise == "gaussian":
        return gaussian(means, sigma=sigma)._replace(name="")
    checks.take("sigma", sigma, checks.scalars(number(low=1.0)))
    if isinstance(means, np.ndarray):
        beyond = np.flatnonzero(np.abs(means) > 1 + _ROUNDING)
        if beyond.size:
            a = int(beyond[0])
            raise ValueError(f"features[{a}] @ theta = {float(means[a])!r}, must be in [-1, 1] for sign noise")
    return _signs(means)


def _signs(means: Array) -> Environment:
    """Return the environment with reward 1 with probability (1 + means[a]) / 2 and -1 otherwise."""

    def noise(key: Key) -> Array:
        return 2 * jax.random.uniform(key) - 1

    def reward(state: MeansState, context: None, action: Array, noise: Array) -> Array:
        return as_float(jnp.where(noise < get_at(state.means, action), 1, -1))

    def sums(state: MeansState, pulls: Array, noise: Key) -> Array:
        return 2 * binomial(noise, pulls, (1 + state.means) / 2) - as_float(pulls)

    def squares(state: MeansState, pulls: Array, noise: Key, sums: Array) -> Array:
        return as_float(pulls)

    return stationary_arms(
        len(means),
        lambda key: jnp.clip(as_float(means), -1.0, 1.0),
        reward,
        noise=noise,
        batch=BatchRewards(lambda key: key, sums, squares),
        rewards=Rewards(-1.0, 1.0, sigma=1.0, family="sign"),
        truth=Truth(means=means_of_state),
    )
