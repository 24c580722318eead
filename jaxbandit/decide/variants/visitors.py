"""The visitors of a log, one row each in the order of arrival: read from a CSV file, a DataFrame or a dictionary."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.decide.variants import times
from jaxbandit.support.columns import Table, cells, label, labels, read_columns, refuse_first
from jaxbandit.support.refusals import known, nearest, refuse, wrong

MOST_VARIANTS = 30  # all pairs are compared
MOST_VISITORS = 10**8  # that counts may stand for: each becomes a row
COUNT = "a whole number >= 0"
OUTCOME = "a number such as 0, 1 or 12.5, yes or no, true or false, or empty if it is not known yet"
UNIT = re.compile(
    r"(?i:(^|[_\W])(id|uid|uuid|user|visitor|customer|client|account|member|person|patient|household|device|session)"
    r"s?($|[_\W]))|[a-z]Id$"
)
REPEATED = 0.02  # share of the rows that have different values, at least, in a column that tells who a row is about


class Columns(NamedTuple):
    """The names of the columns of a log; an outcome of None stands for conversions."""

    variant: str = "variant"
    outcome: str | None = "outcome"
    time: str | None = None
    block: str | None = None
    unit: str | None = None  # who a row is about
    visitors: str | None = None  # how many visitors with the same outcome a row stands for
    conversions: str | None = None  # how many of them have the outcome 1; the others have 0
    denominator: str | None = None  # the outcome is divided by
    covariate: str | None = None  # what is known of a visitor from before the test
    segment: tuple[str, ...] = ()  # within which differences are shown

    @property
    def names(self) -> list[str]:
        """All columns that are named."""
        return [name for name in self[:-1] if name is not None] + list(self.segment)


class Visitors(NamedTuple):
    """Visitors in the order of arrival, or in another one."""

    where: str  # the log, for messages
    names: tuple[str, ...]  # of the variants, in the order of their first visitors
    variant: np.ndarray  # int64[rows]
    outcome: np.ndarray  # float64[rows], NaN where it is not known yet
    time: np.ndarray | None = None  # float64[rows], never decreasing
    dated: bool = False  # times are seconds since 1970
    block: np.ndarray | None = None  # int64[rows]
    unit: np.ndarray | None = None  # int64[rows], who a row is about
    per: np.ndarray | None = None  # float64[rows], denominators of a ratio
    covariate: np.ndarray | None = None  # float64[rows], NaN where it is not known
    shift: np.ndarray | None = None  # float64[rows], what is subtracted from outcomes where variants are compared
    segment: np.ndarray = np.zeros((0, 0), np.int64)  # int64[rows, columns], places in the names of its values
    segment_names: tuple[tuple[str, tuple[str, ...]], ...] = ()  # each column with its values, in alphabetical order
    until: float | None = None  # the time of the last visitor whose outcome cannot change any more; None: all are final
    ordered: bool = True  # the rows are in the order of arrival
    given: np.ndarray | None = None  # float64[rows], outcomes before a shuffle, if their order may be that of arrival
    notes: tuple[str, ...] = ()  # what was done to the rows, and what is remarkable about them

    @property
    def final(self) -> np.ndarray:
        """Whether the outcome of a visitor cannot change any more, as far as time says, bool[rows]."""
        return np.ones(len(self.variant), bool) if self.time is None or self.until is None else self.time <= self.until

    def taken(self, rows: np.ndarray) -> "Visitors":
        """Return these rows, bool[rows] or int64[any] in any order. Variants without any are left out."""
        each = {name: None if (x := getattr(self, name)) is None else x[rows] for name in ROWWISE}
        kept, first, variant = np.unique(self.variant[rows], return_index=True, return_inverse=True)
        order = np.argsort(first)
        names = tuple(self.names[v] for v in kept[order].tolist())
        return self._replace(**(each | {"names": names, "variant": np.argsort(order)[variant]}))

    def noted(self, *notes: str) -> "Visitors":
        """Return the visitors with further notes; empty ones are left out."""
        return self._replace(notes=(*self.notes, *filter(None, notes)))

    def numbers_of(self, where: str, names: Iterable[str]) -> list[int]:
        """Return the numbers of variants; raise BadInput for a name that the log lacks."""
        for name in (names := list(map(str, names))):
            if name not in self.names:
                listed = ", ".join(self.names)
                wrong(where, name, f"one of {listed}, the variants of the log{nearest(name, self.names)}")
        return [self.names.index(name) for name in names]


ROWWISE = ("variant", "outcome", "time", "block", "unit", "per", "covariate", "shift", "segment")
OF_A_ROW = ("segment", "covariate", "per", "outcome")  # what belongs together where rows are put into another order


def columns_of(given: Mapping[str, str]) -> Columns:
    """Return the names of the columns; raise BadInput if they do not fit each other."""
    known("ab: columns: ", given, Columns._fields)
    several = given.get("segment", ())
    columns = Columns(**{**given, "segment": (several,) if isinstance(several, str) else tuple(several)})
    if columns.conversions is not None:
        if columns.visitors is None:
            raise ValueError(
                "columns: conversions needs the number of visitors of each row; give the column of visitors too"
            )
        columns = columns._replace(outcome=None)
    if columns.visitors is not None:
        for name in ("block", "unit", "denominator", "covariate"):
            if getattr(columns, name) is not None:
                raise ValueError(f"columns: {name} is about single visitors, not counts; leave it or visitors out")
    if columns.segment and columns.block is not None:
        raise ValueError("columns: segment is about single visitors, not blocks; leave it or block out")
    if columns.unit is not None and columns.block is not None:
        raise ValueError("columns: block has one row for each variant and block; leave it or unit out")
    return columns


def read(source: Any, each: Sequence[Columns], fewest: int = 2) -> list[Visitors]:
    """Return the visitors of a log for each metric, sorted by their times if they have any.

    A message names the line of a file, counted from 1 with the line of names, or else the row, counted from 0.
    """
    used = list(dict.fromkeys(name for columns in each for name in columns.names))
    single = each[0].visitors is each[0].unit is each[0].block is None
    table = read_columns("ab: log", source, used, lambda name: single and UNIT.search(name) is not None)
    where = table.where if isinstance(source, str | Path) else "ab"
    return [_of_table(table, where, columns, used, fewest) for columns in each]


def _of_table(table: Table, where: str, columns: Columns, used: Sequence[str], fewest: int) -> Visitors:
    """Return the visitors for one metric; a column that is not used may be one that has to be."""
    names, variant = table.labels(columns.variant, "a name")
    if not fewest <= len(names) <= MOST_VARIANTS:
        found = f"only {names[0]!r}" if names else "no rows"
        many = f" has {len(names):,} different values, must have at most {MOST_VARIANTS}; which column is the variant?"
        few = f" has {found}, must have at least two variants to compare"
        refuse(f"{table.where}: {columns.variant}", few if len(names) < fewest else many)
    outcome = np.zeros(len(variant)) if columns.outcome is None else table.numbers(columns.outcome, OUTCOME)
    groups = [None if name is None else table.labels(name, "a name")[1] for name in (columns.block, columns.unit)]
    time, dated = None, False
    if columns.time is not None:
        time, dated = times.column(table.cells[columns.time], table.place(columns.time))
    found = Visitors(where, tuple(names), variant, outcome, time, dated, groups[0], groups[1])
    if columns.denominator is not None:
        per = table.numbers(columns.denominator, "a number >= 0")
        refuse_first(~(per >= 0), table.place(columns.denominator), per, "a number >= 0")
        found = found._replace(per=per)
    if columns.covariate is not None:
        found = found._replace(covariate=table.numbers(columns.covariate, "a number, or empty"))
    found = _with_segments(found, table, columns.segment)
    if columns.visitors is not None:
        found = _counted(found, table, columns.visitors, columns.conversions, fewest)
    found = found.noted(*(_repeated(name, cells(table.cells[name])) for name in table.cells if name not in used))
    if time is not None and np.any(np.diff(time) < 0):
        found = found.taken(np.argsort(time, kind="stable"))
        return found.noted("the rows were not in the order of their times, and were sorted by them")
    return found


def _repeated(name: str, values: Sequence[Any]) -> str:
    """Return a sentence if a column that was not named may tell who a row is about, and has somebody again, or ""."""
    different = len(set(map(str, values)))
    if not REPEATED * len(values) < different < len(values):
        return ""
    return (
        f"the column {name!r} has {different:,} different values in {len(values):,} rows: if these are the units that "
        f"were assigned, rows of one are not independent, and columns={ {'unit': name} } is needed"
    )


def _counted(log: Visitors, table: Table, visitors: str, conversions: str | None, fewest: int) -> Visitors:
    """Return a row for each visitor of a table of counts."""
    n, converted = (_counts(table, name) for name in (visitors, conversions or visitors))
    if not 0 < n.sum() <= MOST_VISITORS:
        refuse(table.place(visitors)(0), f": the column adds up to {n.sum():,.0f}, must be in [1, {MOST_VISITORS:,}]")
    n = n.astype(np.int64)
    rows = np.repeat(np.arange(len(n)), n)
    found = log.taken(rows)
    if len(found.names) < fewest:
        only = ", ".join(found.names)
        refuse(table.place(visitors)(0), f": only {only} has visitors, must be at least two variants")
    if conversions is None:
        return found
    if np.any(beyond := converted > n):
        row = int(np.argmax(beyond))
        wrong(table.place(conversions)(row), converted[row].item(), f"at most {n[row]:,}, the visitors of the row")
    within = np.arange(len(rows)) - np.repeat(np.cumsum(n) - n, n)
    return found._replace(outcome=(within < converted[rows]).astype(np.float64))


def _with_segments(log: Visitors, table: Table, columns: Sequence[str]) -> Visitors:
    """Return a log with the segments of its rows."""
    places, names = np.zeros((len(log.variant), len(columns)), np.int64), []
    for s, name in enumerate(columns):
        values, found = labels(table.cells[name], table.place(name), "", lambda cell: label(cell) or "(empty)")
        order = np.argsort(np.array(values, dtype=object))
        places[:, s] = np.argsort(order)[found]
        names.append((name, tuple(values[i] for i in order)))
    return log._replace(segment=places, segment_names=tuple(names))


def _counts(table: Table, name: str) -> np.ndarray:
    counts = table.numbers(name, COUNT)
    refuse_first(~((counts >= 0) & (counts == np.floor(counts))), table.place(name), counts, COUNT)
    return counts
