"""Gaussian arms: the reward of arm a is normal with mean means[a] and one standard deviation for all arms."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.base import Environment, no_context
from jaxbandit.environments.shortfall import shortfall
from jaxbandit.numerics import as_float, get_at, standard_normal
from jaxbandit.types import Array, Key, Scalar


class GaussianState(NamedTuple):
    """The truth of one run."""

    means: Array  # float[num_arms]
    gaps: Array  # float[num_arms], max(means) - means


def gaussian(means: Array, *, sigma: Scalar = 1.0) -> Environment:
    """Return the K-armed Gaussian bandit.

    Args:
      means: float[num_arms], finite, traced. Rewards are not confined to [0, 1], even if the means are.
      sigma: standard deviation of every arm's reward, > 0, traced.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] on the real line. Its noise is
      one standard normal a round, shared by all arms; a block's is one an arm.

    Raises:
      ValueError: means is empty, not a vector or not finite, or sigma is not a finite number above 0.
    """
    means = checks.array("gaussian", "means", means)
    sigma = checks.number("gaussian", "sigma", sigma, low=0.0, open_low=True)

    def init(key: Key) -> GaussianState:
        mu = as_float(means)
        return GaussianState(mu, jnp.max(mu) - mu)

    def noise(key: Key) -> Array:
        return standard_normal(key)

    def reward(state: GaussianState, context: None, action: Array, noise: Array) -> Array:
        return get_at(state.means, action) + as_float(sigma) * noise

    def regret(state: GaussianState, context: None, action: Array) -> Array:
        return get_at(state.gaps, action)

    def block_noise(key: Key) -> Array:
        return jax.random.normal(key, means.shape)

    def block_reward(state: GaussianState, pulls: Array, noise: Array) -> Array:
        n = as_float(pulls)
        return n * state.means + as_float(sigma) * jnp.sqrt(n) * noise

    return Environment(
        init=init,
        observe=no_context(),
        noise=noise,
        reward=reward,
        regret=regret,
        shortfall=shortfall,
        block_noise=block_noise,
        block_reward=block_reward,
    )
