"""Columns of a table by name: from a CSV file with a line of names, a DataFrame, or a dictionary."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.support import csv_rows, decimals
from jaxbandit.support.refusals import nearest, python, refuse, wrong

LARGEST = 1e150  # modulus of a number, so that sums of squares are finite
WORDS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
MISSING = ("", "nan", "none", "<na>", "nat")

Place = Callable[[int], str]  # from a row, counted from 0, to where the cell of a column is, for error messages


class Table(NamedTuple):
    """The wanted columns of a table."""

    where: str  # the file or the argument, for error messages
    cells: dict[str, Any]  # of each column by its name: a list or anything with `__array__`, all of one length
    place: Callable[[str], Place]  # of the cells of a column, by its name

    def numbers(self, name: str, allowed: str) -> np.ndarray:
        """Return a column as `numbers` does; an array that has more axes as it is, float64[rows, ..]."""
        values = self.cells[name]
        if getattr(values, "ndim", 1) > 1:
            return np.asarray(values, np.float64)
        return numbers(values, self.place(name), allowed)

    def labels(self, name: str, allowed: str) -> tuple[list[str], np.ndarray]:
        """Return the labels of a column as `labels` does."""
        return labels(self.cells[name], self.place(name), allowed)


def read_columns(
    where: str, source: Any, wanted: Sequence[str], also: Callable[[str], bool] = lambda name: False
) -> Table:
    """Return the wanted columns of a table, of equal lengths; a BadInput says what is wrong.

    Args:
      source: the path of a CSV file, whose cells are separated by commas, semicolons or tabs; or a DataFrame, a
        dictionary, or anything else with columns by name.
    """
    if isinstance(source, str | Path):
        rows = csv_rows.read(str(source), Path(source), "a CSV file")
        head = [name.strip() for name in next(rows, (0, []))[1]]
        csv_rows.require_distinct(str(source), head)
        names = _names(str(source), head, wanted, also)
        columns: list[list[str]] = [[] for _ in names]
        lines, pairs = [], [(column, head.index(name)) for column, name in zip(columns, names, strict=True)]
        for line, row in rows:
            for column, i in pairs:
                column.append(row[i])
            lines.append(line)
        found = dict(zip(names, columns, strict=True))
        return Table(str(source), found, lambda name: lambda row: f"{source}: line {lines[row]}: {name}")
    if not (isinstance(source, Mapping) or (hasattr(source, "columns") and hasattr(source, "__getitem__"))):
        refuse(where, f" = {python(source)}, must be a path, a DataFrame or a dictionary of columns")
    head = [name for name in (source if isinstance(source, Mapping) else source.columns) if isinstance(name, str)]
    names = _names(where, head, wanted, also)
    table = {name: source[name] if hasattr(source[name], "__array__") else list(source[name]) for name in names}
    if len({len(column) for column in table.values()}) > 1:
        sizes = ", ".join(f"{name!r} {len(column):,}" for name, column in table.items())
        refuse(where, f": the columns have different lengths, {sizes}; must have one cell for each row")
    return Table(where, table, lambda name: lambda row: f"{where}: row {row}: {name}")


def _names(where: str, head: Sequence[str], wanted: Sequence[str], also: Callable[[str], bool]) -> list[str]:
    """Return the names of the columns that are read; raise BadInput if a wanted one is missing or there twice."""
    for name in wanted:
        if head.count(name) != 1:
            shown = ", ".join(map(repr, head[:20]))
            if not any(head):
                refuse(where, f": has no column {name!r}: there is no line of names")
            if name in head:
                refuse(where, f": has a column {name!r} twice, its columns are {shown}")
            refuse(where, f": has no column {name!r}, its columns are {shown}{nearest(name, head)}")
    return [*wanted, *(name for name in head if name not in wanted and head.count(name) == 1 and also(name))]


def cells(values: Any) -> list[Any]:
    """Return the cells of a column as Python objects."""
    return np.asarray(values).tolist() if hasattr(values, "__array__") else list(values)


def refuse_first(bad: np.ndarray, place: Place, values: np.ndarray, allowed: str) -> None:
    """Raise BadInput for the first row that is bad, bool[rows], with its value."""
    if bad.any():
        row = int(np.argmax(bad))
        wrong(place(row), values[row].item(), allowed)


def label(cell: Any) -> str:
    """Return a label as text without spaces around it; "" where there is none."""
    text = str(cell).strip()
    return "" if text.casefold() in MISSING else text


def labels(
    values: Any, place: Place, allowed: str, written: Callable[[Any], str] = label
) -> tuple[list[str], np.ndarray]:
    """Return the distinct labels of a column in the order of their first rows, and the number of each row's, int64."""
    seen: dict[Any, int] = {}
    names: dict[str, int] = {}
    found = []
    for row, cell in enumerate(cells(values)):
        number = seen.get(cell)
        if number is None:
            name = written(cell)
            if not name:
                wrong(place(row), str(cell), allowed)
            number = seen[cell] = names.setdefault(name, len(names))
        found.append(number)
    return list(names), np.array(found, np.int64)


def numbers(values: Any, place: Place, allowed: str) -> np.ndarray:
    """Return a column of numbers, and of yes and no, true and false; NaN where a cell is empty, float64[rows]."""
    array = np.asarray(values) if hasattr(values, "__array__") else None
    if array is not None and array.dtype.kind in "biuf":
        found = array.astype(np.float64)
        refuse_first(np.abs(found) > LARGEST, place, found, f"a number of modulus at most {LARGEST:g}")
        return found
    known: dict[Any, float] = {}
    converted = []
    for row, cell in enumerate(cells(values) if array is None else array.tolist()):
        number = known.get(cell)
        if number is None:
            number = known[cell] = _number(cell, row, place, allowed)
        converted.append(number)
    return np.array(converted, np.float64)


def _number(cell: Any, row: int, place: Place, allowed: str) -> float:
    text = str(cell).strip().casefold()
    if text in MISSING:
        return math.nan
    if text in WORDS:
        return WORDS[text]
    number = decimals.number(text)
    if number is None or not abs(number) <= LARGEST:
        wrong(place(row), str(cell), allowed)
    return number
