"""What the directory or the file of a session holds, read and checked without its rule, running no code of it.

session.json      the rule, its options, versions, and the caller's description of the arms
log.jsonl         a line for each event of the session, in their order: `changes.FORMS`
snapshot.npz      a cache of the session after some of these lines (`snapshot.py`); it may be missing or deleted
certificate.json  where the log ended when the session was last closed, with the certificate for reports on a
                  session whose rule is not stored, or is code that a report does not run

A file of `save_session` holds the same one after another: a line like session.json, the log, and a line `closed`.
"""

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.decide.core.log import (
    LOG,
    REMEDY,
    BadLog,
    Lines,
    Place,
    beginning,
    data_of,
    entry_of,
    line_of,
    log_of,
    split,
)
from jaxbandit.decide.sessions.changes import FORMS
from jaxbandit.decide.sessions.events import COLUMNS, Event, event_of
from jaxbandit.decide.sessions.rewards import LARGEST
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage import json_files
from jaxbandit.support import reading
from jaxbandit.support.refusals import BadInput, refuse
from jaxbandit.support.types import Json, Table

ABOUT = "session.json"
CERTIFICATE = "certificate.json"
SCHEMA = 2  # of session.json, and of files
LAST = "closed"  # key of the last line of a file
OF_FILE = f"{storage.RESTORE}, or read in its lines what can still be read of its rewards"
Arm = int | list[int]  # an arm, or the arms of a set


class Stored(NamedTuple):
    """What is stored of a session."""

    path: Path  # of the directory or the file
    log: Path  # of the file that holds the log
    about: Json  # `identity` and `meta`
    data: bytes  # of the log
    lines: Lines  # that fit, of these data
    closed: Json  # where the log ended at the last close, perhaps with the certificate; {} if that is not known
    start: Place  # before these data and lines: the beginning of the log, or the place of a snapshot
    remedy: str = REMEDY  # what to do if it is damaged

    @property
    def end(self) -> Place:
        """The end of the lines that fit."""
        return self.lines.end

    @property
    def size(self) -> int:
        """The size of the log in bytes when it was read."""
        return self.start.size + len(self.data)

    def first(self, lines: int) -> "Stored":
        """The same without the lines that follow so many lines of the log."""
        return self._replace(lines=self.lines._replace(bodies=self.lines.bodies[: lines - self.start.lines]))

    @property
    def certified(self) -> bool:
        """Whether `closed` has the certificate of the session as it is."""
        return "certificate" in self.closed and self.closed["log_bytes"] == self.end.size and self.continues()

    def require_whole(self) -> None:
        """Raise a ValueError of one line if a line of the log does not fit, or lines are missing at its end."""
        if self.lines.fault is not None:
            raise self.lines.fault
        if not self.continues():
            count, end = self.closed["lines"], self.end.lines
            reason = "is the last one" if end < count else "is another one"
            raise BadLog(self.log, min(count, end), f"{reason}, but there were {count} lines at the last close")

    def event(self, number: int) -> Event:
        """Return the event in a line, counted from 1; raise BadLog if it holds none."""
        entry = entry_of(self.log, number, self.lines.bodies[number - 1 - self.start.lines], FORMS)
        try:
            return event_of(entry)
        except Exception as error:  # of a context that no session has written
            reason = f"its context cannot be read ({type(error).__name__})"
            raise BadLog(self.log, number, reason, self.remedy) from None

    @property
    def numbers(self) -> range:
        """The numbers of the lines."""
        return range(self.start.lines + 1, self.start.lines + len(self.lines.bodies) + 1)

    def continues(self) -> bool:
        """Whether the log goes on from where it was when the session was last closed."""
        if "lines" not in self.closed:
            return True
        place = self.lines.marked
        return place is not None and (place.size, place.sum) == (self.closed["log_bytes"], self.closed["sum"])


