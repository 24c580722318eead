"""A log of visitors, one row each in the order of arrival: read from a CSV file, a DataFrame or a dictionary."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.base.columns import MISSING, cells, numbers, read_columns
from jaxbandit.base.refusals import nearest, refuse, wrong
from jaxbandit.decide.variants import times

MOST_VARIANTS = 30  # all pairs are compared
OUTCOME = "a number such as 0, 1 or 12.5, yes or no, true or false, or empty if it is not known yet"


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
    where, table, place = read_columns("ab: log", source, [name for name in columns if name is not None])
    names, variant = _labels(table[columns.variant], place(columns.variant))
    if len(names) > MOST_VARIANTS:
        refuse(f"{where}: {columns.variant}", f" has {len(names):,} different values, must have at most "
               f"{MOST_VARIANTS}; which column is the variant?")  # fmt: skip
    if len(names) < 2:
        found = f"only {names[0]!r}" if names else "no rows"
        refuse(f"{where}: {columns.variant}", f" has {found}, must have at least two variants to compare")
    outcome = numbers(table[columns.outcome], place(columns.outcome), OUTCOME)
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


def _labels(values: Any, place: Callable[[int], str]) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the distinct labels in the order of their first rows, and the number of each row's label."""
    seen: dict[Any, int] = {}
    names: dict[str, int] = {}
    found = []
    for row, cell in enumerate(cells(values)):
        number = seen.get(cell)
        if number is None:
            name = str(cell).strip()
            if name.casefold() in MISSING:
                wrong(place(row), str(cell), "a name")
            number = seen[cell] = names.setdefault(name, len(names))
        found.append(number)
    return tuple(names), np.array(found, np.int64)


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
