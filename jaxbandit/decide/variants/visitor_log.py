"""A log of visitors, one row each in the order of arrival: read from a CSV file, a DataFrame or a dictionary."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.decide.variants import times
from jaxbandit.support.columns import MISSING, cells, numbers, read_columns
from jaxbandit.support.refusals import nearest, refuse, wrong

MOST_VARIANTS = 30  # all pairs are compared
MOST_VISITORS = 10**8  # that counts may stand for: each becomes a row
COUNT = "a whole number >= 0"
UNIT = re.compile(
    r"(?i:(^|[_\W])(id|uid|uuid|user|visitor|customer|client|account|member|person|patient|household|device|session)"
    r"s?($|[_\W]))|[a-z]Id$"
)
REPEATED = 0.02  # share of the rows that have different values, at least, in a column that tells who a row is about
OUTCOME = "a number such as 0, 1 or 12.5, yes or no, true or false, or empty if it is not known yet"


class Log(NamedTuple):
    """Visitors in the order of arrival, or in another one."""

    names: tuple[str, ...]  # of the variants, in the order of their first visitors
    variant: np.ndarray  # int64[rows]
    outcome: np.ndarray  # float64[rows], NaN where it is not known yet
    time: np.ndarray | None  # float64[rows], never decreasing
    dated: bool  # times are seconds since 1970
    block: np.ndarray | None  # int64[rows]
    unit: np.ndarray | None = None  # int64[rows], who a row is about
    ordered: bool = True  # the rows are in the order of arrival
    given: np.ndarray | None = None  # float64[rows], outcomes before a shuffle, if their order may be that of arrival
    notes: tuple[str, ...] = ()  # what was done to the rows, and what is remarkable about them

    def taken(self, rows: np.ndarray) -> "Log":
        """Return the log with these rows, bool[rows] or int64[any] in any order. Variants without any are left out."""
        each = {name: None if (x := getattr(self, name)) is None else x[rows] for name in ROWWISE}
        kept, first, variant = np.unique(self.variant[rows], return_index=True, return_inverse=True)
        order = np.argsort(first)
        names = tuple(self.names[v] for v in kept[order].tolist())
        return self._replace(**(each | {"names": names, "variant": np.argsort(order)[variant]}))

    def noted(self, *notes: str) -> "Log":
        """Return the log with further notes; empty ones are left out."""
        return self._replace(notes=(*self.notes, *filter(None, notes)))


ROWWISE = ("variant", "outcome", "time", "block", "unit")


class Columns(NamedTuple):
    """The names of the columns of a log; an outcome of None stands for conversions."""

    variant: str
    outcome: str | None
    time: str | None = None
    block: str | None = None
    unit: str | None = None
    visitors: str | None = None  # how many visitors with the same outcome a row stands for
    conversions: str | None = None  # how many of them have the outcome 1; the others have 0


def read(source: Any, columns: Columns) -> Log:
    """Return the log, sorted by its times if it has any.

    Args:
      source: the path of a CSV file with a line of names, or anything with columns by name.
      columns: names of the columns.

    Raises:
      BadInput: the log cannot be used; the message names the line, counted from 1 with the line of names, of a file,
        or else the row, counted from 0.
    """
    used = [name for name in columns if name is not None]
    single = columns.visitors is columns.unit is columns.block is None
    where, table, place = read_columns("ab: log", source, used, lambda name: single and UNIT.search(name) is not None)
    names, variant = _labels(table[columns.variant], place(columns.variant))
    if len(names) > MOST_VARIANTS:
        refuse(f"{where}: {columns.variant}", f" has {len(names):,} different values, must have at most "
               f"{MOST_VARIANTS}; which column is the variant?")  # fmt: skip
    if len(names) < 2:
        found = f"only {names[0]!r}" if names else "no rows"
        refuse(f"{where}: {columns.variant}", f" has {found}, must have at least two variants to compare")
    if columns.outcome is None:
        outcome = np.zeros(len(variant))
    else:
        outcome = numbers(table[columns.outcome], place(columns.outcome), OUTCOME)
    block, unit = (
        None if name is None else _labels(table[name], place(name))[1] for name in (columns.block, columns.unit)
    )
    time, dated = None, False
    if columns.time is not None:
        time, dated = times.column(table[columns.time], place(columns.time))
    log = Log(names, variant, outcome, time, dated, block, unit)
    if columns.visitors is not None:
        log = _counted(log, table, columns, place)
    log = log.noted(*(_repeated(name, cells(table[name])) for name in table if name not in used))
    if time is not None and np.any(np.diff(time) < 0):
        log = log.taken(np.argsort(time, kind="stable"))
        log = log.noted("the rows were not in the order of their times, and were sorted by them")
    return log


def _repeated(name: str, values: list[Any]) -> str:
    """Return a sentence if a column that was not named may tell who a row is about, and has somebody again, or ""."""
    different = len(set(map(str, values)))
    if not REPEATED * len(values) < different < len(values):
        return ""
    return (
        f"the column {name!r} has {different:,} different values in {len(values):,} rows: if these are the units that "
        f"were assigned, rows of one are not independent, and unit={name!r} is needed"
    )


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


def _counted(log: Log, table: Any, columns: Columns, place: Callable[[str], Callable[[int], str]]) -> Log:
    """Return a row for each visitor of a table of counts."""
    counts = []
    for name in (columns.visitors, columns.conversions):
        if name is not None:
            count = numbers(table[name], place(name), COUNT)
            bad = np.flatnonzero(~((count >= 0) & (count == np.floor(count))))
            if len(bad):
                wrong(place(name)(int(bad[0])), f"{count[bad[0]]:g}", COUNT)
            counts.append(count)
    total = counts[0].sum()
    if not 0 < total <= MOST_VISITORS:
        refuse(
            place(str(columns.visitors))(0), f": the column adds up to {total:,.0f}, must be in [1, {MOST_VISITORS:,}]"
        )
    n = counts[0].astype(np.int64)
    rows = np.repeat(np.arange(len(n)), n)
    found = log.taken(rows)
    if len(found.names) < 2:
        shown = ", ".join(found.names)
        refuse(place(str(columns.visitors))(0), f": only {shown} has visitors, must be at least two variants")
    if columns.conversions is None:
        return found
    if np.any(counts[1] > n):
        row = int(np.argmax(counts[1] > n))
        allowed = f"at most {n[row]:,}, the visitors of the row"
        wrong(place(columns.conversions)(row), f"{counts[1][row]:g}", allowed)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(n) - n, n)
    return found._replace(outcome=(within < counts[1][rows]).astype(np.float64))


def names_among(where: str, names: Iterable[str], known: Sequence[str]) -> list[int]:
    """Return the positions of names of variants; raise BadInput for one that the log lacks."""
    for name in (names := [str(name) for name in names]):
        if name not in known:
            wrong(where, name, f"one of {', '.join(known)}, the variants of the log{nearest(name, known)}")
    return [known.index(name) for name in names]
