"""Sums of estimated losses, each in two floats, because a single float32 loses small losses beyond about 10^6 rounds.

What rounding leaves out is kept beside the sum and enters the next one (Knuth's exact sum of two floats).
"""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.support.types import Array


class LossSums(NamedTuple):
    """The sum of an arm's losses is sums + rest, where `rest` is below the last bit of `sums`."""

    sums: Array  # float[num_arms]
    rest: Array  # float[num_arms]


def init(num_arms: int) -> LossSums:
    """Return the sums before the first loss."""
    return LossSums(jnp.zeros(num_arms), jnp.zeros(num_arms))


def add(losses: LossSums, more: Array) -> LossSums:
    """Return the sums after adding float[num_arms]."""
    addend = more + losses.rest
    total = losses.sums + addend
    taken = total - losses.sums
    return LossSums(total, (losses.sums - (total - taken)) + (addend - taken))


def above_least(losses: LossSums) -> Array:
    """Return each sum minus the smallest, float[num_arms] >= 0, as accurate as its own size allows."""
    apart = (losses.sums - jnp.min(losses.sums)) + losses.rest
    return apart - jnp.min(apart)
