"""The formats of logged data: each is read as a table, and says which of its columns are what.

A `Form` is what one format gives: its columns by name, the line of each row, and the columns that are the action, the
cost and so on, as `read_log` takes them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from jaxbandit.base.columns import Table, read_columns
from jaxbandit.base.refusals import python, reason, refuse, wrong

Format = Literal["columns", "jsonl", "vw", "dsjson", "obp"]
FORMATS = get_args(Format)
COSTS = ("vw", "dsjson")  # which have no rewards
FEATURES = "features"  # the name of the column of contexts, which is made only if it is asked for
MOST = 2**28  # cells of a table of features
OBP = ("action", "reward", "pscore", "n_actions")  # keys of bandit feedback that have to be there


class Form(NamedTuple):
    """The rows of a file in one format."""

    columns: dict[str, Any]  # each with an entry for each row
    lines: Sequence[int]  # of the file, on which each row begins
    roles: dict[str, Any]  # the column of each argument of `read_log`; and `arms`, if the format says them


def read(format: str, where: str, source: Any, wanted: Sequence[str]) -> tuple[Table, dict[str, Any]]:
    """Return the wanted columns of a source, and the arguments of `read_log` that the format itself gives.

    Raises:
      BadInput: the source is not in this format, or has no column of a wanted name.
    """
    if format == "columns":
        return read_columns(where, source, wanted), {}
    if format == "obp":
        return _feedback(where, source, wanted)
    if not isinstance(source, str | Path):
        wrong(where, source, f"the path of a file, because its format is {format}", written=python)
    from jaxbandit.decide.logs import vowpal_wabbit

    of: dict[str, Callable[..., Form]] = {
        "jsonl": _objects,
        "vw": vowpal_wabbit.text,
        "dsjson": vowpal_wabbit.decisions,
    }
    found = of[format](str(source), lines_of(Path(source)), wanted)
    own = [name for role, name in found.roles.items() if role != "arms"]
    table = read_columns(str(source), found.columns, list(dict.fromkeys([*wanted, *own])))
    return table._replace(place=lambda name: lambda row: f"{source}: line {found.lines[row]}: {name}"), found.roles


def lines_of(path: Path) -> list[tuple[int, str]]:
    """Return the lines of a text file, each with its number from 1."""
    try:
        content = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        refuse(str(path), ": is not text in UTF-8")
    except OSError as error:
        refuse(str(path), f": cannot be read ({reason(error)}); give a text file")
    return list(enumerate(content.split("\n"), 1))


def objects(where: str, lines: Sequence[tuple[int, str]]) -> list[tuple[int, dict[str, Any]]]:
    """Return the JSON object of each line that is not blank, with the number of the line."""
    found = []
    for number, line in lines:
        if not line.strip():
            continue
        try:
            content = json.loads(line)
        except ValueError as error:
            refuse(f"{where}: line {number}", f": not JSON ({error})")
        if not isinstance(content, dict):
            refuse(f"{where}: line {number}", ": must be a JSON object, {..}")
        found.append((number, content))
    return found


def _objects(where: str, lines: Sequence[tuple[int, str]], wanted: Sequence[str]) -> Form:
    """One JSON object in each line, whose keys are the names of columns; an entry may be a list of numbers."""
    rows = objects(where, lines)
    for number, row in rows:
        for name in wanted:
            if name not in row:
                refuse(f"{where}: line {number}", f": has no key {name!r}, its keys are {', '.join(map(repr, row))}")
    columns: dict[str, Any] = {name: [row[name] for _, row in rows] for name in wanted}
    for name, column in columns.items():
        if any(isinstance(entry, list) for entry in column):
            columns[name] = _rectangular(where, name, rows, column)
    return Form(columns, [number for number, _ in rows], {})


def _rectangular(where: str, name: str, rows: Sequence[tuple[int, Any]], column: list[Any]) -> np.ndarray:
    arrays = []
    for (number, _), entry in zip(rows, column, strict=True):
        try:
            arrays.append(np.asarray(entry, np.float64))
        except (TypeError, ValueError):
            wrong(f"{where}: line {number}: {name}", entry, "a list of numbers")
        if arrays[-1].shape != arrays[0].shape:
            shapes = f"{arrays[-1].shape}, must be {arrays[0].shape}"
            refuse(f"{where}: line {number}: {name}", f" has the shape {shapes}, as in the first row")
    return np.stack(arrays)


def _feedback(where: str, source: Any, wanted: Sequence[str]) -> tuple[Table, dict[str, Any]]:
    """Return bandit feedback of Open Bandit Pipeline; positions are not told apart."""
    missing = next((key for key in OBP if not isinstance(source, Mapping) or source.get(key) is None), None)
    if missing is not None:
        refuse(where, f": has no {missing!r}, must be a dictionary of bandit feedback, with the keys {', '.join(OBP)}")
    roles = {"action": "action", "reward": "reward", "propensity": "pscore"}
    names = dict.fromkeys([*wanted, *roles.values()])
    columns = {("context" if name == FEATURES else name): None for name in names}
    table = read_columns(where, source, list(columns))
    shown = {name: table.cells["context" if name == FEATURES else name] for name in names}
    return table._replace(cells=shown), {**roles, "arms": range(int(source["n_actions"]))}


def matrix(where: str, rows: Sequence[Mapping[str, float]]) -> np.ndarray:
    """Return the features of rows by name, float64[rows, names]: 0 where a row does not have one."""
    names = {name: number for number, name in enumerate(dict.fromkeys(name for row in rows for name in row))}
    if len(rows) * len(names) > MOST:
        refuse(where, f": has {len(names):,} different features in {len(rows):,} rows, which is too much for a table; "
               "read it without context, or give features of your own as an array")  # fmt: skip
    found = np.zeros((len(rows), max(len(names), 1)))
    for number, row in enumerate(rows):
        for name, value in row.items():
            found[number, names[name]] = value
    return found
