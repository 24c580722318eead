"""Feedback that is seen at the ends of batches alone: a wrapper of any algorithm that plays to a horizon.

Perchet, Rigollet, Chassang and Snowberg (2016), Batched bandit problems, Annals of Statistics. Two states of the
algorithm are kept, that which selects and that which has been told everything: at the end of a batch the one becomes
the other. So nothing waits in a queue, and importance weights are told the probabilities of the round of the pull.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.algorithms.feedback.grids import checked_grid
from jaxbandit.algorithms.feedback.wrapped import check_wrapped, no_pulls, with_pull
from jaxbandit.base import Algorithm, Phases, Replan
from jaxbandit.numerics import get_at
from jaxbandit.types import Array, Key, PyTree


class BatchedState(NamedTuple):
    """The algorithm's state at the end of the last batch, and that with the feedback of the batch under way."""

    selecting: PyTree
    told: PyTree
    round: Array  # int32[], rounds played
    batch: Array  # int32[], batches that are over
    pulls: Array | None  # int32[num_pulls], all of them


def batched(
    algorithm: Algorithm,
    grid: Literal["minimax", "geometric"] | Sequence[int] = "minimax",
    *,
    num_batches: int | None = None,
    horizon: int | None = None,
) -> Algorithm:
    """Return the algorithm that sees the feedback of rounds t_(j-1) + 1 .. t_j at the end of round t_j.

    Inside a batch it selects by its state at the end of the batch before. A deterministic index rule thus pulls one arm
    for a whole batch; Thompson sampling is the rule to wrap.

    Args:
      algorithm: plays single pulls, or sets of arms, to a horizon, and says its arms. With `replan_late` its new plan
        may be late by a batch.
      grid: the rounds t_1 < .. < t_M, static, to which a given horizon is added; or "minimax" or "geometric", as
        `minimax_grid` and `geometric_grid`. After t_M nothing more is seen.
      num_batches: M >= 1 of a grid by name, static; None: 3.
      horizon: T, static; needed by a grid by name.

    Returns:
      An Algorithm of the same actions and rewards, named batched(NAME). Its pulls are those made; its recommendation
      and its rounds by kind are those at the end of the last batch.

    Raises:
      ValueError: the algorithm stops by itself, pulls in batches or does not say its arms; or the grid does not
        increase, or goes beyond the horizon.

    Source: Perchet, Rigollet, Chassang, Snowberg (2016), Batched bandit problems, Annals of Statistics.
    """
    algorithm = check_wrapped("batched", algorithm)
    points = checked_grid("batched", grid, num_batches, horizon)
    starts = np.array([0, *points], np.int32)
    replan, recommend, phases = algorithm.replan, algorithm.recommend, algorithm.phases

    def init(key: Key) -> BatchedState:
        state, zero = algorithm.init(key), jnp.zeros((), jnp.int32)
        return BatchedState(state, state, zero, zero, no_pulls(algorithm, state))

    def select(noise: PyTree, state: BatchedState, context: PyTree) -> Any:
        return algorithm.select(noise, state.selecting, context)

    def update(state: BatchedState, context: PyTree, selected: PyTree, feedback: PyTree) -> BatchedState:
        told, played = algorithm.update(state.told, context, selected, feedback), state.round + 1
        ends = played == get_at(jnp.asarray(starts), jnp.minimum(state.batch + 1, len(points)))
        return BatchedState(
            selecting=_either(ends, told, state.selecting),
            told=told,
            round=played,
            batch=state.batch + ends.astype(jnp.int32),
            pulls=with_pull(algorithm, state.pulls, context, selected),
        )

    def planned(state: BatchedState) -> BatchedState:
        assert replan is not None
        told = replan.apply(state.told)
        begins = state.round == get_at(jnp.asarray(starts), state.batch)  # both states are the same then
        return state._replace(selecting=_either(begins, told, state.selecting), told=told)

    return algorithm._replace(
        init=init,
        select=select,
        update=update,
        pulls=None if algorithm.pulls is None else lambda state: state.pulls,
        recommend=recommend and (lambda state: recommend(state.selecting)),
        phases=phases and Phases(phases.names, lambda state: phases.counts(state.selecting)),
        replan=replan and Replan(lambda state: replan.due(state.told), planned),
        name=f"batched({algorithm.name})",
    )


def _either(condition: Array, yes: PyTree, no: PyTree) -> PyTree:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
