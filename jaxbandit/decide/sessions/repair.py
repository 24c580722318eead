"""Repair of a session's directory whose log is refused: what is sound is kept, and the damaged log stays beside it."""

import json
from pathlib import Path
from typing import NamedTuple

from jaxbandit.base.contract import Algorithm
from jaxbandit.decide.sessions import stored as files
from jaxbandit.decide.sessions.directory import replay
from jaxbandit.decide.sessions.log import LOG, BadLog, beginning, entry_of, joined
from jaxbandit.decide.sessions.saving import session_of
from jaxbandit.decide.sessions.stored import Book, Stored
from jaxbandit.engine.storage import directories
from jaxbandit.engine.storage import files as storage
from jaxbandit.support import reading

DAMAGED = "log-damaged-{}.jsonl"  # name of a log before its repair, numbered from 1


class _Sound(NamedTuple):
    """The lines of a log that can be kept."""

    bodies: list[bytes]  # without checksums
    rewards: int  # how many rewards they report
    second: list[int]  # ids of which a second, different reward was dropped


def repair_session(path: str | Path, rule: Algorithm | None = None) -> str:
    """Make the directory of a session whose log is refused one that opens again.

    Of an id with two different rewards, as versions without a lock between threads could log, the first is kept. From
    the first line on that is damaged, or for which the rule does not ask, the log is dropped. The log as it was is kept
    in the directory under another name, log-damaged-1.jsonl or the next free number.

    Args:
      path: path of the directory, which must not be open.
      rule: the algorithm of the session. With None it is not checked that the rule asks for the pulls of the log.

    Returns:
      What was changed, in one line.

    Raises:
      ValueError: the directory holds no session, or one of another rule, session.json is damaged, or another process
        has opened it.
    """
    path = Path(path)
    files.read_about(path)  # before a lock is put into a directory that is none of ours
    with directories.locked(path, files.ABOUT):
        stored = files.read(path)
        sound = _sound(stored)
        if rule is not None:
            fresh = session_of(path, stored.about["identity"], rule)
            try:
                replay(path / LOG, fresh, sound.bodies, stored.chained)
            except BadLog as fault:
                sound = _sound(stored, fault.line - 1)
        lost = _count(stored.data) - sound.rewards - len(sound.second)
        whole = stored.lines.fault is None
        missing = stored.closed["lines"] - stored.end.lines if whole and not stored.continues() else 0
        torn = whole and stored.end.size < len(stored.data)
        if sound.bodies == stored.lines.bodies and whole and stored.continues() and not torn:
            return f"{path}: nothing to repair, the log of {len(sound.bodies)} lines is sound"
        name = DAMAGED.format(next(i for i in range(1, 10**6) if not (path / DAMAGED.format(i)).exists()))
        storage.write_bytes(path / name, stored.data)
        start = beginning(stored.about, stored.chained)
        (path / files.CERTIFICATE).unlink(missing_ok=True)  # it tells where the damaged log ended
        storage.write_bytes(path / LOG, joined(sound.bodies, start)[0])
    changes = [f"{sound.rewards} rewards in {len(sound.bodies)} lines are kept"]
    if sound.second:
        ids = ", ".join(map(str, sound.second[:5])) + ", ..." * (len(sound.second) > 5)
        changes.append(f"a second, different reward is dropped {len(sound.second)} times (id {ids})")
    if torn:
        changes.append("an unfinished line at the end is removed")
    if lost:
        changes.append(f"{lost} rewards in damaged lines or after them are lost")
    if missing > 0:
        changes.append(f"of the lines at the last close, {missing} are missing at the end")
    return f"{path}: {'; '.join(changes)}; the log as it was is in {name}"


def _sound(stored: Stored, most: int | None = None) -> _Sound:
    """The first `most` lines, up to the first one that is damaged, without second rewards of an id."""
    book, bodies, rewards, second = Book(stored), [], 0, []
    for number, body in enumerate(stored.lines.bodies[:most], 1):
        try:
            entry = entry_of(stored.path / LOG, number, body)
            first, dropped = book.first_of(entry)
            book.enter(number, first)
        except (BadLog, TypeError):  # TypeError: an id that is a list
            break
        second += dropped
        rewards += len(first.get("tell", first.get("outside", ())))
        bodies.append(json.dumps(first).encode() if dropped else body)
    return _Sound(bodies, rewards, second)


def _count(data: bytes) -> int:
    """The number of rewards in a log, also in lines that are damaged but can still be read."""
    number = 0
    for line in data.split(b"\n"):
        try:
            entry = reading.json_of(line)
            number += len(entry["tell"] if "tell" in entry else entry["outside"])
        except (ValueError, KeyError, TypeError):
            continue
    return number
