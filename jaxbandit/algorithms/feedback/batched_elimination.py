"""BaSE, batched successive elimination: Gao, Han, Ren and Zhou (2019), Algorithm 1.

Within a batch the arms left are pulled in turn, and at its end those too far below the best are dropped. Differs: a
batch need not be a multiple of the number of arms left. The authors' code has another radius than the paper, and goes
on in turn in the last batch, where the paper commits to one arm: `radius` says which.
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxbandit import checks
from jaxbandit.algorithms.feedback.grids import checked_grid
from jaxbandit.base import Algorithm, Arms, Rewards
from jaxbandit.estimators import counts as estimator
from jaxbandit.numerics import argmax, as_float, get_at
from jaxbandit.types import Array, Key, Scalar


class BatchedEliminationState(NamedTuple):
    """The arms left, and what has been seen of all."""

    round: Array  # int32[], rounds played
    batch: Array  # int32[], batches that are over
    active: Array  # bool[num_arms]
    counts: Array  # int32[num_arms]
    means: Array  # float[num_arms]


def batched_elimination(
    num_arms: int,
    *,
    horizon: int,
    grid: Literal["minimax", "geometric"] | Sequence[int] = "minimax",
    num_batches: int | None = None,
    radius: Literal["code", "paper"] = "code",
    gamma: Scalar | None = None,
) -> Algorithm:
    """Return BaSE, whose minimax regret with M = log log T batches is that of an algorithm that always sees.

    Args:
      num_arms: K >= 1, static.
      horizon: T, static.
      grid: the ends of the batches, static: "minimax", "geometric", or rounds t_1 < .. < t_M, to which T is added.
        t_1 >= K.
      num_batches: M >= 1 of a grid by name, static; None: 3.
      radius: an arm is dropped at t_j, j < M, if its mean is so far below the largest, or further; static. "code":
        gamma sqrt(K log(T K / t_j) / t_j). "paper": sqrt(gamma log(T K) / n), n the least pulls of an arm left; then
        the last batch pulls the arm of largest mean, the lowest of several.
      gamma: > 0, traced; None: 1 of "code", 1/2 of "paper", which the paper's proof does not cover.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[], sub-Gaussian of scale 1.

    Raises:
      ValueError: an argument is out of range, or the first batch has fewer rounds than there are arms.

    Source: Gao, Han, Ren, Zhou (2019), Batched multi-armed bandits problem, NeurIPS.
    """
    where = "batched_elimination"
    num_arms = checks.integer(where, "num_arms", num_arms, 1)
    points = checked_grid(where, grid, num_batches, checks.integer(where, "horizon", horizon, 1))
    checks.choice(where, "radius", radius, ("code", "paper"))
    if gamma is None:
        gamma = 1.0 if radius == "code" else 0.5
    checks.number(where, "gamma", gamma, low=0.0, open_low=True)
    if points[0] < num_arms:
        raise ValueError(f"{where}: the first batch ends at {points[0]}, must be at least num_arms = {num_arms}")
    starts = np.array([0, *points], np.int32)
    spreads = np.array([math.log(horizon * num_arms / t) / t for t in points])  # in float64, on the host

    def init(key: Key) -> BatchedEliminationState:
        zero, begin = jnp.zeros((), jnp.int32), estimator.init(num_arms)
        return BatchedEliminationState(zero, zero, jnp.ones(num_arms, bool), begin.counts, begin.means)

    def select(noise: None, state: BatchedEliminationState, context: None) -> Array:
        place = jnp.cumsum(state.active.astype(jnp.int32), dtype=jnp.int32)
        turn = (state.round - get_at(jnp.asarray(starts), state.batch)) % place[-1]
        in_turn = argmax(place > turn)
        if radius == "code":
            return in_turn
        best = argmax(jnp.where(state.active, state.means, -jnp.inf))
        # With one batch there is nothing to commit to.
        commits = (state.batch >= len(points) - 1) & (state.batch > 0)
        return jnp.where(commits, best, in_turn)

    def update(state: BatchedEliminationState, context: None, action: Array, reward: Array) -> BatchedEliminationState:
        counts, means, _ = estimator.update(state.counts, state.means, action, reward)
        played, last = state.round + 1, len(points) - 1
        ends = (state.batch < last) & (played == get_at(jnp.asarray(points, jnp.int32), jnp.minimum(state.batch, last)))
        below = jnp.max(jnp.where(state.active, means, -jnp.inf)) - means
        return BatchedEliminationState(
            round=played,
            batch=state.batch + ends.astype(jnp.int32),
            active=state.active & ~(ends & (below >= width(state, counts))),
            counts=counts,
            means=means,
        )

    def width(state: BatchedEliminationState, counts: Array) -> Array:
        if radius == "code":
            spread = get_at(as_float(spreads), jnp.minimum(state.batch, len(points) - 1))
            return as_float(gamma) * jnp.sqrt(num_arms * spread)
        least = jnp.min(jnp.where(state.active, counts, jnp.iinfo(jnp.int32).max))
        return jnp.sqrt(as_float(gamma) * math.log(horizon * num_arms) / as_float(least))

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        arms=Arms(num_arms),
        rewards=Rewards(sigma=1.0),
        name=where,
    )
