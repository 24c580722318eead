"""Pull counts and empirical means since each arm was last forgotten, for algorithms that restart."""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.base.numerics import set_at
from jaxbandit.base.types import Array
from jaxbandit.theory.estimators import counts as estimator


class RecentMeans(NamedTuple):
    """The statistics that an index needs; a forgotten arm has the entries of one that was never pulled."""

    counts: Array  # int32[num_arms], pulls since the arm was forgotten
    means: Array  # float[num_arms], 0 if there are no pulls
    inverse_sqrt_counts: Array  # float[num_arms], 1 / sqrt(counts), inf at 0; cached, one entry changes per round


def init(num_arms: int) -> RecentMeans:
    """Return the statistics before the first pull."""
    start = estimator.init(num_arms)
    return RecentMeans(start.counts, start.means, jnp.full(num_arms, jnp.inf))


def update(recent: RecentMeans, arm: Array, reward: Array) -> RecentMeans:
    """Return the statistics after one more reward of `arm`."""
    counts, means, n = estimator.update(recent.counts, recent.means, arm, reward)
    # Not 1 / sqrt(n), which XLA turns into a reciprocal square root whose rounding depends on the vector's length.
    return RecentMeans(counts, means, set_at(recent.inverse_sqrt_counts, arm, jnp.sqrt(1 / n)))


def forget(recent: RecentMeans, which: Array) -> RecentMeans:
    """Return the statistics when the arms in `which`, bool[num_arms], or bool[] for all, restart."""
    return RecentMeans(
        counts=jnp.where(which, 0, recent.counts),
        means=jnp.where(which, 0.0, recent.means),
        inverse_sqrt_counts=jnp.where(which, jnp.inf, recent.inverse_sqrt_counts),
    )
