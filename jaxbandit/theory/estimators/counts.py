"""Pull counts and empirical means: the sufficient statistics of most K-armed algorithms here."""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.base.numerics import as_float, get_at, set_at
from jaxbandit.base.types import Array


class Counts(NamedTuple):
    """Sufficient statistics of num_arms arms, as fields to include in an algorithm's state."""

    counts: Array  # int32[num_arms]
    means: Array  # float[num_arms], 0 where never pulled


def init(num_arms: int) -> Counts:
    """Return the statistics before the first pull."""
    return Counts(jnp.zeros(num_arms, jnp.int32), jnp.zeros(num_arms))


def update(counts: Array, means: Array, arm: Array, reward: Array) -> tuple[Array, Array, Array]:
    """Return counts and means after one more reward of `arm`, and the arm's new number of pulls as a float.

    Only the entries of the pulled arm are recomputed. The running-mean form keeps the mean of constant rewards exact,
    so that empirical means of 0 and 1 stay 0 and 1. Its rounding error is about eps sqrt(n / 3), far below the sampling
    error 1 / sqrt(n), until float32 no longer changes with further rewards at n near 2^24; use float64 for longer
    horizons.
    """
    n = get_at(counts, arm) + 1
    n_float = as_float(n)
    mean = get_at(means, arm)
    mean = mean + (reward - mean) / n_float
    return set_at(counts, arm, n), set_at(means, arm, mean), n_float