class Book:
    """The pulls and rewards of a log, in the order in which its events are entered; it needs no rule."""

    def __init__(self, stored: Stored):
        self._log, self._num_arms = stored.log, stored.about["identity"].get("num_arms")
        if type(self._num_arms) is not int or self._num_arms < 1:
            raise BadInput(f"{stored.path}: num_arms = {self._num_arms}, must be an integer >= 1")
        self.events: list[Event] = []  # each with the ids of its pulls
        self.arms: list[Arm] = []  # by id
        self.rewards: dict[int, float] = {}  # by id, in the order of telling
        self.waits: set[int] = set()  # ids of the pulls that wait for a reward

    def enter(self, event: Event) -> None:
        """Enter the next event; raise BadLog if an arm, an id or a reward is none, or contradicts an earlier one."""
        number, end = len(self.events) + 1, len(self.arms)
        new = event.kind == "ask" or COLUMNS[event.kind] == ("arms", "rewards")
        members = [arm for action in event.arms or () for arm in (action if isinstance(action, list) else [action])]
        if not all(type(arm) is int and 0 <= arm < self._num_arms for arm in members):
            raise BadLog(self._log, number, f"an arm is not in [0, {self._num_arms})")
        ids = range(end, end + len(event.arms)) if new else event.ids or ()
        if not new and not all(type(id_) is int and 0 <= id_ < end for id_ in ids):
            raise BadLog(self._log, number, f"an id is none of the {end} pulls that were asked for")
        if event.rewards is not None:
            self._enter_rewards(number, ids, event.rewards, corrected=event.kind == "amend")
        if new:
            self.arms += event.arms
        if event.kind == "ask":
            self.waits.update(ids)
        else:
            self.waits.difference_update(ids)
        self.events.append(event._replace(ids=ids))

    def _enter_rewards(self, number: int, ids: Sequence[int], rewards: Sequence[Any], corrected: bool) -> None:
        if len(rewards) != len(ids) or not all(type(x) in (int, float) and abs(x) <= LARGEST for x in rewards):
            raise BadLog(self._log, number, f"must have a finite reward for each of {len(ids)} ids")
        for id_, reward in zip(ids, rewards, strict=True):
            if corrected and id_ not in self.rewards:
                raise BadLog(self._log, number, f"id = {id_} has no reward that could be corrected")
            if corrected:
                self.rewards[id_] = reward
            elif (before := self.rewards.setdefault(id_, reward)) != reward:
                raise BadLog(self._log, number, f"id = {id_} has reward {reward}, but {before} in an earlier line")


def book_of(stored: Stored) -> Book:
    """Return the book in which the events of a log are entered; raise BadLog if one of them cannot be."""
    stored.require_whole()
    book = Book(stored)
    for number in stored.numbers:
        book.enter(stored.event(number))
    return book


def with_arrays(stored: Stored) -> Iterator[Event]:
    """Yield the events of a log as those of a session, with the ids of their pulls, and with arrays."""
    num_arms, end = stored.about["identity"]["num_arms"], 0
    for number in stored.numbers:
        event = stored.event(number)
        arms, ids = event.arms, event.ids
        if event.kind == "ask" or COLUMNS[event.kind] == ("arms", "rewards"):  # of new pulls
            ids, end = range(end, end + len(arms)), end + len(arms)
        if arms and isinstance(arms[0], list):
            arms = [np.isin(np.arange(num_arms), members) for members in arms]
        dtypes = {"ids": np.int64, "arms": np.int32 if event.kind == "ask" else np.int64, "rewards": np.float64}
        dtypes |= {"arms": bool} if arms and isinstance(arms[0], np.ndarray) else {}
        lists = {"ids": ids, "arms": arms, "rewards": event.rewards}
        yield event._replace(**{name: np.array(x, dtypes[name]) for name, x in lists.items() if x is not None})


def begin(path: Path) -> storage.Digests:
    """Begin to compute the digests of the log of a session, which takes a second for 200 MB; give it to `read`."""
    return storage.Digests(path / LOG, start_of(read_about(path)).digest)


