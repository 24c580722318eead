"""Files that a user names, opened with care and read as text, JSON or TOML. `csv_rows` reads tables.

A pipe into which nobody writes is not waited for, a device has no end and is refused, and so is a file beyond a limit.
Files of our own, in which a link would be somebody else's doing, are read by `engine.storage`.
"""

import contextlib
import json
import math
import os
import select
import stat
import tomllib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

from jaxbandit.support import decimals
from jaxbandit.support.refusals import reason, refuse, show

LARGEST = 2**28  # bytes of a file of text
LARGEST_TABLE = 2**31  # bytes of a table
CHUNK = 2**20  # bytes
PIPE_SECONDS = 5.0  # within which somebody must write into a pipe


@contextlib.contextmanager
def opened(where: str, path: Path, wanted: str, *, pipes: bool = False) -> Iterator[BufferedReader]:
    """Yield a file that is open for reading, or raise a BadInput that names `where` and what is `wanted` instead.

    It is a regular file or a link to one, or, with `pipes`, a pipe or a terminal, which can be read once.
    """
    if "\0" in str(path):
        refuse(ascii(where), f": cannot be read (the name has a null character); give {wanted}")
    # Opening a pipe in the usual way would wait for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
            descriptor = file.fileno()
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISFIFO(mode) and pipes:
                _await_writer(where, descriptor)
            elif not (stat.S_ISREG(mode) or (pipes and os.isatty(descriptor))):
                kind = "a pipe" if stat.S_ISFIFO(mode) else "a device"
                refuse(where, f": is {kind}, must be a regular file; give {wanted}")
            if hasattr(os, "O_NONBLOCK"):
                os.set_blocking(descriptor, True)
            yield file
    except OSError as error:
        if error.strerror is None:  # an error of the format of the content, such as that of gzip
            raise
        refuse(where, f": cannot be read ({reason(error)}); give {wanted}")


def _await_writer(where: str, descriptor: int) -> None:
    """Wait until somebody has written into a pipe, or closed it."""
    try:
        if not select.select([descriptor], [], [], PIPE_SECONDS)[0] and not os.read(descriptor, 1):
            refuse(where, f": is a pipe into which nobody has written for {PIPE_SECONDS:g} seconds; give a file")
    except BlockingIOError:  # somebody has opened it, and will write
        pass


def text(where: str, path: Path, wanted: str, *, largest: int | None = None) -> str:
    """Return the content of a text file, pipe or terminal in UTF-8, with or without a byte-order mark.

    A BadInput names `where` and what is `wanted` if it is none, or has more than `largest` bytes, by default `LARGEST`.
    """
    most = LARGEST if largest is None else largest
    with opened(where, path, wanted, pipes=True) as file:
        known = os.fstat(file.fileno()).st_size
        parts, size = [], known if known > most else 0
        while size <= most and (part := file.read(CHUNK)):  # a larger read would allocate as much at once
            parts.append(part)
            size += len(part)
    if size > most:
        refuse(where, f": has more than {most // 2**20:,} MiB; give {wanted}")
    data = b"".join(parts)
    del parts
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fault = f"byte 0x{data[error.start]:02x} at position {error.start}"
        refuse(where, f": is not text in UTF-8 ({fault}); save it as UTF-8, or give {wanted}")


def json_of(content: str | bytes, *, nan: bool = False) -> Any:
    """Return what JSON describes, in which NaN is a number only if `nan` says so.

    A ValueError of one line, which does not name the file, says that it is not valid, a key is given twice, or a number
    is one that no float64 is close to.
    """

    def constant(name: str) -> float:
        if name == "NaN" and nan:
            return math.nan
        raise ValueError(f"{name} is not a number of JSON")

    decoded = content.decode() if isinstance(content, bytes) else content
    try:
        return json.loads(decoded, object_pairs_hook=_distinct, parse_float=_finite, parse_constant=constant)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def toml_of(content: str) -> dict[str, Any]:
    """Return what TOML describes; a ValueError as of `json_of` says what is wrong."""
    try:
        return tomllib.loads(content, parse_float=_number)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise ValueError("tables or lists are nested too deep") from None
    except ValueError as error:  # of Python, about an integer, or ours
        ours = str(error).startswith("number ")
        raise ValueError(str(error) if ours else "an integer has thousands of digits") from None


def _number(written: str) -> float:
    """Return a float of TOML, which may contain underscores, and may be nan or inf."""
    return float(written) if written[-1] in "nf" else _finite(written.replace("_", ""))


def _finite(written: str) -> float:
    value = decimals.held(written, float(written))
    if math.isnan(value):
        raise ValueError(f"number {show(written)} is too large or too close to 0 for a float64")
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these pairs; of two equal keys nobody could say which one counts."""
    table = dict(pairs)
    if len(table) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"key {show(next(name for name in names if names.count(name) > 1))} is given twice")
    return table
