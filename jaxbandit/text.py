"""Formatting of numbers and tables as text."""

import math
from collections.abc import Collection, Sequence


def align(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """Return rows as an aligned table whose first row is the heading; the columns in `right` are flush right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def number(value: float) -> str:
    """Return a number of samples as text, with commas and without decimals from a thousand on."""
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.1f}"


def with_interval(value: float, low: float | None = None, high: float | None = None) -> str:
    """Return a number as text, with its interval if it has one; the width of the interval sets the decimals."""
    if low is None or high is None:
        return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"
    half = (high - low) / 2
    places = 1 - round(math.log10(half)) if math.isfinite(half) and half > 0 else 1
    places = min(max(places, 0), 12)
    return f"{value:,.{places}f} [{low:,.{places}f}, {high:,.{places}f}]"
