"""Numbers of a comparison as text; "?" where they are not known."""

import math
from collections.abc import Callable


def percent(value: float) -> str:
    """Return a share as text, in percent."""
    return f"{100 * value:.{1 if abs(value) >= 0.1 else 2}f} %" if math.isfinite(value) else "?"


def with_sign(value: float, shown: Callable[[float], str]) -> str:
    """Return a number as text with its sign."""
    return f"+{shown(value)}" if value >= 0 and math.isfinite(value) else shown(value)


def ends(low: float, high: float, shown: Callable[[float], str]) -> str:
    """Return an interval as text."""
    return f"{shown(low)} to {shown(high)}" if math.isfinite(low) or math.isfinite(high) else "?"


def length_of(time: float) -> str:
    """Return a length of time as text, with two digits at least."""
    return f"{time:,.0f}" if time >= 10 else f"{time:.2g}"
