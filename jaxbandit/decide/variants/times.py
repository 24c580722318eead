"""Times of visitors, as numbers of any unit or as dates, and windows of the same unit."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from jaxbandit.support import decimals, durations
from jaxbandit.support.refusals import BadInput, wrong

DATE = "a date such as 2026-01-31 or 2026-01-31T12:00"


def column(values: Any, place: Any) -> tuple[np.ndarray, bool]:
    """Return times as numbers, float64[rows], and whether they are dates, whose numbers are seconds.

    Args:
      values: a column of numbers, dates, or texts of either; all of one kind.
      place: function of a row that returns where it is, for messages.
    """
    array = np.asarray(values)
    if array.dtype.kind == "M":
        times = array.astype("datetime64[us]").astype(np.float64) / 1e6
        times[np.isnat(array)] = math.nan
        dated = True
    elif array.dtype.kind in "iuf":
        times, dated = array.astype(np.float64), False
    else:
        cells = [str(value).strip() for value in array.tolist()]
        dated = bool(cells) and not _is_number(cells[0])
        kind = f"{DATE}, as in the first row" if dated else "a number, as in the first row"
        times, naive = np.empty(len(cells)), None
        for row, cell in enumerate(cells):
            try:
                times[row], zone = _date(cell) if dated else (_number(cell), None)
            except ValueError:
                wrong(place(row), cell, kind)
            if naive is not None and naive != (zone is None):
                wrong(place(row), cell, "with a time zone in all rows or in none")
            naive = zone is None
    bad = np.flatnonzero(~np.isfinite(times))
    if len(bad):
        wrong(place(int(bad[0])), str(array[bad[0]]), "a time")
    return times, dated


def moment(where: str, value: Any, dated: bool) -> float:
    """Return a time that an argument gives, in the unit of the log."""
    try:
        if dated:
            return value.timestamp() if isinstance(value, datetime) and value.tzinfo else _date(str(value).strip())[0]
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        wrong(where, value, f"{DATE}, like the times of the log" if dated else "a number, like the times of the log")
    return number


def window(where: str, value: Any, dated: bool) -> float:
    """Return the length of a window, in the unit of the times of the log."""
    if isinstance(value, timedelta):
        value = f"{value.total_seconds()}s"
    if dated and isinstance(value, str) and (length := durations.of_text(value)) is not None:
        return length
    if not dated:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if math.isfinite(number) and number >= 0:
            return number
    allowed = "such as 7d, 12h, 30m or 90s, because times are dates" if dated else "a number >= 0, because times are"
    return wrong(where, value, allowed)


def text(value: float, dated: bool) -> str:
    """Return a time as text."""
    if not dated:
        return f"{value:g}"
    try:
        shown = datetime.fromtimestamp(value, UTC)
    except (OverflowError, ValueError, OSError):
        raise BadInput(f"time {value:g} s after 1970 is not a date") from None
    return shown.strftime("%Y-%m-%d" if value % durations.UNITS["d"] == 0 else "%Y-%m-%d %H:%M")


def _is_number(cell: str) -> bool:
    return decimals.number(cell) is not None


def _number(cell: str) -> float:
    """Return a number; raise a ValueError if the text is none."""
    number = decimals.number(cell)
    if number is None or math.isnan(number):
        raise ValueError(cell)
    return number


def _date(cell: str) -> tuple[float, Any]:
    """Return seconds since 1970 and the zone; a date without a zone is taken as UTC."""
    date = datetime.fromisoformat(cell)
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp(), date.tzinfo
