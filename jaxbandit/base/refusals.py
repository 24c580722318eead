"""Validation of what a user wrote in a file or on the command line. This module does not import JAX.

An error is one line that names the place, the key, the value and what is allowed. The values are plain ones, as TOML
and the command line give them; `checks` validates the arguments of factories.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

SHOWN = 60  # the most characters of a wrong value that a message repeats
MOST_BITS = 1000
NAME_BYTES = 100  # so that two names and that of an argument fit into a file name of 255 bytes


class BadInput(ValueError):
    """An input cannot be used. The message is one line that names the place, the key, the value and what is allowed."""


class Unfinished(RuntimeError):
    """The disk or a worker failed during the run. Finished results are kept, and the same call resumes."""


class RunsLeftOut(UserWarning):
    """Warning that some runs of a result failed, so that its means are taken over the remaining runs."""


def nearest(value: Any, allowed: Iterable[str]) -> str:
    """Return '; did you mean X?' for a misspelled name, or '' if no allowed name is similar."""
    from jaxbandit.base import checks  # it imports JAX, which only an error message has to pay for

    return checks.nearest(value, list(allowed))


def refuse(where: str, what: str) -> NoReturn:
    """Raise BadInput with a message of one line."""
    raise BadInput(" ".join(f"{where}{what}".split()))


def show(value: Any) -> str:
    """Return `value` as TOML would write it, cut to a readable length."""
    match value:
        case bool():
            text = str(value).lower()
        case dict():
            text = "{" + ", ".join(f"{k} = {show(v)}" for k, v in value.items()) + "}"
        case list() | tuple():
            text = "[" + ", ".join(map(show, value)) + "]"
        case str():
            text = '"' + value + '"'
        case int() if value.bit_length() > MOST_BITS:  # Python raises when it has to write thousands of digits
            text = f"an integer of {value.bit_length()} bits"
        case _:
            text = str(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def wrong(where: str, value: Any, allowed: str) -> NoReturn:
    """Raise BadInput for `value` at `where`, and say what is allowed."""
    refuse(where, f" = {show(value)}, must be {allowed}")


def known(where: str, table: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    """Raise BadInput for a key of `table` that is not allowed, and suggest the nearest one that is."""
    for key in table:
        if key not in allowed:
            near = nearest(key, allowed)
            refuse(f"{where}{key}", f": unknown key, must be one of {', '.join(allowed)}{near}")


def integer(where: str, value: Any, low: int, high: int) -> int:
    """Return an int in [low, high]."""
    if type(value) is not int or not low <= value <= high:
        wrong(where, value, f"an integer in [{low}, {high}]")
    return value


def number(where: str, value: Any) -> float:
    """Return a finite number as a float."""
    if type(value) in (int, float):
        try:
            if math.isfinite(value):
                return float(value)
        except OverflowError:  # an integer beyond the largest float
            pass
    wrong(where, value, "a finite number")


def share(where: str, value: Any) -> float:
    """Return a number in [0, 1] as a float."""
    if type(value) not in (int, float) or not 0 <= value <= 1:
        wrong(where, value, "a number in [0, 1]")
    return float(value)


def boolean(where: str, value: Any) -> bool:
    """Return true or false."""
    return value if isinstance(value, bool) else wrong(where, value, "true or false")


def text(where: str, value: Any) -> str:
    """Return a printable, non-empty string of one line, short enough for the name of a file."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        wrong(where, value, "a non-empty string of one line")
    if len(value.encode()) > NAME_BYTES:
        wrong(where, value, f"at most {NAME_BYTES} bytes long, because file names contain it")
    return value


def choice(where: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return one of `allowed`."""
    if value not in allowed:
        wrong(where, value, f"one of {', '.join(allowed)}{nearest(value, allowed)}")
    return value


def reason(error: Exception) -> str:
    """Return the cause of an error in a few words, without the path, which the caller names."""
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
