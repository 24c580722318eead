"""Reading logged data: from arrays, from a DataFrame, or from a file in one of several formats."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from jaxbandit.base.arguments import NumArms
from jaxbandit.base.calls import checked
from jaxbandit.base.parameters import Arg
from jaxbandit.decide.logs import formats, vowpal_wabbit
from jaxbandit.decide.logs.arms import actions_of
from jaxbandit.decide.logs.formats import Form
from jaxbandit.decide.logs.log import Log, check_rows
from jaxbandit.support import checks, reading
from jaxbandit.support.columns import Place, Table, read_columns
from jaxbandit.support.domains import RANGE, number
from jaxbandit.support.refusals import python, refuse, wrong

WHERE = "read_log"
FINITE = "a finite number"
Format = Literal["columns", "jsonl", "vw", "dsjson", "obp"]
FORMS = {
    "jsonl": formats.json_lines,
    "vw": vowpal_wabbit.text,
    "dsjson": vowpal_wabbit.decisions,
    "obp": formats.feedback,
}


@checked
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
    num_arms: NumArms | None = None,
    rewards: Annotated[tuple[float, float], Arg(RANGE)] | None = None,
    least_propensity: Annotated[float, Arg(number(0, 1, open_low=True))] | None = None,
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
      format: of the source. "columns" is a CSV file whose first line has the names of the columns, a DataFrame
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
    costs = cost is not None or format in ("vw", "dsjson")
    roles = {"action": action, "reward": None if costs else reward, "cost": cost, "context": context,
             "propensity": propensity, "probabilities": probabilities, "available": available}  # fmt: skip
    table = None
    if source is not None:
        table, form = _table(format, source, roles)
        arms = form.arms if arms is None and num_arms is None else arms
        roles |= {role: role for role in form.roles if role in form.columns and roles[role] is None}
    found, places = {}, {}
    for role, given in roles.items():
        if given is not None:
            found[role], places[role] = _values(role, given, table)
    n = len(found.get("action", ()))
    for role, values in found.items():
        found[role] = _checked(role, values, n, places[role])
    for role in ("action", "cost" if "cost" in found else "reward"):
        if role not in found:
            raise ValueError(f"{role} is missing, must be a column or an array")
    labels, actions = actions_of(found["action"], places["action"], arms, _num_arms(num_arms, found))
    chances, offered = found.get("probabilities"), found.get("available")
    if "propensity" not in found and chances is not None:
        found["propensity"], places["propensity"] = chances[np.arange(n), actions], places["probabilities"]
    if "cost" in found:
        found["reward"], places["reward"] = 0.0 - found["cost"], lambda row: f"{places['cost'](row)} times -1"
    if rewards is None:
        rewards = (-1.0, 0.0) if "cost" in found else (0.0, 1.0)
    log = Log(
        context=found.get("context"),
        action=actions,
        reward=found["reward"],
        propensity=found.get("propensity"),
        probabilities=chances,
        available=None if offered is None else offered != 0,
        arms=labels,
        rewards=rewards,
        least_propensity=least_propensity,
        costs="cost" in found,
        adaptive=adaptive,
        estimated=estimated,
    )
    check_rows(log, WHERE if table is None else table.where, places)
    return log


def _table(format: Format, source: Any, roles: dict[str, Any]) -> tuple[Table, Form]:
    """Return the columns of a source that are named, and those that its format gives itself."""
    where, names = f"{WHERE}: source", [name for role, given in roles.items() for name in _names(role, given)]
    if format == "columns":
        return read_columns(where, source, list(dict.fromkeys(names))), Form({})
    content = source
    if format != "obp":
        if not isinstance(source, str | Path):
            wrong(where, source, f"the path of a file, because its format is {format}", written=python)
        where, text = str(source), reading.text(str(source), Path(source), "a text file", largest=reading.LARGEST_TABLE)
        content = list(enumerate(text.split("\n"), 1))
    try:
        form = FORMS[format](content, list(dict.fromkeys(names)))
    except ValueError as error:
        refuse(where, f": {error}")
    own = [role for role in form.roles if role in form.columns]
    table = read_columns(where, form.columns, list(dict.fromkeys([*names, *own])))
    lines = form.lines
    if lines is not None:
        table = table._replace(place=lambda name: lambda row: f"{where}: line {lines[row]}: {name}")
    return table, form


def _names(role: str, given: Any) -> list[str]:
    """Return the names of columns that an argument gives, [] if it is an array; a list of actions is one of labels."""
    if isinstance(given, str):
        return [given]
    if role == "action" or not isinstance(given, list | tuple):
        return []
    each = [_names("", some) for some in given]
    return [name for names in each for name in names] if all(each) else []


def _values(role: str, given: Any, table: Table | None) -> tuple[Any, Place]:
    """Return the values of an argument, and where each of its rows is."""
    names = _names(role, given)
    if not names:
        try:
            values = given if role == "action" else np.asarray(given, np.float64)
        except (TypeError, ValueError):
            checks.wrong(role, given, "an array of numbers, or names of columns")
        if not isinstance(values, list | tuple) and (
            np.ndim(values) == 0 or (role == "action" and np.ndim(values) > 1)
        ):
            checks.wrong(role, given, "an array with one entry for each row")
        return values, lambda row: f"{WHERE}: row {row}: {role}"
    if table is None:
        checks.wrong(role, given, "an array, because no table was given with a column of this name")
    place = table.place(", ".join(names[:3]) + ", .." * (len(names) > 3))
    if role == "action":
        return table.cells[given], place
    columns = [table.numbers(name, FINITE) for name in names]
    for name, column in zip(names, columns, strict=True):
        _check_finite(column, table.place(name))
    if isinstance(given, str):
        return columns[0], place
    try:
        shape = np.shape(given)
    except ValueError:
        checks.wrong(role, given, "a list of names, or lists of equally many names")
    return np.stack(columns, axis=1).reshape(len(columns[0]), *shape), place


def _checked(role: str, values: Any, n: int, place: Place) -> Any:
    """Return the values of an argument if they are n rows of as many axes as it has."""
    if role == "action":
        return values
    shape = values.shape
    if role == "context":
        values = values[:, None] if len(shape) == 1 else values
    elif len(shape) != (axes := 2 if role in ("probabilities", "available") else 1):
        wanted = "[n]" if axes == 1 else "[n, num_arms]"
        raise ValueError(f"{role} has shape {shape}, must be {wanted}, with n = {n:,} rows")
    if shape[0] != n:
        raise ValueError(f"{role} has {shape[0]:,} rows, must have {n:,}, as many as action")
    _check_finite(values, place)
    return values


def _check_finite(values: np.ndarray, place: Place) -> None:
    flat = values.reshape(len(values), math.prod(values.shape[1:]))
    if (bad := ~np.isfinite(flat)).any():
        row = int(np.argmax(bad.any(axis=1)))
        shown = float(flat[row][bad[row]][0])
        refuse(place(row), f" is {'empty or not a number' if math.isnan(shown) else shown}, must be {FINITE}")


def _num_arms(given: int | None, found: dict[str, np.ndarray]) -> int | None:
    """Return the number of arms, which everything that has one row for each arm must agree on; None if nothing has."""
    said = {} if given is None else {"num_arms": given}
    said |= {role: found[role].shape[1] for role in ("probabilities", "available") if role in found}
    if "context" in found and found["context"].ndim == 3:
        said["context"] = found["context"].shape[1]
    first, arms = next(iter(said.items()), ("", None))
    for role, size in said.items():
        if size != arms:
            raise ValueError(f"{role} has {size} arms, must have {arms}, as {first}")
    return arms
