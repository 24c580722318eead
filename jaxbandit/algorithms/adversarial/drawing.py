"""Drawing an arm from a probability vector, with one uniform number per round."""

import jax
import jax.numpy as jnp

from jaxbandit.support.numerics import argmax, as_float, set_at
from jaxbandit.support.types import Array, Key


def draw_noise(key: Key) -> Array:
    """Return a uniform number in [0, 1], float[], made of two random words so that it is as fine near 0 as a float."""
    high, low = as_float(jax.random.bits(key, (2,), jnp.uint32))
    return (high + (low + 0.5) * 2.0**-32) * 2.0**-32


def draw(noise: Array, probabilities: Array) -> Array:
    """Return the arm at level `noise` of the cumulative distribution, int32[], with the most likely arm placed last.

    Small probabilities are then added up near 0, where floats are finest, so that rounding never draws an arm with
    probability 0.
    """
    leader = argmax(probabilities)
    below = jnp.cumsum(set_at(probabilities, leader, jnp.zeros((), probabilities.dtype))) <= noise
    arm = jnp.sum(below, dtype=jnp.int32)
    return jnp.where(arm < probabilities.shape[0], arm, leader)
