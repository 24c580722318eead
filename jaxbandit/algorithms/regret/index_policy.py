"""The common frame of index policies: pull each arm once, then always the arm with the largest index.

Ties go to the lowest-numbered arm. An arm without a reward comes first whatever the round, because with delayed
feedback the round number runs ahead of the rewards. If the context is an `Offer`, indices are compared as if the arms
that are not available did not exist.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.base import checks
from jaxbandit.base.contract import Algorithm, Arms, Offer, Rewards
from jaxbandit.base.numerics import argmax, exploration_level, set_at
from jaxbandit.base.offers import among_available, available_of
from jaxbandit.base.types import Array, Key, Scalar
from jaxbandit.theory.estimators import counts as estimator


class IndexState(NamedTuple):
    """The statistics from which the indices of the arms are computed."""

    round: Array  # int32[], the round about to be played, from 1
    counts: Array  # int32[num_arms]
    means: Array  # float[num_arms]
    inverse_sqrt_counts: Array  # float[num_arms], 1 / sqrt(counts), inf at 0; cached, one entry changes per round


def divergence_budget(state: IndexState, c: Scalar) -> Array:
    """Return (log t + c log log t) / N_a, float[num_arms], the divergence from the mean that an index allows."""
    return exploration_level(state.round, c) * state.inverse_sqrt_counts**2


def index_policy(
    name: str, num_arms: int, index: Callable[[IndexState], Array], *, rewards: Rewards | None = None
) -> Algorithm:
    """Return the deterministic policy that pulls the argmax of `index(state)` after one pull of each arm.

    The index of an arm without a reward is not used, so it may be anything, including NaN.

    Args:
      name: name of the policy in results and error messages.
      num_arms: number of arms, an integer >= 1; static.
      index: function from the state to one index per arm, float[num_arms].
      rewards: the rewards that the policy is made for; None leaves this unspecified.
    """
    num_arms = checks.integer(name, "num_arms", num_arms, 1)

    def init(key: Key) -> IndexState:
        start = estimator.init(num_arms)
        return IndexState(jnp.ones((), jnp.int32), start.counts, start.means, jnp.full(num_arms, jnp.inf))

    def select(noise: None, state: IndexState, context: Offer | None) -> Array:
        played = state.inverse_sqrt_counts < jnp.inf
        available = available_of(context)
        if available is not None:  # an index may depend on the largest mean
            state = state._replace(means=jnp.where(available, state.means, -jnp.inf))
        return argmax(among_available(available, jnp.where(played, index(state), jnp.inf)))

    def update(state: IndexState, context: Offer | None, action: Array, reward: Array) -> IndexState:
        counts, means, n = estimator.update(state.counts, state.means, action, reward)
        # Not 1 / sqrt(n), which XLA turns into a reciprocal square root whose rounding depends on the vector's length.
        inverse = set_at(state.inverse_sqrt_counts, action, jnp.sqrt(1 / n))
        return IndexState(state.round + 1, counts, means, inverse)

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        arms=Arms(num_arms),
        rewards=rewards,
        name=name,
    )
