"""Pulls and empirical mean of each arm since it was last forgotten, for algorithms that restart."""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.estimators import counts as estimator
from jaxbandit.numerics import set_at
from jaxbandit.types import Array


class RecentMeans(NamedTuple):
    """What an index needs of num_arms arms; entries of an arm that was forgotten are those of one never pulled."""

    counts: Array  # int32[num_arms], pulls since the arm was forgotten
    means: Array  # float[num_arms], 0 where there is none
    inverse_sqrt_counts: Array  # float[num_arms], 1 / sqrt(counts), cached: only the pulled arm's changes; inf at 0


def init(num_arms: int) -> RecentMeans:
    """No pulls yet."""
    start = estimator.init(num_arms)
    return RecentMeans(start.counts, start.means, jnp.full(num_arms, jnp.inf))


def update(recent: RecentMeans, arm: Array, reward: Array) -> RecentMeans:
    """What is known after one more reward of `arm`."""
    counts, means, n = estimator.update(recent.counts, recent.means, arm, reward)
    # Not 1 / sqrt(n): XLA makes that a reciprocal square root, whose rounding depends on the vector's length.
    return RecentMeans(counts, means, set_at(recent.inverse_sqrt_counts, arm, jnp.sqrt(1 / n)))


def forget(recent: RecentMeans, which: Array) -> RecentMeans:
    """What is known when the arms in `which`, bool[num_arms] or bool[] for all, start anew."""
    return RecentMeans(
        counts=jnp.where(which, 0, recent.counts),
        means=jnp.where(which, 0.0, recent.means),
        inverse_sqrt_counts=jnp.where(which, jnp.inf, recent.inverse_sqrt_counts),
    )
