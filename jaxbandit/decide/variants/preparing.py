"""The visitors of a log, ready to be compared: one row each, in a known order, with what is known of their outcomes."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.decide.variants import order, outcomes, times, units, visitor_log
from jaxbandit.decide.variants.outcomes import Kind
from jaxbandit.decide.variants.visitor_log import Columns, Log
from jaxbandit.support.refusals import python, refuse, wrong


class Prepared(NamedTuple):
    """Visitors that can be compared."""

    where: str  # the log, for messages
    log: Log
    kind: Kind
    final: np.ndarray  # bool[rows], whether the outcome of a visitor cannot change any more, as far as time says
    until: float | None  # the time of the last visitor of whom it cannot


def prepared(
    source: Any,
    columns: Columns,
    how: str,
    limits: tuple[Any, Any, Any],
    window: float | str | timedelta | None,
    now: float | str | datetime | None,
) -> Prepared:
    """Return the visitors of a log.

    Args:
      source: the log.
      columns: names of its columns.
      how: what the outcome of a unit is.
      limits: the range of outcomes, a cap, and the quantile that is compared, or None.
      window: how long after the visit an outcome may still change.
      now: the time at which the log was written.
    """
    where = str(source) if isinstance(source, str | Path) else "ab"
    log = visitor_log.read(source, columns)
    length, until = _until(where, log, window, now)
    if log.unit is not None:
        log = units.one_row_each(log, how, length)
    log, kind, capped = outcomes.limited(where, columns.outcome or str(columns.conversions), log, *limits)
    log = log.noted(*capped)
    if columns.visitors is None:
        log = order.with_known_order(log)
    elif log.time is None:
        log = order.without_order(log).noted("the counts have no order: visitors are paired at random")
    else:
        log = order.within_times(log).noted(
            "visitors of the same time are in a random order; look only after whole ones"
        )
    if log.block is not None:
        rows = len(log.variant)
        log = units.one_row_each_of_blocks(log)
        kind = kind._replace(binary=kind.binary and len(log.variant) == rows)
    final = np.ones(len(log.variant), bool) if log.time is None or until is None else log.time <= until
    return Prepared(where, log, kind, final, until)


def _until(where: str, log: Log, window: Any, now: Any) -> tuple[float | None, float | None]:
    """Return the length of the window, and the time of the last visitor whose outcome is final."""
    if window is None or log.time is None:
        return None, None
    length = times.window("ab: window", window, log.dated)
    last = float(log.time[-1])
    present = last if now is None else times.moment("ab: now", now, log.dated)
    if present < last:
        shown = times.text(last, log.dated)
        wrong("ab: now", python(now), f"at or after {shown}, the time of the last visitor of {where}", written=str)
    return length, present - length


def columns_of(**names: str | None) -> Columns:
    """Return the names of the columns; raise BadInput if they do not fit each other."""
    columns = Columns(**names)  # type: ignore[arg-type]
    if columns.conversions is not None:
        if columns.visitors is None:
            refuse(
                "ab: conversions", " needs the number of visitors of each row; give visitors=, the name of its column"
            )
        columns = columns._replace(outcome=None)
    if columns.visitors is not None:
        for name in ("block", "unit"):
            if getattr(columns, name) is not None:
                refuse(f"ab: {name}", " is about single visitors, not counts; leave it or visitors= out")
    if columns.unit is not None and columns.block is not None:
        refuse("ab: block", " has one row for each variant and block; leave it or unit= out")
    return columns
