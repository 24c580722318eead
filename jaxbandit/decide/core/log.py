"""The log of a session or a search: one JSON object in each line, with a checksum of everything up to its end.

It is that of SHA-256 over what the log belongs to and all bytes of the file before it, so that a line that was altered,
removed, repeated, moved or inserted, or that is of another session, does not fit. A last line without its end is not
part of the log.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxbandit.engine.storage import files as storage
from jaxbandit.support import reading
from jaxbandit.support.refusals import BadInput
from jaxbandit.support.types import Json

LOG = "log.jsonl"
DIGITS = 16  # hexadecimal digits of a checksum
Forms = Sequence[tuple[set[str], set[str]]]  # the lists that an entry may have, and what it may have besides
REMEDY = "restore it from a copy, or let jaxbandit repair DIR keep what is sound"
_BEFORE, _AFTER = b', "sum": "', b'"}'
_SUFFIX = len(_BEFORE) + DIGITS + len(_AFTER)


class BadLog(BadInput):
    """A line of a log cannot be used; `line` counts from 1."""

    def __init__(self, path: Path, line: int, reason: str, remedy: str = REMEDY):
        super().__init__(f"{path}: line {line}: {' '.join(reason.split())}" + (f"; {remedy}" if remedy else ""))
        self.line = line


class Place(NamedTuple):
    """A place between two lines of a log."""

    lines: int  # number of lines before it
    size: int  # their size in bytes
    digest: Any  # of all bytes before it, as an object of hashlib

    @property
    def sum(self) -> str:
        """The checksum of all bytes before it."""
        return self.digest.hexdigest()[:DIGITS]


class Lines(NamedTuple):
    """The lines of a log that fit."""

    bodies: list[bytes]  # their JSON without the checksum
    end: Place  # the place after them
    marked: Place | None  # the place after as many lines as were asked for; None if there are fewer
    fault: BadLog | None  # the first line that does not fit, if there is one


def data_of(path: Path) -> bytes:
    """Return the bytes of a log, b"" if there is none."""
    try:
        return storage.read_bytes(path)
    except FileNotFoundError:
        return b""


def put_aside(path: Path, data: bytes) -> str:
    """Write the bytes of a damaged log beside it, and return the name, such as log-damaged-1.jsonl, numbered from 1."""
    names = (f"{path.stem}-damaged-{i}{path.suffix}" for i in range(1, 10**6))
    name = next(name for name in names if not (path.parent / name).exists())
    storage.write_bytes(path.parent / name, data)
    return name


def beginning(about: Any) -> Place:
    """Return the place before the first line of a log, given plain data that say what it belongs to."""
    return Place(0, 0, hashlib.sha256(json.dumps(about, sort_keys=True).encode()))


def line_of(entry: Mapping[str, Any], before: Place) -> tuple[bytes, Place]:
    """Return the line for an entry that follows a place, and the place after it."""
    return _line(json.dumps(entry, allow_nan=False).encode(), before)


def _line(body: bytes, before: Place) -> tuple[bytes, Place]:
    digest, content = before.digest.copy(), body[:-1]
    digest.update(content)
    end = _BEFORE + digest.hexdigest()[:DIGITS].encode() + _AFTER + b"\n"
    digest.update(end)
    return content + end, Place(before.lines + 1, before.size + len(content) + len(end), digest)


def log_of(bodies: Sequence[bytes], start: Place) -> tuple[bytes, Place]:
    """Return the whole log of lines without their checksums, and the place after it."""
    lines, place = [], start
    for body in bodies:
        line, place = _line(body, place)
        lines.append(line)
    return b"".join(lines), place


def split(path: Path, data: bytes, start: Place, mark: int = 0) -> Lines:
    """Return the lines of a log that fit.

    `start` is the place before its first line, and `mark` the number of lines after which the place is wanted.
    """
    bodies, end, fault = [], start, None
    marked = start if mark == start.lines else None
    *lines, torn = data.split(b"\n")
    if len(torn) > _SUFFIX and _body(torn[:-1]) is not None:
        lines.append(torn)  # more than a line without its end: the end is damaged
    for line in lines:
        body = _body(line)
        expected, after = _line(body or b"", end)
        if body is None or expected[:-1] != line:
            reason = "does not fit the lines before it: a line was altered, removed, repeated, moved or inserted"
            fault = BadLog(path, end.lines + 1, reason)
            break
        bodies.append(body)
        end = after
        if end.lines == mark:
            marked = end
    return Lines(bodies, end, marked, fault)


def _body(line: bytes) -> bytes | None:
    """Return a line without its checksum; None if it has none."""
    known = len(line) > _SUFFIX and line[-_SUFFIX:].startswith(_BEFORE) and line.endswith(_AFTER)
    return line[:-_SUFFIX] + b"}" if known else None


def entry_of(path: Path, number: int, body: bytes, forms: Forms) -> Json:
    """Return the entry of a line, counted from 1 and without its checksum; raise BadLog if it has none of the forms."""
    try:
        entry = reading.json_of(body)
    except ValueError:
        entry = {}
    for lists, more in forms if isinstance(entry, dict) else ():
        if lists <= entry.keys() <= lists | more and all(isinstance(entry[name], list) for name in lists):
            return entry
    raise BadLog(path, number, "not a line that a session has written")
