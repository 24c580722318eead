"""The visitors of a log, ready to be compared: one row each, in a known order, with what is known of their outcomes."""

from datetime import datetime, timedelta
from typing import Any

from jaxbandit.decide.core.goal import Goal
from jaxbandit.decide.variants import order, outcomes, times, units, visitors
from jaxbandit.decide.variants.outcomes import Kind
from jaxbandit.decide.variants.visitors import Columns, Visitors
from jaxbandit.support.refusals import python, wrong


def prepared(
    source: Any,
    columns: Columns,
    of_unit: str,
    goal: Goal,
    cap: Any,
    window: float | str | timedelta | None,
    now: float | str | datetime | None,
) -> tuple[Visitors, Kind]:
    """Return the visitors of a log, and what their outcomes are; the arguments are those of `ab`."""
    log = visitors.read(source, columns)
    length = None
    if window is not None and log.time is not None:
        length = times.window("ab: window", window, log.dated)
        log = log._replace(until=_present(log, float(log.time[-1]), now) - length)
    if log.unit is not None:
        log = units.one_row_each(log, of_unit, length)
    log, kind = outcomes.limited(columns.outcome or str(columns.conversions), log, goal, cap)
    if columns.visitors is None:
        log = order.with_known_order(log)
    elif log.time is None:
        log = order.without_order(log).noted("the counts have no order: visitors are paired at random")
    else:
        shuffled = "visitors of the same time are in a random order; look only after whole ones"
        log = order.within_times(log).noted(shuffled)
    if log.block is not None:
        rows = len(log.variant)
        log = units.one_row_each_of_blocks(log)
        kind = kind._replace(binary=kind.binary and len(log.variant) == rows)
    return log, kind


def _present(log: Visitors, last: float, now: Any) -> float:
    """Return the time at which the log was written, whose last visitor came at a given time."""
    present = last if now is None else times.moment("ab: now", now, log.dated)
    if present < last:
        shown = times.text(last, log.dated)
        wrong("ab: now", python(now), f"at or after {shown}, the time of the last visitor of {log.where}", written=str)
    return present
