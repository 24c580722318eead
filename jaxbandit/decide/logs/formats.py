"""The formats of logged data: each is read as a table, and says which of its columns are what."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from jaxbandit.decide.logs import vowpal_wabbit
from jaxbandit.decide.logs.forms import FEATURES, Form, objects
from jaxbandit.support import reading
from jaxbandit.support.columns import Table, read_columns
from jaxbandit.support.refusals import python, refuse, wrong

Format = Literal["columns", "jsonl", "vw", "dsjson", "obp"]
FORMATS = get_args(Format)
COSTS = ("vw", "dsjson")  # which have no rewards
OBP = ("action", "reward", "pscore", "n_actions")  # keys of bandit feedback that have to be there


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
    return list(enumerate(reading.text(str(path), path, "a text file", largest=reading.LARGEST_TABLE).split("\n"), 1))


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
