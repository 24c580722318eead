"""Numbers as text, in files and in arguments: decimal, in ASCII digits, and of a size that a float64 can hold.

Python's `float` also reads 1_0, digits of other scripts, nan and infinity, and rounds 1e-400 to 0.
"""

import math
import re

_FORM = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")  # Python refuses to read more digits


def number(text: str) -> float | None:
    """Return the number that a text is; None if it is none, and NaN if it is one that no float64 is close to.

    Those are numbers that would become infinite, and numbers that are not 0 and would become 0.
    """
    if _FORM.fullmatch(text) is None:
        return None
    return held(text, float(text))


def held(text: str, value: float) -> float:
    """Return the value of a text that is a decimal number; NaN if rounding made it infinite or 0."""
    lost = math.isinf(value) or (value == 0.0 and any(digit in "123456789" for digit in re.split("[eE]", text)[0]))
    return math.nan if lost else value


def integer(text: str) -> int | None:
    """Return the whole number of at most 4,000 digits that a text is; None if it is none."""
    return int(text) if _INTEGER.fullmatch(text) else None


def is_ambiguous(text: str) -> bool:
    """Return whether Python would read the text as a number that `number` does not, such as 1_0, inf or 1e-400."""
    found = number(text)
    if found is not None:
        return math.isnan(found)
    try:
        float(text)
    except ValueError:
        return False
    return True
