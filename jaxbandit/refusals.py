"""Refusals of what a user wrote: one line that says where, key, value got, what is allowed. Imports no JAX.

The values are plain ones, as TOML and the command line have them; `checks` judges the arguments of a factory.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

SHOWN = 60  # characters of a refused value worth repeating
MOST_BITS = 1000
NAME_BYTES = 100  # two names and an argument's fit into the 255 bytes of a file's name


class BadInput(ValueError):
    """What the user gave cannot be used; the message is one line: where, key, value got, what is allowed."""


class Unfinished(RuntimeError):
    """The disk failed under way. What is finished is kept, and the same call continues."""


class RunsLeftOut(UserWarning):
    """Some runs of a result went wrong, and its means leave them out."""


def nearest(value: Any, allowed: Iterable[str]) -> str:
    """Return '; did you mean X?' for a misspelt name, or '' when nothing is near."""
    from jaxbandit import checks  # it imports JAX: only a refusal pays for it

    return checks.nearest(value, list(allowed))


def refuse(where: str, what: str) -> NoReturn:
    """Raise BadInput with one line."""
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
        case int() if value.bit_length() > MOST_BITS:  # Python refuses to write thousands of digits
            text = f"an integer of {value.bit_length()} bits"
        case _:
            text = str(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def wrong(where: str, value: Any, allowed: str) -> NoReturn:
    """Refuse `value` at `where`, saying what is allowed."""
    refuse(where, f" = {show(value)}, must be {allowed}")


def known(where: str, table: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    """Refuse a key of `table` that is not allowed, with the nearest one that is."""
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
        wrong(where, value, f"at most {NAME_BYTES} bytes long, since files are named for it")
    return value


def choice(where: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return one of `allowed`."""
    if value not in allowed:
        wrong(where, value, f"one of {', '.join(allowed)}{nearest(value, allowed)}")
    return value


def reason(error: Exception) -> str:
    """Return what went wrong in a few words, without the path that the caller names anyway."""
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
