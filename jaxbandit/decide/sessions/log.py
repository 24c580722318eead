"""The log of a session: one JSON object in each line, with a checksum of everything up to the end of that line.

The checksum begins with the content of session.json. So a line that was altered, removed, repeated, moved or inserted,
or that is of another session, does not fit. A last line without its end was never finished, and is not part of the log.
Sessions that were begun before there were checksums go on without them.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.base.contract import Offer
from jaxbandit.support import reading
from jaxbandit.support.refusals import BadInput
from jaxbandit.support.types import Json, PyTree

LOG = "log.jsonl"
DIGITS = 16  # hexadecimal digits of a checksum
# The entries: lists that they have, and what they may have besides.
Forms = Sequence[tuple[set[str], set[str]]]
FORMS: Forms = (
    ({"ask"}, {"limit", "context", "contexts", "id"}),  # arms; with contexts, the first id
    ({"tell", "rewards"}, set()),
    ({"withdraw"}, set()),
    ({"expire"}, set()),
    ({"amend", "rewards"}, set()),
    ({"outside", "rewards"}, set()),  # arms and rewards of pulls that no ask returned, which get the next ids
    ({"close"}, set()),  # arms
    ({"open"}, set()),
)
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
    digest: Any  # of everything before it, as an object of hashlib; None in a log without checksums

    @property
    def sum(self) -> str:
        """The checksum of the line before it; "" in a log without checksums."""
        return "" if self.digest is None else self.digest.hexdigest()[:DIGITS]


class Lines(NamedTuple):
    """The lines of a log that fit."""

    bodies: list[bytes]  # their JSON without the checksum
    end: Place  # the place after them
    marked: Place | None  # the place after as many lines as were asked for; None if there are fewer
    fault: BadLog | None  # the first line that does not fit, if there is one


def beginning(about: Mapping[str, Any], chained: bool) -> Place:
    """Return the place before the first line of the log of a session, given the content of its session.json."""
    content = json.dumps([about["identity"], about["meta"]], sort_keys=True)
    return Place(0, 0, hashlib.sha256(content.encode()) if chained else None)


def line_of(entry: Mapping[str, Any], before: Place) -> tuple[bytes, Place]:
    """Return the line for an entry that follows a place, and the place after it."""
    body = json.dumps(entry, allow_nan=False).encode()
    return _line(body, before)


def _line(body: bytes, before: Place) -> tuple[bytes, Place]:
    if before.digest is None:
        return body + b"\n", Place(before.lines + 1, before.size + len(body) + 1, None)
    digest = before.digest.copy()
    digest.update(body)
    line = body[:-1] + _BEFORE + digest.hexdigest()[:DIGITS].encode() + _AFTER + b"\n"
    return line, Place(before.lines + 1, before.size + len(line), digest)


def joined(bodies: Sequence[bytes], start: Place) -> tuple[bytes, Place]:
    """Return the whole log of lines without their checksums, and the place after it."""
    lines, place = [], start
    for body in bodies:
        line, place = _line(body, place)
        lines.append(line)
    return b"".join(lines), place


def split(path: Path, data: bytes, start: Place, mark: int = 0) -> Lines:
    """Return the lines of a log that fit.

    Args:
      path: path of the log, for messages.
      data: its content.
      start: the place before its first line.
      mark: the number of lines after which the place is wanted.
    """
    bodies, end, fault = [], start, None
    marked = start if mark == 0 else None
    *lines, torn = data.split(b"\n")
    if start.digest is not None and len(torn) > _SUFFIX and _body(torn[:-1]) is not None:
        lines.append(torn)  # more than a line without its end: the end is damaged
    for line in lines:
        body = line if start.digest is None else _body(line)
        expected, after = _line(body or b"", end)
        if expected[:-1] != line:
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


def entry_of(path: Path, number: int, body: bytes, forms: Forms = FORMS) -> Json:
    """Return the entry of a line.

    Args:
      path: path of the log, for messages.
      number: number of the line, counted from 1.
      body: the line without its checksum.
      forms: the lists that a line may have, and what it may have besides.

    Raises:
      BadLog: it is not such a line.
    """
    try:
        entry = reading.json_of(body)
    except ValueError:
        entry = {}
    for lists, more in forms if isinstance(entry, dict) else ():
        if lists <= entry.keys() <= lists | more and all(isinstance(entry[name], list) for name in lists):
            return entry
    raise BadLog(path, number, "not a line that a session has written")


def plain_context(context: PyTree) -> Any:
    """Return a context as plain data, from which `context_of` rebuilds it."""
    if context is None or type(context) in (bool, int, float):
        return context
    if isinstance(context, dict):
        return {key: plain_context(value) for key, value in context.items()}
    if isinstance(context, Offer):
        return {"offer": [plain_context(context.available), plain_context(context.features)]}
    if isinstance(context, tuple):
        return {"tuple": [plain_context(value) for value in context]}
    if isinstance(context, list):
        return [plain_context(value) for value in context]
    array = np.asarray(context)
    return {"array": array.tolist(), "dtype": str(array.dtype)}


def context_of(plain: Any, chained: bool) -> PyTree:
    """Return the context that `plain_context` returned as plain data; in logs without checksums, lists are arrays."""
    if isinstance(plain, list):
        return [context_of(value, chained) for value in plain] if chained else np.asarray(plain)
    if not isinstance(plain, dict):
        return plain
    if plain.keys() == {"array", "dtype"}:
        return np.array(plain["array"], plain["dtype"])
    if plain.keys() == {"offer"}:
        return Offer(*(context_of(value, chained) for value in plain["offer"]))
    if plain.keys() == {"tuple"}:
        return tuple(context_of(value, chained) for value in plain["tuple"])
    return {key: context_of(value, chained) for key, value in plain.items()}
