"""Rows of a log that are not one visitor each, but several of a unit or of a block."""

import numpy as np

from jaxbandit.decide.variants.visitor_log import Log
from jaxbandit.support.refusals import refuse

HOW = ("sum", "any", "last")  # the outcomes of a unit become one


def one_row_each(log: Log, how: str, window: float | None) -> Log:
    """Return one row for each unit, at the place and time of its first row.

    Units that were shown several variants are left out. With a window, only the rows of a unit within it after its
    first row count, so that all units are observed for equally long.

    Args:
      log: the rows, with units, in the order of arrival.
      how: what the outcome of a unit is: the sum of those of its rows, whether any of them is not 0, or the last one.
      window: how long after its first row a unit is observed, or None.
    """
    assert log.unit is not None
    unit, rows = log.unit, len(log.variant)
    units = int(unit.max(initial=-1)) + 1
    first = np.full(units, rows)
    np.minimum.at(first, unit, np.arange(rows))
    of_first = log.variant[first]
    crossed = np.zeros(units, bool)
    crossed[unit[log.variant != of_first[unit]]] = True
    counts = ~crossed[unit]
    late = np.zeros(rows, bool)
    if window is not None and log.time is not None:
        late = log.time > log.time[first][unit] + window
        counts &= ~late
    outcome = np.zeros(units)
    at, y = unit[counts], log.outcome[counts]
    if how == "last":
        outcome[at] = y  # of rows of the same unit, the last one is kept
    elif how == "sum":
        np.add.at(outcome, at, y)
    else:
        outcome = np.full(units, -np.inf)
        np.maximum.at(outcome, at, np.where(np.isnan(y), -1.0, y != 0))
        outcome = np.where(outcome > 0, 1.0, outcome)
        open_ = np.zeros(units, bool)
        open_[at[np.isnan(y)]] = True
        outcome = np.where(open_ & (outcome < 1), np.nan, outcome)
    kept = first[~crossed]
    if len(np.unique(log.variant[kept])) < 2:
        refuse("ab: unit", ": fewer than two variants have units that were shown no other variant; which column is it?")
    merged = log._replace(outcome=log.outcome.copy())
    merged.outcome[first] = outcome
    merged = merged.taken(np.sort(kept))
    said = {"sum": "the sum of those", "any": "whether any is not 0, of those", "last": "the last one"}[how]
    return merged.noted(
        f"{rows:,} rows are of {units:,} units, of which each counts once, by its first row; its outcome is {said} of "
        "its rows",
        f"{crossed.sum():,} units were shown several variants, and are left out" if crossed.any() else "",
        f"{late.sum():,} rows come later after the first row of their unit than the window, and do not count"
        if late.any()
        else "",
    )


def one_row_each_of_blocks(log: Log) -> Log:
    """Return one row for each variant of a block, with the mean of its outcomes, at the place of its last row."""
    assert log.block is not None
    rows = len(log.variant)
    _, cell = np.unique(log.block * len(log.names) + log.variant, return_inverse=True)
    size = np.bincount(cell)
    if size.max() == 1:
        return log
    mean = np.bincount(cell, log.outcome) / size  # NaN if an outcome is open
    last = np.zeros(len(size), np.int64)
    np.maximum.at(last, cell, np.arange(rows))
    merged = log._replace(outcome=log.outcome.copy())
    merged.outcome[last] = mean
    return merged.taken(np.sort(last)).noted(
        f"the rows of a variant in a block are averaged: {rows:,} rows are {len(size):,} visitors, which are compared "
        "block by block"
    )
