"""Rows of a log that are not one visitor each, but several of a unit or of a block."""

import numpy as np

from jaxbandit.decide.variants.visitors import Visitors


def one_row_each(log: Visitors, how: str, window: float | None) -> Visitors:
    """Return one row for each unit, at the place and time of its first row, without units of several variants.

    With a window, only the rows of a unit within it after its first row count, so that all units are observed for
    equally long. `how` is the argument `of_unit` of `ab`.
    """
    assert log.unit is not None
    unit, rows = log.unit, len(log.variant)
    first = np.unique(unit, return_index=True)[1]
    units = len(first)
    crossed = np.bincount(unit, log.variant != log.variant[first][unit], units) > 0
    late = np.zeros(rows, bool)
    if window is not None and log.time is not None:
        late = log.time > log.time[first][unit] + window
    counts = ~crossed[unit] & ~late
    at, y = unit[counts], log.outcome[counts]
    outcome = np.bincount(at, y, units)
    if log.per is not None:
        if how != "sum":
            raise ValueError(f"of_unit = {how!r}, must be 'sum' for a ratio, whose denominators are summed too")
        log = _with("per", log, first, np.bincount(at, log.per[counts], units))
    if how == "last":
        outcome[at] = y  # of rows of the same unit, the last one is kept
    elif how == "any":
        is_open = np.bincount(at, np.isnan(y), units) > 0
        outcome = np.where(np.bincount(at, np.nan_to_num(y) != 0, units) > 0, 1.0, np.where(is_open, np.nan, 0.0))
    kept = first[~crossed]
    if len(np.unique(log.variant[kept])) < min(len(log.names), 2):
        few = "fewer than two variants have units that were shown no other variant; which column is it?"
        raise ValueError(f"columns: unit: {few}")
    given = {"sum": "the sum of those", "any": "whether any is not 0, of those", "last": "the last one"}[how]
    beyond = f"{late.sum():,} rows come later after the first row of their unit than the window, and do not count"
    log = _with("outcome", log, first, outcome).taken(np.sort(kept))
    return log.noted(
        f"{rows:,} rows are of {units:,} units, of which each counts once, by its first row; its outcome is {given} of "
        "its rows",
        f"{crossed.sum():,} units were shown several variants, and are left out" if crossed.any() else "",
        beyond if late.any() else "",
    )


def _with(name: str, log: Visitors, rows: np.ndarray, values: np.ndarray) -> Visitors:
    """Return a log that has other values in some rows of a column."""
    every = getattr(log, name).copy()
    every[rows] = values
    return log._replace(**{name: every})


def one_row_each_of_blocks(log: Visitors) -> Visitors:
    """Return one row for each variant of a block, with the mean of its outcomes, at the place of its last row."""
    assert log.block is not None
    rows = len(log.variant)
    _, cell = np.unique(log.block * len(log.names) + log.variant, return_inverse=True)
    size = np.bincount(cell)
    if size.max() == 1:
        return log
    last = rows - 1 - np.unique(cell[::-1], return_index=True)[1]
    for name in ("outcome", "per", "covariate"):
        if (column := getattr(log, name)) is not None:
            log = _with(name, log, last, np.bincount(cell, column) / size)  # NaN if an outcome is open
    return log.taken(np.sort(last)).noted(
        f"the rows of a variant in a block are averaged: {rows:,} rows are {len(size):,} visitors, which are compared "
        "block by block"
    )
