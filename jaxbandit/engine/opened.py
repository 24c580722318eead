"""The open batch of a session: its arms, which pulls have been asked for, and which rewards have been reported."""

from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit import checks
from jaxbandit.base import SetPulls
from jaxbandit.engine import told
from jaxbandit.engine.decisions import Decisions, Looked
from jaxbandit.types import PyTree

MOST_INDEX = 2**31 - 1


class Pulls(NamedTuple):
    """Pulls to make, as NumPy arrays of equal length in the order of their ids."""

    id: np.ndarray  # int64[n], numbered from 0 in the order in which they were first asked
    arm: np.ndarray  # int32[n], or bool[n, num_arms] where an action is a set of arms
    # int32[n], how often this arm was asked before; of a set, the id
    index: np.ndarray  # pyright: ignore[reportIncompatibleMethodOverride]


class Opened(NamedTuple):
    """The batch of pulls that the algorithm waits for. It receives their rewards when all of them are reported."""

    first: int  # id of the first
    size: int  # 0: none
    issued: int  # pulls that were asked, the first ones
    entered: int  # of which so many, the first ones, are in the totals
    base: np.ndarray  # int64[num_arms], pulls of each arm before
    plan: Any  # what the batch's plan says, None where pulls are chosen one by one
    choices: tuple[PyTree, ...]  # otherwise what `select` returned for each
    actions: np.ndarray  # and their actions, int32[size] or bool[size, num_arms]
    context: PyTree
    later: np.ndarray  # int64[...], pulls that are told though one before them is not
    values: np.ndarray  # float64[...], their rewards
    withdrawn: np.ndarray  # int64[...], pulls given back
    sums: np.ndarray  # float64[...], rewards so far of each arm, or set, of the plan
    squares: np.ndarray  # float64[...], squared rewards


def opened_of(looked: Looked, first: int, base: np.ndarray) -> tuple[PyTree, bool, Opened]:
    """State, whether it has stopped, and the next batch, of what a rule says."""
    stopped, plan = bool(looked.stopped), jax.tree.map(np.asarray, looked.plan)
    counts = _counts(plan)
    size = 0 if stopped or counts is None else int(counts.sum(dtype=np.int64))
    if counts is not None and not stopped and (size < 1 or counts.min() < 0):
        raise ValueError(f"algorithm.batch.plan = {counts.tolist()}, must be counts >= 0 of at least one pull")
    nothing, sums = np.zeros(0, np.int64), np.zeros(0 if counts is None else len(counts))
    opened = Opened(
        first, size, 0, 0, base, plan, (), nothing, None, nothing, np.zeros(0), nothing, sums, np.zeros_like(sums)
    )
    return looked.state, stopped, opened


def untold(opened: Opened) -> np.ndarray:
    """Pulls of the batch that were asked and not told, as places in it."""
    asked = np.arange(opened.entered, opened.issued, dtype=np.int64)
    return np.setdiff1d(asked, opened.later, assume_unique=True) if len(opened.later) else asked


def _counts(plan: Any) -> Any:
    return plan.counts if isinstance(plan, SetPulls) else plan


def actions_at(opened: Opened, positions: np.ndarray) -> tuple[Any, Any]:
    """Of places in a batch: the number of the plan's arm or set, and the arm, or the set as bool[n, num_arms]."""
    plan: Any = opened.plan
    counts = _counts(plan)
    if counts is None:
        return positions, opened.actions[positions]
    actions = np.searchsorted(np.cumsum(counts, dtype=np.int64), positions, side="right")
    return actions, actions if plan is counts else plan.sets[actions]


def pulls_at(opened: Opened, positions: np.ndarray, num_arms: int, set_size: int | None) -> Pulls:
    """The pulls at places in a batch."""
    ids = opened.first + positions
    if set_size is not None:
        arms = np.zeros((0, num_arms), bool) if not len(positions) else actions_at(opened, positions)[1]
        index = ids
    elif not len(positions):
        arms, index = positions, positions
    elif opened.plan is not None:
        arms = actions_at(opened, positions)[0]
        ends = np.cumsum(opened.plan, dtype=np.int64)
        index = opened.base[arms] + positions - (ends - opened.plan)[arms]
    else:
        arms = opened.actions[positions]
        index = opened.base[arms] + told.earlier(opened.actions)[positions]
    if len(index) and index.max() > MOST_INDEX:
        raise ValueError(f"ask: pull {int(index.max())} of an arm, must be at most {MOST_INDEX}")
    return Pulls(ids, arms if arms.dtype == bool else arms.astype(np.int32), index.astype(np.int32))


def checked_context(decisions: Decisions, opened: Opened, stopped: bool, context: PyTree) -> PyTree:
    """The context as the rule takes it, refused where it is missing or superfluous."""
    arms, name = decisions.algorithm.arms, decisions.algorithm.name or "the algorithm"
    waits = opened.size > 0
    if not decisions.needs_context:
        if context is not None:
            raise ValueError(f"ask: context = {context!r}, must be left out: {name} decides without")
        return None
    if context is None:
        if waits or stopped:
            return None
        raise ValueError(f"ask: context = None, must be given: {name} decides by the context")
    if arms is not None and arms.num_contexts is not None:
        context = np.int32(checks.integer("ask", "context", context, 0, arms.num_contexts - 1))
    else:
        context = jax.tree.map(np.asarray, context)
    if waits and not _equal(context, opened.context):
        raise ValueError(f"ask: context = {context!r}, but pull {opened.first} of another is not told yet")
    return context


def _equal(one: PyTree, other: PyTree) -> bool:
    same = jax.tree.structure(one) == jax.tree.structure(other)
    return same and all(map(np.array_equal, jax.tree.leaves(one), jax.tree.leaves(other)))
