"""Lengths of time, as numbers of seconds or as text such as "90s", "2h" or "7d"."""

import math
import re
from typing import Any

from jaxbandit.support.domains import values

UNITS = {"s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_FORM = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(s|min|m|h|d|w)\s*")


def of_text(text: str) -> float | None:
    """Return the seconds of a text such as "2h", None if it is none."""
    match = _FORM.fullmatch(text)
    return None if match is None else float(match[1]) * UNITS[match[2]]


def _seconds(value: Any) -> float:
    length = of_text(value) if isinstance(value, str) else value
    if not isinstance(length, int | float) or isinstance(length, bool):
        raise TypeError
    return float(length)


# A length of time in seconds, from a number or one with a unit: s, min (or m), h, d, w.
SECONDS = values('a number of seconds >= 0, or a text such as "90s" or "2h"', lambda x: 0 <= x < math.inf, _seconds)
SOME_SECONDS = values('a number of seconds > 0, or a text such as "90s" or "2h"', lambda x: 0 < x < math.inf, _seconds)
