"""A log of visitors, one row each in the order of arrival: read from a CSV file, a DataFrame or a dictionary."""

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.base.refusals import BadInput, nearest, python, reason, refuse, wrong
from jaxbandit.decide.variants import times

MOST_VARIANTS = 30  # all pairs are compared
LARGEST = 1e150  # modulus of an outcome, so that sums of squares are finite
WORDS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
MISSING = ("", "nan", "none", "<na>", "nat")
DELIMITERS = ",;\t"


class Log(NamedTuple):
    """Visitors in the order of arrival."""

    names: tuple[str, ...]  # of the variants, in the order of their first visitors
    variant: np.ndarray  # int64[rows]
    outcome: np.ndarray  # float64[rows], NaN where it is not known yet
    time: np.ndarray | None  # float64[rows], never decreasing
    dated: bool  # times are seconds since 1970
    block: np.ndarray | None  # int64[rows]
    resorted: bool  # the rows of the log were not in the order of their times


class Columns(NamedTuple):
    """The names of the columns of a log."""

    variant: str
    outcome: str
    time: str | None
    block: str | None


def read(source: Any, columns: Columns) -> Log:
    """Return the log.

    Args:
      source: the path of a CSV file with a line of names, or anything with columns by name.
      columns: names of the columns.

    Raises:
      BadInput: the log cannot be used; the message names the line, counted from 1 with the line of names, of a file,
        or else the row, counted from 0.
    """
    wanted = [name for name in columns if name is not None]
    if isinstance(source, str | Path):
        where, table, lines = str(source), *_file(Path(source), wanted)
    else:
        where, table, lines = "ab: log", _table(source, wanted), None

    def place(name: str) -> Callable[[int], str]:
        return lambda row: f"{where}: {f'row {row}' if lines is None else f'line {lines[row]}'}: {name}"

    names, variant = _labels(table[columns.variant], place(columns.variant))
    if len(names) > MOST_VARIANTS:
        refuse(f"{where}: {columns.variant}", f" has {len(names):,} different values, must have at most "
               f"{MOST_VARIANTS}; which column is the variant?")  # fmt: skip
    if len(names) < 2:
        found = f"only {names[0]!r}" if names else "no rows"
        refuse(f"{where}: {columns.variant}", f" has {found}, must have at least two variants to compare")
    outcome = _outcomes(table[columns.outcome], place(columns.outcome))
    time, dated, resorted, block = None, False, False, None
    if columns.block is not None:
        block = _labels(table[columns.block], place(columns.block))[1]
        _one_of_each(block, variant, place(columns.block))
    if columns.time is not None:
        time, dated = times.column(table[columns.time], place(columns.time))
        if np.any(np.diff(time) < 0):
            order, resorted = np.argsort(time, kind="stable"), True
            variant, outcome, time = variant[order], outcome[order], time[order]
            block = None if block is None else block[order]
            first = np.unique(variant, return_index=True)[1]
            rank = np.argsort(np.argsort(first))
            names, variant = tuple(np.array(names, object)[np.argsort(first)].tolist()), rank[variant]
    return Log(names, variant, outcome, time, dated, block, resorted)


