"""The pulls of a session without contexts, in the order of their ids: which were asked for, and what was reported."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit.decide.sessions.rewards import History, array_of, earlier, longer, values_of
from jaxbandit.decide.sessions.rule_programs import Decision, counts_of
from jaxbandit.support.domains import INT32
from jaxbandit.support.types import PyTree

# What is known of an open pull. Those from TOLD on need no answer; OUTSIDE has a reward and was asked for by nobody.
WAITS, WITHDRAWN, TOLD, OUTSIDE, EXPIRED = range(5)


class Pulls(NamedTuple):
    """Pulls to make, as NumPy arrays of equal length in the order of their ids."""

    id: np.ndarray  # int64[n], numbered from 0 in the order in which they were first asked
    arm: np.ndarray  # int32[n], or bool[n, num_arms] where an action is a set of arms
    # int32[n], how often this arm was asked before; of a set, the id
    index: np.ndarray  # pyright: ignore[reportIncompatibleMethodOverride]
    # float64[n], the probability of the arm given the state and the context, if the rule says it; else None
    propensity: np.ndarray | None = None


class Ledger(NamedTuple):
    """The pulls whose rewards are in the totals, those that are open, and what the rule waits for."""

    # Of the ids below `first`, which have entered:
    first: int  # id of the first open pull
    expired: int  # how many of them have no reward
    history: History  # float64, their rewards, NaN of a pull that expired
    arms: History  # int32, their arms; () if actions are sets
    rounds: History  # int32, their rounds; () unless `update` takes any arm
    outside: History  # int64, the ids of those whose pulls no `ask` returned
    # Of the algorithm:
    given: int  # number of ids that it has received; of a rule that plans batches, `spare` says it
    asked: np.ndarray  # int64[num_arms], pulls of each arm that `ask` returned; of sets of arms, zeros
    plan: Any  # result of Batch.plan, None if pulls are chosen one by one
    choices: tuple[PyTree, ...]  # in the latter case what `select` returned for the pulls from `given` on
    choice_rounds: tuple[int, ...]  # the round of each of them, which determines its random draws
    # Rewards in the totals that belong to a plan, and have not been given to the algorithm, in order of ids:
    spare: np.ndarray  # int32[...], arms, or rows of the sets of a plan
    spare_values: np.ndarray  # float64[...]
    # The open pulls, in order of ids:
    actions: np.ndarray  # int32[n], arms, or rows of the sets of a plan; or bool[n, num_arms], sets
    index: np.ndarray  # pyright: ignore[reportIncompatibleMethodOverride]  # int32[n], as in `Pulls`; of OUTSIDE, 0
    status: np.ndarray  # int8[n]
    values: np.ndarray  # float64[n], the rewards that are known, else NaN

    @property
    def end(self) -> int:
        """The id of the next pull."""
        return self.first + len(self.status)

    @property
    def num_told(self) -> int:
        """Number of pulls that have a reward."""
        return self.first - self.expired + int(np.sum((self.status == TOLD) | (self.status == OUTSIDE)))

    @property
    def pending(self) -> np.ndarray:
        """Ids of the pulls that `ask` returned and that wait for a reward, int64[...]."""
        return self.first + np.flatnonzero(self.status == WAITS)

    @property
    def waiting(self) -> np.ndarray:
        """Positions of the open pulls that wait for a reward, also if they were withdrawn."""
        return (self.status < TOLD).nonzero()[0]

    def known(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rewards of ids that were asked for, NaN if there is none, and which of the ids have expired."""
        past, here = ids < self.first, ids - self.first
        if not past.any():
            return self.values[here], self.status[here] == EXPIRED
        values = values_of(self.history, ids)
        expired = past & np.isnan(values)
        values[~past] = self.values[here[~past]]
        expired[~past] = self.status[here[~past]] == EXPIRED
        return values, expired

    def has(self, status: int) -> bool:
        """Whether an open pull has this status."""
        return status in self.status.tobytes()

    def more(
        self, actions: np.ndarray, index: np.ndarray, status: np.ndarray, values: np.ndarray, **changes: Any
    ) -> "Ledger":
        """The ledger with further open pulls, which get the next ids, and with other values of some fields."""
        if len(self.status):
            actions, index = np.concatenate([self.actions, actions]), np.concatenate([self.index, index])
            status, values = np.concatenate([self.status, status]), np.concatenate([self.values, values])
        return self._replace(actions=actions, index=index, status=status, values=values, **changes)

    def asked_for(self, actions: np.ndarray, single: bool, **changes: Any) -> "Ledger":
        """As `more`, for pulls that `ask` returns; `single` says whether an action is one arm."""
        n, asked = len(actions), self.asked
        if single:
            index = asked[actions] + earlier(actions)
            asked = asked + np.bincount(actions, minlength=len(asked))
        else:
            index = np.arange(self.end, self.end + n)
        if self.end + n > INT32 and index.max() > INT32:
            raise ValueError(f"pull {int(index.max())} of one arm, must be at most {INT32}")
        status, values = np.zeros(n, np.int8), np.empty(n)
        status.fill(WAITS)
        values.fill(np.nan)
        return self.more(actions, index.astype(np.int32), status, values, asked=asked, **changes)

    def marked(self, positions: np.ndarray, status: int | np.ndarray, values: np.ndarray | None = None) -> "Ledger":
        """The ledger with another status, and perhaps rewards, of some open pulls."""
        changed, rewards = self.status.copy(), self.values
        changed[positions] = status
        if values is not None:
            rewards = rewards.copy()
            rewards[positions] = values
        return self._replace(status=changed, values=rewards)

    def after_entry(self, n: int) -> "Ledger":
        """The ledger in which the first n open pulls have entered."""
        actions, status, values = self.actions[:n], self.status[:n], self.values[:n]
        arms, outside, spare, spare_values = arms_of(self, actions), self.outside, self.spare, self.spare_values
        if self.has(OUTSIDE):
            outside = longer(outside, self.first + np.flatnonzero(status == OUTSIDE))
        if self.plan is not None:
            planned = status == TOLD
            spare = np.concatenate([spare, actions[planned].astype(np.int32)])
            spare_values = np.concatenate([spare_values, values[planned]])
        return self._replace(
            first=self.first + n,
            expired=self.expired + status.tobytes().count(EXPIRED),
            history=longer(self.history, values),
            arms=self.arms if arms.dtype == bool else longer(self.arms, arms.astype(np.int32)),
            outside=outside,
            spare=spare,
            spare_values=spare_values,
            actions=self.actions[n:],
            index=self.index[n:],
            status=self.status[n:],
            values=self.values[n:],
        )

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The arms int32[n] of all pulls that have entered, of single arms, and their rewards float64[n]."""
        return array_of(self.arms, np.int32), array_of(self.history, np.float64)


def no_pulls(decision: Decision, num_arms: int) -> Ledger:
    """The ledger before the first pull."""
    arms, values, status = np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int8)
    asked, plan = np.zeros(num_arms, np.int64), plan_of(decision)
    return Ledger(0, 0, (), (), (), (), 0, asked, plan, (), (), arms, values, arms, arms, status, values)


def plan_of(decision: Decision) -> Any:
    """The pulls that the algorithm plans next, as NumPy arrays; raise a ValueError if they are none."""
    plan = jax.tree.map(np.asarray, decision.plan)
    counts = counts_of(plan)
    if counts is not None and not decision.stopped and (counts.sum(dtype=np.int64) < 1 or counts.min() < 0):
        raise ValueError(f"algorithm.batch.plan = {counts.tolist()}, must be counts >= 0 of at least one pull")
    return plan


def next_actions(ledger: Ledger, most: int, ahead: bool) -> np.ndarray:
    """The arms, or rows of the sets, of a plan that are asked for next, int32[n] with n <= most, arm by arm.

    With `ahead` they are followed by those that the plan would need if it were repeated, until there are `most`.
    """
    counts = counts_of(ledger.plan).astype(np.int64)
    there = np.bincount(ledger.spare, minlength=len(counts))
    there += np.bincount(ledger.actions[ledger.status != OUTSIDE], minlength=len(counts))
    found, repeats, left = [], 0, most
    while left > 0 and (ahead or not repeats):
        repeats += 1
        missing = np.maximum(repeats * counts - there, 0)
        ends = np.cumsum(missing)
        new = np.searchsorted(ends, np.arange(min(left, ends[-1])), side="right").astype(np.int32)
        there, left = there + np.bincount(new, minlength=len(counts)), left - len(new)
        found.append(new)
    return np.concatenate(found) if found else np.zeros(0, np.int32)


def arms_of(ledger: Ledger, actions: np.ndarray) -> np.ndarray:
    """The arms int32[n], or sets bool[n, num_arms], of the actions of open pulls."""
    plan: Any = ledger.plan
    return actions if counts_of(plan) is plan or actions.dtype == bool else plan.sets[actions]


def no_actions(num_arms: int, set_size: int | None) -> np.ndarray:
    """No arms, or no sets, in the form of `Pulls.arm`."""
    return np.zeros(0, np.int32) if set_size is None else np.zeros((0, num_arms), bool)


def pulls_at(ledger: Ledger, positions: np.ndarray, num_arms: int, set_size: int | None, closed: bool) -> Pulls:
    """The pulls at these positions among the open ones; while arms are closed, no probability is known."""
    actions = ledger.actions[positions]
    if set_size is not None:
        arms = arms_of(ledger, actions) if len(positions) else no_actions(num_arms, set_size)
    else:
        arms = actions.astype(np.int32)
    ids = ledger.first + positions
    chosen = [ledger.choices[at] for at in (ids - ledger.given).tolist()] if ledger.choices else []
    return Pulls(ids, arms, ledger.index[positions], None if closed else propensities(chosen))


def propensities(choices: Sequence[Any]) -> np.ndarray | None:
    """The probability of each choice, float64[n], if the rule says them (`Choice.info.probability`)."""
    known = [getattr(getattr(choice, "info", None), "probability", None) for choice in choices]
    return None if not known or known[0] is None else np.array(known, np.float64)
