"""Pull counts and empirical means since each arm was last forgotten, for algorithms that restart."""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.support.numerics import set_at
from jaxbandit.support.types import Array
from jaxbandit.theory.estimators import counts as estimator
from jaxbandit.theory.estimators.counts import Counts


class RecentMeans(NamedTuple):
    """The statistics that an index needs; a forgotten arm has the entries of one that was never pulled."""

    arms: Counts  # of the rewards since each arm was forgotten
    inverse_sqrt_counts: Array  # float[num_arms], 1 / sqrt(counts), inf at 0; cached, one entry changes per round

    @property
    def counts(self) -> Array:
        """Pulls since the arm was forgotten, int32[num_arms]."""
        return self.arms.counts

    @property
    def means(self) -> Array:
        """Empirical means of these pulls, float[num_arms], 0 if there are none."""
        return self.arms.means


def init(num_arms: int) -> RecentMeans:
    """Return the statistics before the first pull."""
    return RecentMeans(estimator.init(num_arms), jnp.full(num_arms, jnp.inf))


def update(recent: RecentMeans, arm: Array, reward: Array) -> RecentMeans:
    """Return the statistics after one more reward of `arm`."""
    arms, n = estimator.update(recent.arms, arm, reward)
    # Not 1 / sqrt(n), which XLA turns into a reciprocal square root whose rounding depends on the vector's length.
    return RecentMeans(arms, set_at(recent.inverse_sqrt_counts, arm, jnp.sqrt(1 / n)))


def forget(recent: RecentMeans, which: Array) -> RecentMeans:
    """Return the statistics when the arms in `which`, bool[num_arms], or bool[] for all, restart."""
    inverse = jnp.where(which, jnp.inf, recent.inverse_sqrt_counts)
    return RecentMeans(estimator.forget(recent.arms, which), inverse)
