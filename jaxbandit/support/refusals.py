"""Errors about what a user gave, in a file, on the command line or in Python. This module does not import JAX.

An error is one line that names the place, the key or argument, the value and what is allowed.
"""

import errno
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NoReturn

INSIDE = re.compile(r"[/\\](jaxbandit|IPython|contextlib)[/\\.]")  # files whose lines no user has written
SHOWN = 60  # the most characters of a wrong value that a message repeats
MOST_SAID = 400  # the most characters of the message of somebody else's exception
MOST_BITS = 1000
MOST_NAME = 200  # characters of a misspelled name; comparing longer ones takes long


class BadInput(ValueError):
    """An input cannot be used. The message is one line that names the place, the key, the value and what is allowed."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the line of the user's code and the message, without what lies between them."""
        frames = [each for each in traceback.extract_tb(self.__traceback__) if not INSIDE.search(each.filename)]
        lines = "".join(traceback.format_list(frames[-1:])).splitlines()
        return [*lines, f"{type(self).__name__}: {self}"]


class BadArgument(BadInput):
    """A function cannot use an argument: the name of the function, and what is wrong, both in one line."""

    def __init__(self, function: str, what: str):
        super().__init__(function, what)
        self.function, self.what = function, what

    def __str__(self) -> str:
        return f"{self.function}: {self.what}"


class Unfinished(RuntimeError):
    """The disk or a worker failed during the run. Finished results are kept, and the same call resumes."""


class RunsLeftOut(UserWarning):
    """Warning that some runs of a result failed, so that its means are taken over the remaining runs."""


class NoLocks(UserWarning):
    """Warning that a file system has no locks, so that nothing keeps other processes out of a directory."""


MAX_FAILED = 0.1  # default fraction of the runs that may fail: means over the others say little if many are left out


FULL = (errno.ENOSPC, errno.EDQUOT)  # the errors of a disk that is full


def unwritable(where: str, error: OSError, remedy: str) -> NoReturn:
    """Raise the error of a file or directory that cannot be written; `remedy` is what to do.

    It is Unfinished if the disk is full, so that the same call succeeds once there is room, and otherwise BadInput.
    """
    if error.errno in FULL:
        raise Unfinished(f"{where}: cannot be written ({reason(error)}); make room, and run the same command again")
    refuse(where, f": cannot be written ({reason(error)}); {remedy}")


def nearest(value: object, allowed: Iterable[object]) -> str:
    """Return '; did you mean X?' for a misspelled name, or '' if no allowed name is similar."""
    if not isinstance(value, str) or len(value) > MOST_NAME:
        return ""
    import difflib  # only needed for an error message

    names = {str(a).casefold(): str(a) for a in allowed}
    close = difflib.get_close_matches(value.casefold(), names, n=1)
    return f"; did you mean {names[close[0]]!r}?" if close else ""


def refuse(where: str, what: str, error: type[ValueError] = BadInput) -> NoReturn:
    """Raise an error with a message of one line."""
    raise error(" ".join(f"{where}{what}".split()))


def show(value: object) -> str:
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


def python(value: object) -> str:
    """Return `value` as Python would write it, in one line and cut to a readable length."""
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return show(value)
    try:
        text = " ".join(repr(value).split())
    except Exception:  # another one's object, whose `__repr__` may raise anything
        text = f"a {type(value).__name__}"
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def wrong(
    where: str,
    value: object,
    allowed: str,
    *,
    written: Callable[[object], str] = show,
    error: type[ValueError] = BadInput,
) -> NoReturn:
    """Raise an error for `value` at `where`, and say what is allowed."""
    refuse(where, f" = {written(value)}, must be {allowed}", error)


def known(where: str, table: Mapping[str, object], allowed: Iterable[str]) -> None:
    """Raise BadInput for a key of `table` that is not allowed, and suggest the nearest one that is."""
    for key in table:
        if key not in allowed:
            near = nearest(key, allowed)
            refuse(f"{where}{key}", f": unknown key, must be one of {', '.join(allowed)}{near}")


def error_line(error: BaseException) -> str:
    """Return an exception of somebody else's code in one line: its type and the first line of its message."""
    try:
        text = str(error).strip()
    except Exception:  # its own __str__ fails
        text = ""
    first = next(iter(text.splitlines()), "")
    first = first if len(first) <= MOST_SAID else first[: MOST_SAID - 3] + "..."
    return f"{type(error).__name__}{': ' if first else ''}{first}"


def what_is_saved(directory: object, argument: str) -> str:
    """Return in words whether a call resumes, given the directory in which it saves, and the argument that names it."""
    if directory is None:
        return f"nothing is saved without {argument}, with which the same call would resume"
    return f"what was done is saved in {directory}; the same call resumes"


@contextmanager
def resumable(directory: object, argument: str) -> Iterator[None]:
    """Add to a KeyboardInterrupt, in its traceback, whether the same call resumes, from the directory in `argument`."""
    try:
        yield
    except KeyboardInterrupt as error:
        if not getattr(error, "__notes__", None):  # the innermost call knows best
            error.add_note(what_is_saved(directory, argument))
        raise


def reason(error: Exception) -> str:
    """Return the cause of an error in a few words, without the path, which the caller names."""
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
