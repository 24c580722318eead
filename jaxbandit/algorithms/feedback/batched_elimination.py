"""BaSE, batched successive elimination: Gao, Han, Ren and Zhou (2019), Algorithm 1.

Differences: the length of a batch need not be a multiple of the number of arms left; `radius` selects between the
authors' code and the paper.
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxbandit.algorithms.feedback.grids import checked_grid
from jaxbandit.base.arguments import Count, Horizon, NumArms, Positive
from jaxbandit.base.contract import Algorithm, Arms, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import argmax, as_float, get_at
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import counts as estimator
from jaxbandit.theory.estimators.counts import Counts


class BatchedEliminationState(NamedTuple):
    """The remaining arms, and the statistics of all arms."""

    round: Array  # int32[], rounds played
    batch: Array  # int32[], completed batches
    active: Array  # bool[num_arms]
    arms: Counts


@declare(
    question="regret",
    setting="batches",
    rewards="sub-Gaussian, scale 1",
    cost="O(K)",
    memory="O(K)",
    tries={"gamma": (1.0, 0.3)},
    settings=({"horizon": 60}, {"horizon": 60, "radius": "paper"}),
)
def batched_elimination(
    num_arms: NumArms,
    *,
    horizon: Horizon,
    grid: Literal["minimax", "geometric"] | Sequence[int] = "minimax",
    num_batches: Count | None = None,
    radius: Literal["code", "paper"] = "code",
    gamma: Positive | None = None,
) -> Algorithm:
    """BaSE, eliminates arms at the ends of batches, Gao et al. 2019.

    Within a batch the remaining arms are pulled in turn. At its end, arms whose mean is too far below the largest one
    are eliminated. Feedback arrives at the ends of batches only.

    Guarantee: With the radius "paper" and a constant above its default, minimax regret up to logarithms with a number
    of batches of order log log T (Gao et al. 2019); none at the default radius.

    In detail, the bound is O(log K sqrt(log(K T)) sqrt(K T)) on the minimax grid.

    Args:
      grid: the ends of the batches: "minimax", "geometric", or rounds t_1 < ... < t_M, to which T is added. The first
        batch must have at least K rounds.
      num_batches: number of batches M of a named grid; None means 3.
      radius: the distance below the largest mean at which an arm is eliminated at t_j for j < M. "code" is gamma sqrt(K
        log(T K / t_j) / t_j). "paper" is sqrt(gamma log(T K) / n), where n is the smallest number of pulls of a
        remaining arm; the last batch then pulls the arm with the largest mean, the lowest-numbered one if tied.
      gamma: constant of the radius; None means 1 for "code" and 1/2 for "paper", which the paper's proof does not
        cover.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[] that are sub-Gaussian with scale 1.

    Raises:
      ValueError: the first batch has fewer rounds than there are arms.

    Source:
      Gao, Han, Ren and Zhou (2019), Batched multi-armed bandits problem, NeurIPS, Algorithm 1.
    """
    points = checked_grid(grid, num_batches, horizon)
    if gamma is None:
        gamma = 1.0 if radius == "code" else 0.5
    if points[0] < num_arms:
        raise ValueError(f"the first batch ends at {points[0]}, must be at least num_arms = {num_arms}")
    starts = np.array([0, *points], np.int32)
    spreads = np.array([math.log(horizon * num_arms / t) / t for t in points])  # in float64, on the host

    def init(key: Key) -> BatchedEliminationState:
        zero, begin = jnp.zeros((), jnp.int32), estimator.init(num_arms, from_first=True)
        return BatchedEliminationState(zero, zero, jnp.ones(num_arms, bool), begin)

    def select(noise: None, state: BatchedEliminationState, context: None) -> Array:
        place = jnp.cumsum(state.active.astype(jnp.int32), dtype=jnp.int32)
        turn = (state.round - get_at(jnp.asarray(starts), state.batch)) % place[-1]
        in_turn = argmax(place > turn)
        if radius == "code":
            return in_turn
        best = argmax(jnp.where(state.active, state.arms.means, -jnp.inf))
        # With a single batch there is no earlier feedback to commit by.
        commits = (state.batch >= len(points) - 1) & (state.batch > 0)
        return jnp.where(commits, best, in_turn)

    def update(state: BatchedEliminationState, context: None, action: Array, reward: Array) -> BatchedEliminationState:
        arms, _ = estimator.update(state.arms, action, reward)
        played, last = state.round + 1, len(points) - 1
        ends = (state.batch < last) & (played == get_at(jnp.asarray(points, jnp.int32), jnp.minimum(state.batch, last)))
        below = jnp.max(jnp.where(state.active, arms.means, -jnp.inf)) - arms.means
        return BatchedEliminationState(
            round=played,
            batch=state.batch + ends.astype(jnp.int32),
            active=state.active & ~(ends & (below >= width(state, arms.counts))),
            arms=arms,
        )

    def width(state: BatchedEliminationState, counts: Array) -> Array:
        if radius == "code":
            spread = get_at(as_float(spreads), jnp.minimum(state.batch, len(points) - 1))
            return as_float(gamma) * jnp.sqrt(num_arms * spread)
        least = jnp.min(jnp.where(state.active, counts, jnp.iinfo(jnp.int32).max))
        return jnp.sqrt(as_float(gamma) * math.log(horizon * num_arms) / as_float(least))

    return Algorithm(
        init, select, update, pulls=lambda state: state.arms.counts, arms=Arms(num_arms), rewards=Rewards(sigma=1.0)
    )