def _file(path: Path, wanted: Sequence[str]) -> tuple[dict[str, list[str]], list[int]]:
    """Return the wanted columns of a CSV file, and the line of each row."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except UnicodeDecodeError:
        refuse(str(path), ": is not text in UTF-8, must be a CSV file")
    except OSError as error:
        refuse(str(path), f": cannot be read ({reason(error)}); give a CSV file")
    begins = text.partition("\n")[0]
    delimiter = max(DELIMITERS, key=begins.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        head = [name.strip() for name in next(reader, [])]
        at = [_position(str(path), head, name) for name in wanted]
        columns: list[list[str]] = [[] for _ in at]
        lines, line, pairs = [], reader.line_num, list(zip(columns, at, strict=True))
        for row in reader:
            if len(row) == len(head):
                for column, i in pairs:
                    column.append(row[i])
                lines.append(line + 1)
            elif row:
                refuse(f"{path}: line {line + 1}", f": has {len(row)} cells, must have {len(head)}, as the first line")
            line = reader.line_num
    except csv.Error as error:
        raise BadInput(f"{path}: line {reader.line_num}: not CSV ({error})") from None
    return dict(zip(wanted, columns, strict=True)), lines


def _position(where: str, head: Sequence[str], name: str) -> int:
    if head.count(name) != 1:
        _no_column(where, head, name)
    return head.index(name)


def _no_column(where: str, head: Sequence[str], name: str) -> None:
    several = " twice" if name in head else ""
    what = f": has a column {name!r}{several}" if several else f": has no column {name!r}"
    refuse(where, f"{what}, its columns are {', '.join(map(repr, head[:20]))}{nearest(name, head)}")


def _table(source: Any, wanted: Sequence[str]) -> dict[str, Any]:
    """Return the wanted columns of a DataFrame or a dictionary, of equal length."""
    if not (isinstance(source, Mapping) or (hasattr(source, "columns") and hasattr(source, "__getitem__"))):
        refuse("ab: log", f" = {python(source)}, must be a path, a DataFrame or a dictionary of columns")
    head = [name for name in (source if isinstance(source, Mapping) else source.columns) if isinstance(name, str)]
    for name in wanted:
        if head.count(name) != 1:
            _no_column("ab: log", head, name)
    table = {name: source[name] if hasattr(source[name], "__array__") else list(source[name]) for name in wanted}
    if len({len(column) for column in table.values()}) > 1:
        sizes = ", ".join(f"{name!r} {len(column):,}" for name, column in table.items())
        refuse("ab: log", f": the columns have different lengths, {sizes}; must be one row a visitor")
    return table


def _cells(values: Any) -> list[Any]:
    return np.asarray(values).tolist() if hasattr(values, "__array__") else list(values)


def _labels(values: Any, place: Callable[[int], str]) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the distinct labels in the order of their first rows, and the number of each row's label."""
    numbers: dict[Any, int] = {}
    names: dict[str, int] = {}
    found = []
    for row, cell in enumerate(_cells(values)):
        number = numbers.get(cell)
        if number is None:
            name = str(cell).strip()
            if name.casefold() in MISSING:
                wrong(place(row), str(cell), "a name")
            number = numbers[cell] = names.setdefault(name, len(names))
        found.append(number)
    return tuple(names), np.array(found, np.int64)


def _outcomes(values: Any, place: Callable[[int], str]) -> np.ndarray:
    """Return outcomes as numbers; NaN where the cell is empty."""
    array = np.asarray(values) if hasattr(values, "__array__") else None
    if array is not None and array.dtype.kind in "biuf":
        outcome = array.astype(np.float64)
        bad = np.flatnonzero(np.abs(outcome) > LARGEST)
        if len(bad):
            wrong(place(int(bad[0])), float(outcome[bad[0]]), f"a number of modulus at most {LARGEST:g}")
        return outcome
    known: dict[Any, float] = {}
    found = []
    for row, cell in enumerate(_cells(values) if array is None else array.tolist()):
        number = known.get(cell)
        if number is None:
            number = known[cell] = _outcome(cell, row, place)
        found.append(number)
    return np.array(found, np.float64)


def _outcome(cell: Any, row: int, place: Callable[[int], str]) -> float:
    text = str(cell).strip().casefold()
    if text in MISSING:
        return math.nan
    if text in WORDS:
        return WORDS[text]
    try:
        number = float(text) if "_" not in text else math.nan
    except ValueError:
        number = math.nan
    if not abs(number) <= LARGEST:
        wrong(place(row), str(cell), "a number such as 0, 1 or 12.5, yes or no, true or false, or empty if it is not "
              "known yet")  # fmt: skip
    return number


def _one_of_each(block: np.ndarray, variant: np.ndarray, place: Callable[[int], str]) -> None:
    """Raise BadInput if a block has two visitors of one variant."""
    pairs = block * (variant.max(initial=0) + 1) + variant
    first = np.unique(pairs, return_index=True)[1]
    if len(first) < len(pairs):
        again = np.ones(len(pairs), bool)
        again[first] = False
        row = int(np.flatnonzero(again)[0])
        refuse(place(row), ": its block has another visitor of the same variant, must have at most one of each")


def names_among(where: str, names: Iterable[str], known: Sequence[str]) -> list[int]:
    """Return the positions of names of variants; raise BadInput for one that the log lacks."""
    for name in (names := [str(name) for name in names]):
        if name not in known:
            wrong(where, name, f"one of {', '.join(known)}, the variants of the log{nearest(name, known)}")
    return [known.index(name) for name in names]
