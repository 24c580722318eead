"""An arm drawn from probabilities, one uniform a round."""

import jax
import jax.numpy as jnp

from jaxbandit.numerics import argmax, as_float, set_at
from jaxbandit.types import Array, Key


def draw_noise(key: Key) -> Array:
    """A uniform number in [0, 1], float[], of two words: as fine near 0 as a float is."""
    high, low = as_float(jax.random.bits(key, (2,), jnp.uint32))
    return (high + (low + 0.5) * 2.0**-32) * 2.0**-32


def draw(noise: Array, probabilities: Array) -> Array:
    """The arm at `noise` of the cumulative distribution, int32[], the most likely arm last.

    Small probabilities are then summed up near 0, where floats are fine, and the most likely arm has what is left of 1:
    it is drawn by no rounding where its probability says otherwise, and neither is any arm of probability 0.
    """
    leader = argmax(probabilities)
    below = jnp.cumsum(set_at(probabilities, leader, jnp.zeros((), probabilities.dtype))) <= noise
    arm = jnp.sum(below, dtype=jnp.int32)
    return jnp.where(arm < probabilities.shape[0], arm, leader)
