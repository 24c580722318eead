"""Exponential arms: the reward of arm a is means[a] times a standard exponential random number."""

import jax
import jax.numpy as jnp

from jaxbandit.base.arguments import Permute, PositiveVector
from jaxbandit.base.batches import BatchRewards
from jaxbandit.base.contract import Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.environments.means import MeansState, exponential_arms, means_of_run, stationary_arms
from jaxbandit.support.numerics import as_float, get_at, log
from jaxbandit.support.types import Array, Key


@declare(settings=({"means": (0.2, 0.5, 0.6)},))
def exponential(means: PositiveVector, *, permute: Permute = False) -> Environment:
    """Exponential rewards.

    Return the K-armed bandit with exponential rewards.

    Args:
      means: float[num_arms].

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] > 0. Its noise is one standard
      exponential number per round, made from 32 random bits and shared by all arms; it lies between 2^-33 and 22.9. The
      noise of a batch is a key; its sums are independent Gamma draws, and it provides no sums of squares.
    """

    def reward(state: MeansState, context: None, action: Array, noise: Array) -> Array:
        return get_at(state.means, action) * noise

    def sums(state: MeansState, pulls: Array, noise: Key) -> Array:
        n = as_float(pulls)
        return state.means * jnp.where(n > 0, jax.random.gamma(noise, jnp.maximum(n, 1.0)), 0.0)

    return stationary_arms(
        len(means),
        lambda key: means_of_run(key, means, permute),
        reward,
        noise=standard_exponential,
        batch=BatchRewards(lambda key: key, sums),
        rewards=Rewards(low=0.0, family="exponential"),
        truth=exponential_arms(means),
    )


def standard_exponential(key: Key) -> Array:
    """Return one standard exponential number, float[], made from one word; its tail is an odd multiple of 2^-33."""
    word = jax.lax.bitcast_convert_type(jax.random.bits(key, (), jnp.uint32), jnp.int32)
    twice_tail = (as_float(word) + 0.5) * 2.0**-31
    tail = jnp.abs(twice_tail) / 2  # the probability of the nearer tail, where floats are finest
    return jnp.where(twice_tail < 0, -log(tail), -jnp.log1p(-tail))
