"""Gaussian arms: the reward of arm a is normal with mean means[a] and one standard deviation for all arms."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.base import Arms, BatchRewards, Environment, Rewards
from jaxbandit.environments.simple_regret import simple_regret
from jaxbandit.numerics import as_float, get_at, standard_normal
from jaxbandit.types import Array, ArrayLike, Key, Scalar


class GaussianState(NamedTuple):
    """The truth of one run."""

    means: Array  # float[num_arms]
    gaps: Array  # float[num_arms], max(means) - means


def gaussian(means: ArrayLike, *, sigma: Scalar = 1.0) -> Environment:
    """Return the K-armed Gaussian bandit.

    Args:
      means: float[num_arms], finite, traced. Rewards are not confined to [0, 1], even if the means are.
      sigma: standard deviation of every arm's reward, > 0, traced.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] on the real line. Its noise is
      one standard normal a round, shared by all arms; a batch's is one an arm, and a key for sums of squares.

    Raises:
      ValueError: means is empty, not a vector or not finite, or sigma is not a finite number above 0.
    """
    means = checks.array("gaussian", "means", means)
    sigma = checks.number("gaussian", "sigma", sigma, low=0.0, open_low=True)

    def init(key: Key) -> GaussianState:
        mu = as_float(means)
        return GaussianState(mu, jnp.max(mu) - mu)

    def reward(state: GaussianState, context: None, action: Array, noise: Array) -> Array:
        return get_at(state.means, action) + as_float(sigma) * noise

    def regret(state: GaussianState, context: None, action: Array) -> Array:
        return get_at(state.gaps, action)

    def batch_noise(key: Key) -> tuple[Array, Key]:
        # The last counter of the key: the normals use as many of the first as there are arms.
        return jax.random.normal(key, means.shape), jax.random.fold_in(key, 2**32 - 1)

    def sums(state: GaussianState, pulls: Array, noise: tuple[Array, Key]) -> Array:
        n = as_float(pulls)
        return n * state.means + as_float(sigma) * jnp.sqrt(n) * noise[0]

    def squares(state: GaussianState, pulls: Array, noise: tuple[Array, Key], sums: Array) -> Array:
        n = as_float(pulls)
        freedom = jnp.maximum(n - 1, 0.0)
        apart = 2 * jax.random.gamma(noise[1], jnp.maximum(freedom / 2, 0.5))  # chi squared, of n - 1 degrees
        return sums * sums / jnp.maximum(n, 1.0) + as_float(sigma) ** 2 * jnp.where(freedom > 0, apart, 0.0)

    return Environment(
        init=init,
        noise=standard_normal,
        reward=reward,
        regret=regret,
        simple_regret=simple_regret,
        batch=BatchRewards(batch_noise, sums, squares),
        arms=Arms(len(means)),
        rewards=Rewards(sigma=sigma, family="gaussian"),
        name="gaussian",
    )
