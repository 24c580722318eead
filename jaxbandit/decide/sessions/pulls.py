"""The pulls of a session that are open: which ones have been asked for, and which rewards have been reported."""

from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit.decide.sessions.rewards import earlier
from jaxbandit.decide.sessions.rule_programs import Decision, counts_of
from jaxbandit.support.types import PyTree

MOST_INDEX = 2**31 - 1
# What is known of an open pull. Those from TOLD on need no answer; OUTSIDE has a reward and was asked for by nobody.
WAITS, WITHDRAWN, TOLD, OUTSIDE, EXPIRED = range(5)


class Pulls(NamedTuple):
    """Pulls to make, as NumPy arrays of equal length in the order of their ids."""

    id: np.ndarray  # int64[n], numbered from 0 in the order in which they were first asked
    arm: np.ndarray  # int32[n], or bool[n, num_arms] where an action is a set of arms
    # int32[n], how often this arm was asked before; of a set, the id
    index: np.ndarray  # pyright: ignore[reportIncompatibleMethodOverride]


class OpenBatch(NamedTuple):
    """The pulls whose rewards are not in the totals yet, and what the algorithm waits for.

    Rewards enter the totals in the order of ids. The algorithm receives a plan as soon as its rewards have entered, and
    pulls that it chose one by one when the rewards of all that were chosen from one state have entered.
    """

    first: int  # id of the first open pull
    given: int  # number of ids that the algorithm has received; of a rule that plans batches, `spare` says it
    expired: int  # number of ids below `first` that have no reward
    asked: np.ndarray  # int64[num_arms], pulls of each arm that `ask` returned; of sets of arms, zeros
    plan: Any  # result of Batch.plan, None if pulls are chosen one by one
    choices: tuple[PyTree, ...]  # in the latter case what `select` returned for the pulls from `given` on
    rounds: np.ndarray  # int64[...], the number of the round of each of them, which determines its random draws
    # The open pulls, in order of ids:
    actions: np.ndarray  # int32[n], arms, or rows of the sets of a plan; or bool[n, num_arms], sets
    status: np.ndarray  # int8[n]
    values: np.ndarray  # float64[n], the rewards that are known, else NaN
    # Rewards in the totals that belong to a plan, and have not been given to the algorithm, in order of ids:
    spare: np.ndarray  # int32[...], arms, or rows of the sets of a plan
    spare_values: np.ndarray  # float64[...]

    @property
    def end(self) -> int:
        """The id of the next pull."""
        return self.first + len(self.status)

    @property
    def waiting(self) -> np.ndarray:
        """Positions of the pulls that `ask` returned and that wait for a reward, also if they were withdrawn."""
        return np.flatnonzero(self.status < TOLD)

    def more(self, actions: np.ndarray, status: int, values: np.ndarray | None = None) -> "OpenBatch":
        """The batch with further open pulls, which get the next ids."""
        values = np.full(len(actions), np.nan) if values is None else values
        before = self.actions if len(self.status) else actions[:0]
        return self._replace(
            actions=np.concatenate([before, actions]),
            status=np.concatenate([self.status, np.full(len(actions), status, np.int8)]),
            values=np.concatenate([self.values, values]),
        )


def no_pulls(decision: Decision, num_arms: int) -> OpenBatch:
    """The batch before the first pull."""
    arms, values = np.zeros(0, np.int32), np.zeros(0)
    status = np.zeros(0, np.int8)
    return OpenBatch(
        0,
        0,
        0,
        np.zeros(num_arms, np.int64),
        plan_of(decision),
        (),
        np.zeros(0, np.int64),
        arms,
        status,
        values,
        arms,
        values,
    )


def plan_of(decision: Decision) -> Any:
    """The pulls that the algorithm plans next, as NumPy arrays; raise a ValueError if they are none."""
    plan = jax.tree.map(np.asarray, decision.plan)
    counts = counts_of(plan)
    if counts is not None and not decision.stopped and (counts.sum(dtype=np.int64) < 1 or counts.min() < 0):
        raise ValueError(f"algorithm.batch.plan = {counts.tolist()}, must be counts >= 0 of at least one pull")
    return plan


def next_actions(batch: OpenBatch, most: int, ahead: bool) -> np.ndarray:
    """The arms, or rows of the sets, of a plan that are asked for next, int32[n] with n <= most.

    First those that the plan needs and nobody has asked for, arm by arm. With `ahead` they are followed by those that
    the plan would need if it were repeated, once after another, until there are `most`.
    """
    counts = counts_of(batch.plan).astype(np.int64)
    there = np.bincount(batch.spare, minlength=len(counts))
    there += np.bincount(batch.actions[batch.status != OUTSIDE], minlength=len(counts))
    found, repeats, left = [], 0, most
    while left > 0 and (ahead or not repeats):
        repeats += 1
        missing = np.maximum(repeats * counts - there, 0)
        ends = np.cumsum(missing)
        new = np.searchsorted(ends, np.arange(min(left, ends[-1])), side="right").astype(np.int32)
        there, left = there + np.bincount(new, minlength=len(counts)), left - len(new)
        found.append(new)
    return np.concatenate(found) if found else np.zeros(0, np.int32)


def arms_of(batch: OpenBatch, actions: np.ndarray) -> np.ndarray:
    """The arms int32[n], or sets bool[n, num_arms], of the actions of open pulls."""
    plan: Any = batch.plan
    return actions if counts_of(plan) is plan or actions.dtype == bool else plan.sets[actions]


def no_actions(num_arms: int, set_size: int | None) -> np.ndarray:
    """No arms, or no sets, in the form of `Pulls.arm`."""
    return np.zeros(0, np.int32) if set_size is None else np.zeros((0, num_arms), bool)


def pulls_at(batch: OpenBatch, positions: np.ndarray, num_arms: int, set_size: int | None) -> Pulls:
    """The pulls at these positions among the open ones."""
    ids = batch.first + positions
    if set_size is not None:
        arms = arms_of(batch, batch.actions[positions]) if len(positions) else no_actions(num_arms, set_size)
        index = ids
    else:
        arms = batch.actions[positions].astype(np.int32)
        asked = np.flatnonzero(batch.status != OUTSIDE)
        later = earlier(batch.actions[asked][::-1])[::-1]  # pulls of the same arm after it
        index = batch.asked[arms] - 1 - later[np.searchsorted(asked, positions)]
    if len(index) and index.max() > MOST_INDEX:
        raise ValueError(f"ask: pull {int(index.max())} of one arm, must be at most {MOST_INDEX}")
    return Pulls(ids, arms, index.astype(np.int32))
