"""Repair of a session's directory whose log is refused: what is sound is kept, and the damaged log stays beside it."""

from pathlib import Path

from jaxbandit.base.contract import Algorithm
from jaxbandit.decide.core.log import LOG, BadLog, log_of, put_aside
from jaxbandit.decide.sessions import stored as files
from jaxbandit.decide.sessions.saving import fold, session_of
from jaxbandit.decide.sessions.snapshot import SNAPSHOT
from jaxbandit.decide.sessions.stored import Book, Stored, start_of
from jaxbandit.engine.storage import directories
from jaxbandit.engine.storage import files as storage
from jaxbandit.support import reading


def repair_session(path: str | Path, rule: Algorithm | None = None) -> str:
    """Make the directory of a session whose log is refused one that opens again; return a line on what was changed.

    From the first line on that is damaged, or for which the rule does not ask, the log is dropped. The log as it was is
    kept in the directory under another name, log-damaged-1.jsonl or the next free number.

    Args:
      path: path of the directory, which must not be open.
      rule: the algorithm of the session. With None it is not checked that the rule asks for the pulls of the log.

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
                fold(stored._replace(lines=stored.lines._replace(bodies=_bodies(stored, sound))), fresh)
            except BadLog as fault:
                sound = _sound(stored, fault.line - 1)
        bodies = _bodies(stored, sound)
        rewards = sum(len(event.rewards or ()) for event in sound.events if event.kind != "amend")
        lost = _count(stored.data) - rewards
        whole = stored.lines.fault is None
        missing = stored.closed["lines"] - stored.end.lines if whole and not stored.continues() else 0
        torn = whole and stored.end.size < len(stored.data)
        if bodies == stored.lines.bodies and whole and stored.continues() and not torn:
            return f"{path}: nothing to repair, the log of {len(bodies)} lines is sound"
        name = put_aside(path / LOG, stored.data)
        (path / files.CERTIFICATE).unlink(missing_ok=True)  # it tells where the damaged log ended
        (path / SNAPSHOT).unlink(missing_ok=True)
        storage.write_bytes(path / LOG, log_of(bodies, start_of(stored.about))[0])
    changes = [f"{rewards} rewards in {len(bodies)} lines are kept"]
    if torn:
        changes.append("an unfinished line at the end is removed")
    if lost:
        changes.append(f"{lost} rewards in damaged lines or after them are lost")
    if missing > 0:
        changes.append(f"of the lines at the last close, {missing} are missing at the end")
    return f"{path}: {'; '.join(changes)}; the log as it was is in {name}"


def _sound(stored: Stored, most: int | None = None) -> Book:
    """The first `most` lines, up to the first one that is damaged."""
    book = Book(stored)
    for number in range(1, len(stored.lines.bodies[:most]) + 1):
        try:
            book.enter(stored.event(number))
        except (BadLog, TypeError):  # TypeError: an id that is a list
            break
    return book


def _bodies(stored: Stored, sound: Book) -> list[bytes]:
    return stored.lines.bodies[: len(sound.events)]


def _count(data: bytes) -> int:
    """The number of rewards in a log, also in lines that are damaged but can still be read."""
    number = 0
    for line in data.split(b"\n"):
        try:
            entry = reading.json_of(line)
            number += 0 if "amend" in entry else len(entry["rewards"])
        except (ValueError, KeyError, TypeError):
            continue
    return number
