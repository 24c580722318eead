"""Reading logged data: from arrays, from a DataFrame, or from a file in one of several formats."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandit.decide.logs import formats
from jaxbandit.decide.logs.arms import actions_of
from jaxbandit.decide.logs.formats import Format
from jaxbandit.decide.logs.log import Log, check_rows
from jaxbandit.support import checks
from jaxbandit.support.columns import Place, Table, numbers
from jaxbandit.support.refusals import python, refuse, wrong

WHERE = "read_log"
FINITE = "a finite number"
REWARDS, COSTS = (0.0, 1.0), (-1.0, 0.0)  # the range of rewards if none is given, and of costs times -1


def read_log(
    source: Any = None,
    *,
    format: Format = "columns",
    action: Any = "action",
    reward: Any = "reward",
    cost: Any = None,
    context: Any = None,
    propensity: Any = None,
    probabilities: Any = None,
    available: Any = None,
    arms: Sequence[Any] | None = None,
    num_arms: int | None = None,
    rewards: tuple[float, float] | None = None,
    least_propensity: float | None = None,
    adaptive: bool = False,
    estimated: bool = False,
) -> Log:
    """Return logged data, of n rows in the order in which they were written.

    Each of `action`, `reward`, `cost`, `context`, `propensity`, `probabilities` and `available` is the name of a column
    of `source`, a list of names, or an array; without a source all are arrays.

    The arms are those that `arms` names. Without it they are 0, 1, .., K - 1 if `num_arms`, `probabilities`,
    `available` or a context with a row for each arm says how many there are, and otherwise the different actions of the
    rows, in order: an arm that no row has is then none. So 318 and 483 are two arms, and not 484.

    Args:
      source: path of a file, or a DataFrame, or a dictionary.
      format: of the source; static. "columns" is a CSV file whose first line has the names of the columns, a DataFrame
        or a dictionary of columns; "jsonl" has a JSON object in each line, whose keys are the names of columns. "vw" is
        the text of Vowpal Wabbit for contextual bandits, with one line for each decision, or with one for each arm
        (cb_adf, ldf), "dsjson" its JSON of decisions, "obp" the dictionary of bandit feedback of Open Bandit Pipeline:
        these say themselves where everything is, and arguments with names override it. Contexts of "vw" and "dsjson"
        are the features by name, read only with context = "features".
      action: the label of the arm that was pulled in each row: a number or text.
      reward: the reward of each row, float[n].
      cost: the cost of each row, in place of a reward, which is its negative.
      context: the context of each row: float[n, d], or float[n, num_arms, d] with one row for each arm; d names of
        columns, or a list of d names for each arm. None without contexts.
      propensity: the probability with which the logging policy took the action of the row, float[n] in (0, 1]. Without
        it only the direct method and a replay that assumes a uniform logging policy are possible.
      probabilities: the whole distribution of the logging policy, float[n, num_arms]; the propensity follows from it.
      available: which arms could be taken, bool[n, num_arms]. None: all.
      arms: the labels of all arms, in the order of `probabilities`, `available`, the rows of a context, and policies.
      num_arms: number of arms K, whose labels are 0, 1, .., K - 1.
      rewards: the least and the largest possible reward, known before the data. Default: (0, 1), and (-1, 0) for costs.
      least_propensity: a number below which no propensity of any context and arm is, except 0. It makes the betting
        interval a proved one.
      adaptive: whether the logging policy learned from the rows. Normal intervals are not shown then.
      estimated: whether the propensities are estimates.

    Raises:
      BadInput: the log cannot be used; one line with the number of the row, from 0, or of the line of the file: a value
        is not finite, an action is not an arm or not available, a propensity is outside (0, 1] or below
        least_propensity, a reward is outside the range, there are fewer than two rows, or shapes differ.
    """
    checks.choice(WHERE, "format", format, formats.FORMATS)
    roles = {"action": action, "reward": reward, "cost": cost, "context": context, "propensity": propensity,
             "probabilities": probabilities, "available": available}  # fmt: skip
    if cost is not None or format in formats.COSTS:
        roles["reward"] = None
    table = None
    if source is not None:
        table, own = formats.read(format, f"{WHERE}: source", source, _all_names(roles))
        arms = own.pop("arms", None) if arms is None and num_arms is None else arms
        roles |= {role: name for role, name in own.items() if roles.get(role, own) in (None, role)}
    elif _all_names(roles):
        missing = next(role for role, given in roles.items() if _names(given, role))
        wrong(f"{WHERE}: {missing}", roles[missing], "an array, because no table was given with a column of this name",
              written=python)  # fmt: skip
    taken = {role: None if given is None else _Taken(role, given, table) for role, given in roles.items()}
    n = len(taken["action"].values) if taken["action"] else 0
    found = {role: each.checked(n) for role, each in taken.items() if each is not None}
    for role in ("action", "reward"):
        if role not in found and not (role == "reward" and "cost" in found):
            refuse(f"{WHERE}: {role}", " is missing, must be a column or an array")
    places = {role: each.place for role, each in taken.items() if each is not None}
    labels, actions = actions_of(WHERE, found["action"], places["action"], arms, _num_arms(num_arms, found))
    given, chances = found.get("propensity"), found.get("probabilities")
    if given is None and chances is not None:
        given, places["propensity"] = chances[np.arange(n), actions], places["probabilities"]
    costs = "cost" in found
    if costs:
        places["reward"] = lambda row: f"{places['cost'](row)} times -1"
    offered = found.get("available")
    if least_propensity is not None:
        checks.number(WHERE, "least_propensity", least_propensity, low=0.0, high=1.0, open_low=True)
    log = Log(
        context=found.get("context"),
        action=actions,
        reward=0.0 - found["cost"] if costs else found["reward"],
        propensity=given,
        probabilities=chances,
        available=None if offered is None else offered != 0,
        arms=labels,
        rewards=_range((COSTS if costs else REWARDS) if rewards is None else rewards),
        least_propensity=least_propensity,
        costs=costs,
        adaptive=checks.boolean(WHERE, "adaptive", adaptive),
        estimated=checks.boolean(WHERE, "estimated", estimated),
    )
    return check_rows(log, WHERE if table is None else table.where, places.__getitem__)


def _all_names(roles: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(name for role, given in roles.items() for name in _names(given, role)))


def _names(given: Any, role: str = "") -> list[str]:
    """Return the names of columns that an argument gives, [] if it is an array; a list of actions is one of labels."""
    if isinstance(given, str):
        return [given]
    if role == "action":
        return []
    if isinstance(given, list | tuple) and given and all(_names(each) for each in given):
        return [name for each in given for name in _names(each)]
    return []


class _Taken:
    """The values of an argument, and where each of its rows is."""

    def __init__(self, role: str, given: Any, table: Table | None):
        self.role, self._names, self.place = role, _names(given, role), _row_of(role)
        if not self._names:
            if role == "action":
                self.values = _labels_of(given)
                return
            try:
                self.values = np.asarray(given, np.float64)
            except (TypeError, ValueError):
                wrong(f"{WHERE}: {role}", given, "an array of numbers, or names of columns", written=python)
            if self.values.ndim == 0:
                wrong(f"{WHERE}: {role}", given, "an array with one entry for each row", written=python)
            return
        assert table is not None
        if role == "action" and isinstance(given, str):
            self.values, self.place = table.cells[given], table.place(given)
            return
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
        if self.role == "action":
            return self.values
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


def _labels_of(given: Any) -> Any:
    """Return an array or a list of labels, one for each row."""
    if isinstance(given, list | tuple) or np.ndim(given) == 1:
        return given
    return wrong(f"{WHERE}: action", given, "an array with one entry for each row", written=python)


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


def _num_arms(given: int | None, found: dict[str, np.ndarray]) -> int | None:
    """Return the number of arms, which everything that has one row for each arm must agree on; None if nothing has."""
    said = {role: found[role].shape[1] for role in ("probabilities", "available") if role in found}
    if "context" in found and found["context"].ndim == 3:
        said["context"] = found["context"].shape[1]
    if given is not None:
        said = {"num_arms": checks.integer(WHERE, "num_arms", given, 1), **said}
    if not said:
        return None
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
