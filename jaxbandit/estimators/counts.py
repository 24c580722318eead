"""Pulls and empirical mean of each arm: the sufficient statistics of every K-armed algorithm here."""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.numerics import as_float, get_at, set_at
from jaxbandit.types import Array


class Counts(NamedTuple):
    """Sufficient statistics of num_arms arms, as fields to embed in an algorithm's state."""

    counts: Array  # int32[num_arms]
    means: Array  # float[num_arms], 0 where never pulled


def init(num_arms: int) -> Counts:
    """No pulls yet."""
    return Counts(jnp.zeros(num_arms, jnp.int32), jnp.zeros(num_arms))


def update(counts: Array, means: Array, arm: Array, reward: Array) -> tuple[Array, Array, Array]:
    """Return counts and means after one more reward of `arm`, and the arm's new number of pulls as a float.

    Only the pulled arm's entries are recomputed. The running-mean form keeps the mean of constant rewards exact, so
    that p = 0 and p = 1 stay p = 0 and p = 1; its rounding error is about eps sqrt(n / 3), far below the 1 / sqrt(n)
    of sampling, until float32 stops absorbing rewards at n near 2^24: use float64 for longer horizons.
    """
    n = get_at(counts, arm) + 1
    n_float = as_float(n)
    mean = get_at(means, arm)
    mean = mean + (reward - mean) / n_float
    return set_at(counts, arm, n), set_at(means, arm, mean), n_float
