"""The frame that index policies share: pull each arm once, then the arm of largest index, ties to the lowest.

An arm without a reward comes first, whatever the round: where feedback is late, rounds run ahead of the rewards.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.base import Algorithm, Arms, Rewards
from jaxbandit.estimators import counts as estimator
from jaxbandit.numerics import argmax, exploration_level, set_at
from jaxbandit.types import Array, Key, Scalar


class IndexState(NamedTuple):
    """What an index of K arms is computed from."""

    round: Array  # int32[], the round about to be played, from 1
    counts: Array  # int32[num_arms]
    means: Array  # float[num_arms]
    inverse_sqrt_counts: Array  # float[num_arms], 1 / sqrt(counts), cached: only the pulled arm's changes; inf at 0


def divergence_budget(state: IndexState, c: Scalar) -> Array:
    """delta_a = (log t + c log log t) / N_a, float[num_arms]: how far from the observed mean to look."""
    return exploration_level(state.round, c) * state.inverse_sqrt_counts**2


def index_policy(
    name: str, num_arms: int, index: Callable[[IndexState], Array], *, rewards: Rewards | None = None
) -> Algorithm:
    """Return the deterministic policy that pulls argmax of `index(state)`, after one pull of each arm.

    The index of an arm without a reward may be anything, NaN included: it is not used.

    Args:
      name: of the policy, in results and refusals.
      num_arms: number of arms, at least 1; static.
      index: of the state, a number for each arm, float[num_arms].
      rewards: what the policy is made for; None: not said.
    """
    num_arms = checks.integer(name, "num_arms", num_arms, 1)

    def init(key: Key) -> IndexState:
        start = estimator.init(num_arms)
        return IndexState(jnp.ones((), jnp.int32), start.counts, start.means, jnp.full(num_arms, jnp.inf))

    def select(noise: None, state: IndexState, context: None) -> Array:
        return argmax(jnp.where(state.inverse_sqrt_counts < jnp.inf, index(state), jnp.inf))

    def update(state: IndexState, context: None, action: Array, reward: Array) -> IndexState:
        counts, means, n = estimator.update(state.counts, state.means, action, reward)
        # Not 1 / sqrt(n): XLA makes that a reciprocal square root, whose rounding depends on the vector's length.
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
