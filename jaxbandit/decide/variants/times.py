"""Times of visitors, as numbers of any unit or as dates, and windows of the same unit."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from jaxbandit.support import checks, decimals, durations
from jaxbandit.support.columns import Place, refuse_first
from jaxbandit.support.refusals import BadInput, wrong

DATE = "a date such as 2026-01-31 or 2026-01-31T12:00"


def column(values: Any, place: Place) -> tuple[np.ndarray, bool]:
    """Return times as numbers, float64[rows], and whether they are dates, whose numbers are seconds since 1970."""
    array = np.asarray(values)
    dated = array.dtype.kind == "M"
    if dated:
        times = np.where(np.isnat(array), math.nan, array.astype("datetime64[us]").astype(np.float64) / 1e6)
    elif array.dtype.kind in "iuf":
        times = array.astype(np.float64)
    else:
        cells = [str(value).strip() for value in array.tolist()]
        dated = bool(cells) and decimals.number(cells[0]) is None
        times, zoned = np.empty(len(cells)), set()
        for row, cell in enumerate(cells):
            try:
                times[row], zone = _date(cell) if dated else (_number(decimals.number(cell)), None)
            except (TypeError, ValueError):
                wrong(place(row), cell, f"{DATE if dated else 'a number'}, as in the first row")
            zoned.add(zone is None)
            if len(zoned) > 1:
                wrong(place(row), cell, "with a time zone in all rows or in none")
    refuse_first(~np.isfinite(times), place, times, "a time")
    return times, dated


def moment(value: Any, dated: bool) -> float:
    """Return the time that `now` gives, in the unit of the log."""
    try:
        return _date(str(value).strip())[0] if dated else _number(value)
    except (TypeError, ValueError):
        checks.wrong("now", value, f"{DATE if dated else 'a number'}, like the times of the log")


def window(value: Any, dated: bool) -> float:
    """Return the length of a window, in the unit of the times of the log."""
    if isinstance(value, timedelta):
        value = f"{value.total_seconds()}s"
    try:
        length = durations.of_text(value) if dated else _number(value)
    except (TypeError, ValueError):
        length = None
    if length is not None and length >= 0:
        return length
    dates = "such as 7d, 12h, 30m or 90s, because times are dates"
    return checks.wrong("window", value, dates if dated else "a number >= 0, because times are")


def text(value: float, dated: bool) -> str:
    """Return a time as text."""
    if not dated:
        return f"{value:g}"
    try:
        shown = datetime.fromtimestamp(value, UTC)
    except (OverflowError, ValueError, OSError):
        raise BadInput(f"time {value:g} s after 1970 is not a date") from None
    return shown.strftime("%Y-%m-%d" if value % durations.UNITS["d"] == 0 else "%Y-%m-%d %H:%M")


def _number(value: Any) -> float:
    """Return a finite number; raise a TypeError or ValueError if it is none."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(value)
    return number


def _date(cell: str) -> tuple[float, Any]:
    """Return seconds since 1970 and the zone; a date without a zone is taken as UTC."""
    date = datetime.fromisoformat(cell)
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp(), date.tzinfo
