"""Logged data: one row for each decision, with the probability with which the logging policy took it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from jaxbandit.decide.logs.arms import Label, count_of
from jaxbandit.support.columns import LARGEST, Place, refuse_first
from jaxbandit.support.refusals import refuse

LEAST = 1 / LARGEST  # a propensity, so that squares of weights are finite
SUM = 1e-6  # by how much probabilities of a row may differ from 1 in total


@dataclass(frozen=True, eq=False)
class Log:
    """Logged data in the order in which it was written, as `read_log` and `session.log()` return it.

    `log[:1000]`, `log[rows]` and `log[mask]` are logs of some of the rows, which know where they come from.
    """

    context: np.ndarray | None  # float64[n, ..], the context of each row; None without contexts
    action: np.ndarray  # int32[n], the number of the arm that was pulled
    reward: np.ndarray  # float64[n]
    propensity: np.ndarray | None  # float64[n] in (0, 1], the probability with which the action was taken
    probabilities: np.ndarray | None  # float64[n, num_arms], with which each arm would have been taken
    available: np.ndarray | None  # bool[n, num_arms], which arms could be taken; None: all
    arms: tuple[Label, ...]  # what the actions are called: arm k of `action` and of every array is arms[k]
    rewards: tuple[float, float] = (0.0, 1.0)  # the least and the largest possible reward
    least_propensity: float | None = None  # below which no action of any context is ever taken, except never
    costs: bool = False  # rewards are the costs of the source times -1
    adaptive: bool = False  # the logging policy learned from the rows
    estimated: bool = False  # propensities are estimates, such as shares of simulated choices
    _origin: str | None = field(default=None, repr=False)  # digest of the log of which these are some rows
    _rows: np.ndarray | None = field(default=None, repr=False)  # int64[n], which

    @property
    def num_arms(self) -> int:
        """The number of arms K, also of those that no row has."""
        return len(self.arms)

    def __len__(self) -> int:
        return len(self.action)

    def __getitem__(self, rows: Any) -> "Log":
        if np.ndim(rows) == 0 and not isinstance(rows, slice):
            raise TypeError(f"Log: rows = {rows!r}, must be a slice such as log[:1000], or an array of rows")

        def some(array: np.ndarray | None) -> Any:
            return None if array is None else array[rows]

        arrays = {name: some(getattr(self, name)) for name in ("context", "action", "reward", *OPTIONAL)}
        return replace(self, **arrays, _origin=self.origin, _rows=self.rows[rows])

    @cached_property
    def origin(self) -> str:
        """The digest of the log, or of the log of which it has some rows."""
        if self._origin is not None:
            return self._origin
        digest = hashlib.sha256()
        for array in (self.context, self.action, self.reward, self.propensity):
            digest.update(b"none" if array is None else repr(array.shape).encode() + np.ascontiguousarray(array).data)
        return digest.hexdigest()

    @property
    def rows(self) -> np.ndarray:
        """The number of each row in the log of which it comes, int64[n]."""
        return np.arange(len(self)) if self._rows is None else self._rows

    def shared(self, other: "Log") -> int:
        """Return how many rows of this log are rows of another one."""
        return int(np.isin(self.rows, other.rows).sum()) if self.origin == other.origin else 0

    def __repr__(self) -> str:
        context = "no contexts" if self.context is None else f"contexts float{list(self.context.shape[1:])}"
        given = "no propensities" if self.propensity is None else "propensities"
        low, high = self.rewards
        marks = ", written by a rule that learned" * self.adaptive + ", estimated" * self.estimated
        range_ = f"rewards in [{low:g}, {high:g}]{', which are costs times -1' * self.costs}"
        return f"<Log of {len(self):,} rows: {count_of(self.arms)}, {context}, {range_}, {given}{marks}>"


OPTIONAL = ("propensity", "probabilities", "available")


def check_rows(log: Log, where: str, places: Mapping[str, Place]) -> None:
    """Raise BadInput, in one line with its place, for the first row that cannot be; arrays have the right shapes."""
    n = len(log)
    if n < 2:
        refuse(where, f": has {n} row{'s' * (n != 1)}, must have at least 2")
    low, high = log.rewards
    costs = ", which are costs times -1" * log.costs
    allowed = f"in [{low:g}, {high:g}], the range of rewards{costs}; if it is another one, give rewards = (low, high)"
    refuse_first(~((log.reward >= low) & (log.reward <= high)), places["reward"], log.reward, allowed)
    if log.available is not None:
        bad = ~log.available[np.arange(n), log.action]
        refuse_first(bad, places["action"], log.action, "an arm that is available in this row")
    if log.probabilities is not None:
        place = places["probabilities"]
        check_chances(log.probabilities, log.available, place)
        own = log.probabilities[np.arange(n), log.action]
        if log.propensity is not None and (bad := ~(np.abs(own - log.propensity) <= SUM)).any():
            row = int(np.argmax(bad))
            refuse(place(row), f"[{log.action[row]}] = {own[row]:.6g}, must be the propensity "
                   f"{log.propensity[row]:.6g} of the action")  # fmt: skip
    if log.propensity is not None:
        p, place, least = log.propensity, places["propensity"], log.least_propensity
        refuse_first(~((p >= LEAST) & (p <= 1)), place, p, f"in [{LEAST:g}, 1]")
        if least is not None:
            refuse_first(p < least * (1 - 1e-9), place, p, f"at least least_propensity = {least:g}")


def check_chances(chances: np.ndarray, available: np.ndarray | None, place: Place) -> None:
    """Raise BadInput for the first row whose probabilities, float64[n, num_arms], are none over the available arms."""
    refuse_first(np.asarray((~(chances >= 0)).any(axis=1)), place, chances.min(axis=1), "at least 0")
    total = chances.sum(axis=1)
    if (bad := ~(np.abs(total - 1) <= SUM)).any():
        row = int(np.argmax(bad))
        refuse(place(row), f" sum to {total[row]:.8g}, must sum to 1")
    if available is not None and (bad := ((chances > 0) & ~available).any(axis=1)).any():
        row = int(np.argmax(bad))
        arm = int(np.argmax((chances[row] > 0) & ~available[row]))
        refuse(
            place(row), f"[{arm}] = {chances[row, arm]:.6g}, must be 0, because the arm is not available in this row"
        )
