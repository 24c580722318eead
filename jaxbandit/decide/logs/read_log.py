"""Reading logged data: from arrays, from a DataFrame, or from a CSV file with a line of names."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandit.base import checks
from jaxbandit.base.columns import Place, Table, numbers, read_columns
from jaxbandit.base.refusals import python, refuse, wrong
from jaxbandit.decide.logs.log import Log, check_rows

WHERE = "read_log"
FINITE = "a finite number"


def read_log(
    source: Any = None,
    *,
    action: Any = "action",
    reward: Any = "reward",
    context: Any = None,
    propensity: Any = None,
    probabilities: Any = None,
    available: Any = None,
    num_arms: int | None = None,
    rewards: tuple[float, float] = (0.0, 1.0),
    least_propensity: float | None = None,
    adaptive: bool = False,
    estimated: bool = False,
) -> Log:
    """Return logged data, of n rows in the order in which they were written.

    Each of `action`, `reward`, `context`, `propensity`, `probabilities` and `available` is the name of a column of
    `source`, a list of names, or an array; without a source all are arrays.

    Args:
      source: path of a CSV file whose first line has the names of the columns, or a DataFrame, or a dictionary.
      action: the arm that was pulled in each row, int[n] in [0, num_arms).
      reward: the reward of each row, float[n].
      context: the context of each row: float[n, d], or float[n, num_arms, d] with one row for each arm; d names of
        columns, or a list of d names for each arm. None without contexts.
      propensity: the probability with which the logging policy took the action of the row, float[n] in (0, 1]. Without
        it only the direct method and a replay that assumes a uniform logging policy are possible.
      probabilities: the whole distribution of the logging policy, float[n, num_arms]; the propensity follows from it.
      available: which arms could be taken, bool[n, num_arms]. None: all.
      num_arms: number of arms K. Default: what `probabilities`, `available` or `context` say, otherwise the largest
        action plus one.
      rewards: the least and the largest possible reward, known before the data. Estimates are scaled by it.
      least_propensity: a number below which no propensity of any context and arm is, except 0. It makes the betting
        interval a proved one.
      adaptive: whether the logging policy learned from the rows. Normal intervals are not shown then.
      estimated: whether the propensities are estimates.

    Raises:
      BadInput: the log cannot be used; one line with the number of the row, from 0, or of the line of the file: a value
        is not finite, an action is not an arm or not available, a propensity is outside (0, 1] or below
        least_propensity, a reward is outside the range, there are fewer than two rows, or shapes differ.
    """
    roles = {"action": action, "reward": reward, "context": context, "propensity": propensity,
             "probabilities": probabilities, "available": available}  # fmt: skip
    wanted = list(dict.fromkeys(name for given in roles.values() for name in _names(given)))
    if source is None and wanted:
        missing = next(role for role, given in roles.items() if _names(given))
        wrong(f"{WHERE}: {missing}", roles[missing], "an array, because no table was given with a column of this name",
              written=python)  # fmt: skip
    table = None if source is None else read_columns(f"{WHERE}: source", source, wanted)
    taken = {role: None if given is None else _Taken(role, given, table) for role, given in roles.items()}
    n = len(taken["action"].values) if taken["action"] else 0
    found = {role: each.checked(n) for role, each in taken.items() if each is not None}
    for role in ("action", "reward"):
        if role not in found:
            refuse(f"{WHERE}: {role}", " is missing, must be a column or an array")
    arms = _num_arms(num_arms, found)
    acts = found["action"]
    places = {role: each.place for role, each in taken.items() if each is not None}
    bad = ~((acts >= 0) & (acts < arms) & (acts == np.floor(acts)))
    if bad.any():
        row = int(np.argmax(bad))
        shown = int(acts[row]) if acts[row] == math.floor(acts[row]) else float(acts[row])
        wrong(places["action"](row), shown, f"an arm: a whole number in [0, {arms - 1}]")
    actions = acts.astype(np.int32)
    given, chances = found.get("propensity"), found.get("probabilities")
    if given is None and chances is not None:
        given, places["propensity"] = chances[np.arange(n), actions], places["probabilities"]
    offered = found.get("available")
    least, most = _range(rewards)
    if least_propensity is not None:
        checks.number(WHERE, "least_propensity", least_propensity, low=0.0, high=1.0, open_low=True)
    log = Log(
        context=found.get("context"),
        action=actions,
        reward=found["reward"],
        propensity=given,
        probabilities=chances,
        available=None if offered is None else offered != 0,
        num_arms=arms,
        rewards=(least, most),
        least_propensity=least_propensity,
        adaptive=checks.boolean(WHERE, "adaptive", adaptive),
        estimated=checks.boolean(WHERE, "estimated", estimated),
    )
    return check_rows(log, WHERE if table is None else table.where, places.__getitem__)


def _names(given: Any) -> list[str]:
    """Return the names of columns that an argument gives, [] if it is an array."""
    if isinstance(given, str):
        return [given]
    if isinstance(given, list | tuple) and given and all(_names(each) for each in given):
        return [name for each in given for name in _names(each)]
    return []


class _Taken:
    """The values of an argument, and where each of its rows is."""

    def __init__(self, role: str, given: Any, table: Table | None):
        self.role, self._names, self.place = role, _names(given), _row_of(role)
        if not self._names:
            try:
                self.values = np.asarray(given, np.float64)
            except (TypeError, ValueError):
                wrong(f"{WHERE}: {role}", given, "an array of numbers, or names of columns", written=python)
            if self.values.ndim == 0:
                wrong(f"{WHERE}: {role}", given, "an array with one entry for each row", written=python)
            return
        assert table is not None
        columns = [self._column(name, table) for name in self._names]
        if isinstance(given, str):
            self.values = columns[0]
        else:
            shape = _shape(role, given)
            self.values = np.stack(columns, axis=1).reshape(len(columns[0]), *shape)
        self.place = table.place(", ".join(self._names[:3]) + ", .." * (len(self._names) > 3))

    def _column(self, name: str, table: Table) -> np.ndarray:
        cells = table.cells[name]
        if getattr(cells, "ndim", 1) > 1:  # a dictionary may have arrays of any shape
            values = np.asarray(cells, np.float64)
        else:
            values = numbers(cells, table.place(name), FINITE)
        _finite(values, table.place(name))
        return values

    def checked(self, n: int) -> np.ndarray:
        """Return the values, n rows of the number of axes that the argument has."""
        axes = {"context": None, "probabilities": 2, "available": 2}.get(self.role, 1)
        shape = self.values.shape
        if len(shape) != axes and axes is not None:
            wanted = "[n]" if axes == 1 else "[n, num_arms]"
            refuse(f"{WHERE}: {self.role}", f" has shape {shape}, must be {wanted}, with n = {n:,} rows")
        if len(shape) == 1 and axes is None:
            self.values = self.values[:, None]
        if shape[0] != n:
            refuse(f"{WHERE}: {self.role}", f" has {shape[0]:,} rows, must have {n:,}, as many as action")
        _finite(self.values, self.place)
        return self.values


def _row_of(role: str) -> Place:
    return lambda row: f"{WHERE}: row {row}: {role}"


def _shape(role: str, given: Sequence[Any]) -> tuple[int, ...]:
    """Return the shape of the entry of a row, from a list of names or of lists of names."""
    inner = {len(_names(each)) if not isinstance(each, str) else 0 for each in given}
    if len(inner) > 1:
        wrong(f"{WHERE}: {role}", given, "a list of names, or lists of equally many names", written=python)
    return (len(given),) if inner == {0} else (len(given), inner.pop())


def _finite(values: np.ndarray, place: Place) -> None:
    bad = ~np.isfinite(values.reshape(len(values), -1)).all(axis=1) if len(values) else np.zeros(0, bool)
    if bad.any():
        row = int(np.argmax(bad))
        entry = values[row].ravel()
        shown = float(entry[~np.isfinite(entry)][0])
        refuse(place(row), f" is {'empty or not a number' if math.isnan(shown) else shown}, must be {FINITE}")


def _num_arms(given: int | None, found: dict[str, np.ndarray]) -> int:
    """Return the number of arms, which everything that has one row for each arm must agree on."""
    said = {role: found[role].shape[1] for role in ("probabilities", "available") if role in found}
    if "context" in found and found["context"].ndim == 3:
        said["context"] = found["context"].shape[1]
    if given is not None:
        said = {"num_arms": checks.integer(WHERE, "num_arms", given, 1), **said}
    if not said:
        top = found["action"].max(initial=0)
        return checks.integer(WHERE, "the largest action", int(top), 0, 2**31 - 2) + 1
    (first, arms), *others = said.items()
    for role, size in others:
        if size != arms:
            refuse(f"{WHERE}: {role}", f" has {size} arms, must have {arms}, as {first}")
    return arms


def _range(rewards: Any) -> tuple[float, float]:
    if isinstance(rewards, list | tuple | np.ndarray) and len(rewards) == 2:
        low, high = (float(checks.number(WHERE, "rewards", end)) for end in rewards)
        if low < high:
            return low, high
    return wrong(f"{WHERE}: rewards", rewards, "two numbers (low, high) with low < high", written=python)
