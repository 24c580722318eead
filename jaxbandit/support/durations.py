"""Lengths of time, as numbers of seconds or as text such as "90s", "2h" or "7d"."""

import math
import re
from typing import Any

from jaxbandit.support.refusals import refuse, show

UNITS = {"s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_FORM = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(s|min|m|h|d|w)\s*")


def seconds(where: str, name: str, value: Any) -> float:
    """Return a length of time in seconds, from a number >= 0 or one with a unit: s, min (or m), h, d, w."""
    if isinstance(value, str) and (length := of_text(value)) is not None:
        return length
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
        return float(value)
    refuse(where, f': {name} = {show(value)}, must be a number of seconds >= 0, or a text such as "90s" or "2h"')
    return None


def of_text(text: str) -> float | None:
    """Return the seconds of a text such as "2h", None if it is none."""
    match = _FORM.fullmatch(text)
    return None if match is None else float(match[1]) * UNITS[match[2]]
