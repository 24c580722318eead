"""Batched feedback, which is revealed at the ends of batches only: a wrapper for algorithms with a fixed horizon.

Two states of the algorithm are kept, one that selects and one that has received all feedback; at the end of a batch the
second replaces the first. Importance weights use the probabilities of the round of the pull.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.algorithms.feedback.grids import checked_grid
from jaxbandit.algorithms.feedback.wrappers import check_wrapped, no_pulls, with_pull
from jaxbandit.base.arguments import Count, Horizon
from jaxbandit.base.contract import Algorithm, Phases
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import get_at
from jaxbandit.support.types import Array, Key, PyTree


class BatchedState(NamedTuple):
    """The algorithm's state at the end of the last batch, and its state including the feedback of the current batch."""

    selecting: PyTree
    current: PyTree
    round: Array  # int32[], rounds played
    batch: Array  # int32[], completed batches
    pulls: Array | None  # int32[num_pulls], all pulls made


@declare()
def batched(
    algorithm: Algorithm,
    grid: Literal["minimax", "geometric"] | Sequence[int] = "minimax",
    *,
    num_batches: Count | None = None,
    horizon: Horizon | None = None,
) -> Algorithm:
    """With feedback at the ends of batches only, Perchet et al. 2016.

    Return the algorithm with batched feedback: that of rounds t_(j-1) + 1, ..., t_j arrives at the end of round t_j.

    Within a batch the algorithm selects from its state at the end of the previous batch. A deterministic index policy
    therefore pulls a single arm during a whole batch, and Thompson sampling is the better algorithm to wrap.

    Guarantee: none beyond that of the wrapped algorithm for undelayed feedback; `batched_elimination` has a guarantee
    for batched feedback.

    Args:
      algorithm: an algorithm that plays single pulls, or sets of arms, to a fixed horizon and declares its arms. With
        `Replan.late`, a new plan may come a batch later.
      grid: the rounds t_1 < ... < t_M, to which the horizon is added if it is given, or the name "minimax" or
        "geometric" for `minimax_grid` and `geometric_grid`. After t_M no feedback is revealed.
      num_batches: number of batches M of a named grid; None means 3.
      horizon: number of rounds T; required for a named grid.

    Returns:
      An Algorithm with the same actions and rewards, named batched(NAME). Its pulls are all pulls made; its
      recommendation and its rounds by kind are those at the end of the last batch.

    Raises:
      ValueError: the algorithm has a stopping rule, pulls in batches or does not declare its arms; or the grid does not
        increase, or exceeds the horizon.

    Source:
      Perchet, Rigollet, Chassang and Snowberg (2016), Batched bandit problems, Annals of Statistics 44. Grids: Gao,
      Han, Ren and Zhou (2019), Batched multi-armed bandits problem, NeurIPS.
    """
    algorithm = check_wrapped(algorithm)
    points = checked_grid(grid, num_batches, horizon)
    starts = np.array([0, *points], np.int32)
    replan, recommend, phases = algorithm.replan, algorithm.recommend, algorithm.phases

    def init(key: Key) -> BatchedState:
        state, zero = algorithm.init(key), jnp.zeros((), jnp.int32)
        return BatchedState(state, state, zero, zero, no_pulls(algorithm, state))

    def select(noise: PyTree, state: BatchedState, context: PyTree) -> PyTree:
        return algorithm.select(noise, state.selecting, context)

    def update(state: BatchedState, context: PyTree, selected: PyTree, feedback: PyTree) -> BatchedState:
        current, played = algorithm.update(state.current, context, selected, feedback), state.round + 1
        ends = played == get_at(jnp.asarray(starts), jnp.minimum(state.batch + 1, len(points)))
        return BatchedState(
            selecting=_either(ends, current, state.selecting),
            current=current,
            round=played,
            batch=state.batch + ends.astype(jnp.int32),
            pulls=with_pull(algorithm, state.pulls, context, selected),
        )

    def planned(state: BatchedState) -> BatchedState:
        assert replan is not None
        current = replan.apply(state.current)
        begins = state.round == get_at(jnp.asarray(starts), state.batch)  # then both states are equal
        return state._replace(selecting=_either(begins, current, state.selecting), current=current)

    return algorithm._replace(
        init=init,
        select=select,
        update=update,
        pulls=None if algorithm.pulls is None else lambda state: state.pulls,
        recommend=recommend and (lambda state: recommend(state.selecting)),
        phases=phases and Phases(phases.names, lambda state: phases.counts(state.selecting)),
        replan=replan and replan._replace(due=lambda state: replan.due(state.current), apply=planned),
        name=f"batched({algorithm.name})",
    )


def _either(condition: Array, yes: PyTree, no: PyTree) -> PyTree:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
