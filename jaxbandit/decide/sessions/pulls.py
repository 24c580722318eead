"""The pulls of a session: its open batch, which of them have been asked for, and which rewards have been reported."""

from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit.base import checks
from jaxbandit.base.types import PyTree
from jaxbandit.decide.sessions.rewards import earlier
from jaxbandit.decide.sessions.rule_programs import Decision, RulePrograms, counts_of

MOST_INDEX = 2**31 - 1


class Pulls(NamedTuple):
    """Pulls to make, as NumPy arrays of equal length in the order of their ids."""

    id: np.ndarray  # int64[n], numbered from 0 in the order in which they were first asked
    arm: np.ndarray  # int32[n], or bool[n, num_arms] where an action is a set of arms
    # int32[n], how often this arm was asked before; of a set, the id
    index: np.ndarray  # pyright: ignore[reportIncompatibleMethodOverride]


class OpenBatch(NamedTuple):
    """The batch of pulls that the algorithm waits for. It receives their rewards when all of them are reported."""

    first: int  # id of the first
    size: int  # number of pulls; 0 if no batch is open
    issued: int  # number of pulls that have been asked for, always the first ones
    entered: int  # number of pulls, again the first ones, whose rewards are in the totals
    base: np.ndarray  # int64[num_arms], pulls of each arm before this batch
    plan: Any  # result of Batch.plan, None if pulls are chosen one by one
    choices: tuple[PyTree, ...]  # in the latter case what `select` returned for each pull
    actions: np.ndarray  # the actions of these choices, int32[size] or bool[size, num_arms]
    context: PyTree
    later: np.ndarray  # int64[...], pulls whose rewards were reported before that of an earlier pull
    values: np.ndarray  # float64[...], their rewards
    withdrawn: np.ndarray  # int64[...], pulls that were withdrawn
    sums: np.ndarray  # float64[...], sum of the rewards so far of each arm, or set, of the plan
    squares: np.ndarray  # float64[...], sum of the squared rewards


def next_batch(decision: Decision, first: int, base: np.ndarray) -> OpenBatch:
    """The batch that a rule opens next, of which no pull has been asked for."""
    plan = jax.tree.map(np.asarray, decision.plan)
    counts = counts_of(plan)
    size = 0 if decision.stopped or counts is None else int(counts.sum(dtype=np.int64))
    if counts is not None and not decision.stopped and (size < 1 or counts.min() < 0):
        raise ValueError(f"algorithm.batch.plan = {counts.tolist()}, must be counts >= 0 of at least one pull")
    nothing, sums = np.zeros(0, np.int64), np.zeros(0 if counts is None else len(counts))
    return OpenBatch(
        first, size, 0, 0, base, plan, (), nothing, None, nothing, np.zeros(0), nothing, sums, np.zeros_like(sums)
    )


def without_reward(batch: OpenBatch) -> np.ndarray:
    """Positions in the batch of the pulls that were asked for and have no reward yet."""
    asked = np.arange(batch.entered, batch.issued, dtype=np.int64)
    return np.setdiff1d(asked, batch.later, assume_unique=True) if len(batch.later) else asked


def actions_at(batch: OpenBatch, positions: np.ndarray) -> tuple[Any, Any]:
    """For positions in a batch: the index of the arm or set in the plan, and the arm, or the set bool[n, num_arms]."""
    plan: Any = batch.plan
    counts = counts_of(plan)
    if counts is None:
        return positions, batch.actions[positions]
    actions = np.searchsorted(np.cumsum(counts, dtype=np.int64), positions, side="right")
    return actions, actions if plan is counts else plan.sets[actions]


def pulls_at(batch: OpenBatch, positions: np.ndarray, num_arms: int, set_size: int | None) -> Pulls:
    """The pulls at these positions in a batch."""
    ids = batch.first + positions
    if set_size is not None:
        arms = np.zeros((0, num_arms), bool) if not len(positions) else actions_at(batch, positions)[1]
        index = ids
    elif not len(positions):
        arms, index = positions, positions
    elif batch.plan is not None:
        arms = actions_at(batch, positions)[0]
        ends = np.cumsum(batch.plan, dtype=np.int64)
        index = batch.base[arms] + positions - (ends - batch.plan)[arms]
    else:
        arms = batch.actions[positions]
        index = batch.base[arms] + earlier(batch.actions)[positions]
    if len(index) and index.max() > MOST_INDEX:
        raise ValueError(f"ask: pull {int(index.max())} of one arm, must be at most {MOST_INDEX}")
    return Pulls(ids, arms if arms.dtype == bool else arms.astype(np.int32), index.astype(np.int32))


def checked_context(programs: RulePrograms, batch: OpenBatch, stopped: bool, context: PyTree) -> PyTree:
    """The context in the form that the rule takes; an error is raised if it is missing or superfluous."""
    arms, name = programs.algorithm.arms, programs.algorithm.name or "the algorithm"
    waits = batch.size > 0
    if not programs.needs_context:
        if context is not None:
            raise ValueError(f"ask: context = {context!r}, must be left out: {name} does not use contexts")
        return None
    if context is None:
        if waits or stopped:
            return None
        raise ValueError(f"ask: context = None, must be given: {name} needs a context")
    if arms is not None and arms.num_contexts is not None:
        context = np.int32(checks.integer("ask", "context", context, 0, arms.num_contexts - 1))
    else:
        context = jax.tree.map(np.asarray, context)
    if waits and not _equal(context, batch.context):
        raise ValueError(f"ask: context = {context!r}, but pull {batch.first}, in another context, has no reward yet")
    return context


def _equal(one: PyTree, other: PyTree) -> bool:
    same = jax.tree.structure(one) == jax.tree.structure(other)
    return same and all(map(np.array_equal, jax.tree.leaves(one), jax.tree.leaves(other)))