def read(path: Path, place: Json | None = None, digests: storage.Digests | None = None) -> Stored:
    """Return what the directory of a session holds; another process may have it open.

    The data begin at a place of the log (`lines`, `size` and `sum`, the SHA-256 of all bytes before it) if it has it.
    """
    about, closed = read_about(path), _closed(path)  # before the log, which may become longer meanwhile
    data, start = None, start_of(about)
    if place is not None:
        with contextlib.suppress(FileNotFoundError):
            digest, rest = (digests or begin(path)).after(place["size"])
            if rest is not None and digest.hexdigest() == place["sum"]:
                start, data = Place(place["lines"], place["size"], digest), rest
                closed = closed if closed.get("lines", 0) >= start.lines else {}  # the place is a later one
    data = data_of(path / LOG) if data is None else data
    lines = split(path / LOG, data, start, closed.get("lines", 0))
    return Stored(path, path / LOG, about, data, lines, closed, start)


def read_file(path: Path) -> Stored:
    """Return what a file of `save_session` holds; raise a ValueError if it is damaged, incomplete or another file."""
    first, _, data = storage.read_bytes(path).partition(b"\n")
    about = _json(first)
    known = isinstance(about.get("identity"), dict) and isinstance(about.get("meta"), dict)
    if not known or about.get("schema") != SCHEMA:
        refuse(str(path), f": damaged, or not a session that was saved; {OF_FILE}")
    lines = split(path, data, start_of(about))
    if lines.fault is not None:
        refuse(str(path), f": damaged, line {lines.fault.line + 1} does not fit the lines before it; {OF_FILE}")
    closed = _json(lines.bodies[-1]).get(LAST) if lines.bodies else None
    if not isinstance(closed, dict) or len(data) != lines.end.size:
        refuse(str(path), f": damaged, its end is missing; {OF_FILE}")
    bodies, start = lines.bodies[:-1], start_of(about)
    end = log_of(bodies, start)[1]
    lines = Lines(bodies, end, end, None)
    return Stored(path, path, about, data[: end.size], lines, {**_place(end), **closed}, start, OF_FILE)


def write_file(path: Path, about: Table, entries: Sequence[Table], closed: Table) -> None:
    """Write a file that `read_file` reads, atomically."""
    parts, place = [json.dumps(about).encode() + b"\n"], start_of(about)
    for entry in (*entries, {LAST: json_files.plain(dict(closed))}):
        line, place = line_of(entry, place)
        parts.append(line)
    storage.write_bytes(path, b"".join(parts))


def _json(data: bytes) -> Json:
    """An object in JSON, {} if it is none."""
    try:
        content = reading.json_of(data)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def start_of(about: Table) -> Place:
    """The place before the first line of the log of a session."""
    return beginning([about["identity"], about["meta"]])


def about_of(identity: Table, meta: Table) -> Json:
    """The content of session.json."""
    return {"schema": SCHEMA, "identity": dict(identity), "meta": dict(meta)}


def write_about(path: Path, identity: Table, meta: Table) -> None:
    """Write session.json."""
    json_files.write_json(path / ABOUT, about_of(identity, meta))


def read_about(path: Path) -> Json:
    """Return the content of session.json: `schema`, `identity` and `meta`."""
    file = path / ABOUT
    if not file.exists():
        raise BadInput(f"{path}: holds no session")
    about = json_files.read_json(file, storage.RESTORE, SCHEMA)
    identity, meta = about.get("identity"), about.get("meta")
    if not isinstance(identity, dict) or "rule" not in identity or not isinstance(meta, dict):
        raise BadInput(f"{file}: not a file that a session has written")
    return about


def write_certificate(path: Path, end: Place, certified: Callable[[], Table] | None) -> None:
    """Write certificate.json, unless it is that of the same log; with None, without a certificate in it."""
    before = _closed(path)
    if not _place(end).items() <= before.items() or (certified is not None and "certificate" not in before):
        json_files.write_json(path / CERTIFICATE, {**_place(end), **(certified() if certified else {})})


def _place(end: Place) -> Json:
    return {"lines": end.lines, "log_bytes": end.size, "sum": end.sum}


def _closed(path: Path) -> Json:
    """Return the content of certificate.json; {} if there is none or it is damaged: the next close writes it again."""
    try:
        content = json_files.read_json(path / CERTIFICATE, storage.RECOMPUTE)
    except ValueError:
        return {}
    whole = all(type(content.get(name)) is int for name in ("lines", "log_bytes"))
    return content if whole else {}
