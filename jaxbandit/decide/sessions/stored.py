"""What the directory of a session holds, read and checked without its rule, and without running any code of it.

session.json      the rule, its options, versions, and the caller's description of the arms
log.jsonl         a line for each call that changed the session, in their order: `log.FORMS`
certificate.json  where the log ended when the session was last closed, with the certificate for reports on a
                  session whose rule is not stored, or is code that a report does not run
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxbandit.decide.sessions.log import LOG, BadLog, Lines, Place, beginning, entry_of, split
from jaxbandit.decide.sessions.rewards import LARGEST
from jaxbandit.decide.sessions.saving import certified
from jaxbandit.decide.sessions.session import Session
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage import json_files
from jaxbandit.support.refusals import BadInput
from jaxbandit.support.types import Json, Table

ABOUT = "session.json"
CERTIFICATE = "certificate.json"
SCHEMA = 2  # of session.json; versions that wrote none had neither digests nor checksums
# The keys of these files in those versions.
EARLY_ABOUT = frozenset({"identity", "meta"})
EARLY_CERTIFICATE = frozenset({"log_bytes", "told", "pending", "certificate"})
Arm = int | list[int]  # an arm, or the arms of a set


class Stored(NamedTuple):
    """What the files of a session hold."""

    path: Path
    about: Json  # `identity` and `meta` of session.json
    data: bytes  # of the log
    lines: Lines  # that fit, of these data
    closed: Json  # content of certificate.json, {} if there is none or it is damaged

    @property
    def chained(self) -> bool:
        """Whether the lines of the log have checksums."""
        return "schema" in self.about

    @property
    def end(self) -> Place:
        """The end of the lines that fit."""
        return self.lines.end

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
            raise BadLog(self.path / LOG, min(count, end), f"{reason}, but there were {count} lines at the last close")

    def entries(self) -> list[Json]:
        """Return the entries of the log; raise a ValueError of one line if a line does not fit."""
        self.require_whole()
        return [entry_of(self.path / LOG, i, body) for i, body in enumerate(self.lines.bodies, 1)]

    def continues(self) -> bool:
        """Whether the log goes on from where it was when the session was last closed."""
        if "lines" not in self.closed:
            return True
        place = self.lines.marked
        return place is not None and (place.size, place.sum) == (self.closed["log_bytes"], self.closed["sum"])


class Book:
    """The pulls and rewards of a log, in the order in which its lines are entered; it needs no rule."""

    def __init__(self, stored: Stored):
        self._path = stored.path / LOG
        self._num_arms = stored.about["identity"].get("num_arms")
        self.arms: list[Arm] = []  # by id
        self.rewards: dict[int, float] = {}  # by id, in the order of telling
        self.waits: set[int] = set()  # ids of the pulls that wait for a reward

    def enter(self, number: int, entry: Table) -> None:
        """Enter the entry of a line.

        Raises:
          BadLog: an arm, an id or a reward is none, or an id has two different rewards that are no correction.
        """
        arms = next((entry[name] for name in ("ask", "outside", "close", "open") if name in entry), [])
        members = [arm for action in arms for arm in (action if isinstance(action, list) else [action])]
        if not all(type(arm) is int and 0 <= arm < self._num_arms for arm in members):
            raise BadLog(self._path, number, f"an arm is not in [0, {self._num_arms})")
        end = len(self.arms)
        if "ask" in entry or "outside" in entry:
            self.arms += arms
            self.waits.update(range(end, len(self.arms)))
        ids = next((entry[name] for name in ("tell", "amend", "withdraw", "expire") if name in entry), [])
        if not all(type(id_) is int and 0 <= id_ < end for id_ in ids):
            raise BadLog(self._path, number, f"an id is none of the {end} pulls that were asked for")
        ids = range(end, len(self.arms)) if "outside" in entry else ids
        if "rewards" in entry:
            self._enter_rewards(number, ids, entry["rewards"], corrected="amend" in entry)
        if "ask" not in entry:
            self.waits.difference_update(ids)

    def _enter_rewards(self, number: int, ids: Sequence[int], rewards: Sequence[Any], corrected: bool) -> None:
        if len(rewards) != len(ids) or not all(type(x) in (int, float) and abs(x) <= LARGEST for x in rewards):
            raise BadLog(self._path, number, f"must have a finite reward for each of {len(ids)} ids")
        for id_, reward in zip(ids, rewards, strict=True):
            if corrected and id_ not in self.rewards:
                raise BadLog(self._path, number, f"id = {id_} has no reward that could be corrected")
            if corrected:
                self.rewards[id_] = reward
            elif (before := self.rewards.setdefault(id_, reward)) != reward:
                raise BadLog(self._path, number, f"id = {id_} has reward {reward}, but {before} in an earlier line")

    def first_of(self, entry: Table) -> tuple[Table, list[int]]:
        """Return an entry without rewards that differ from an earlier one of the same id, and the ids of these."""
        pairs = list(zip(entry.get("tell", ()), entry.get("rewards", ()), strict=False))
        first = dict(reversed(pairs)) | self.rewards
        second = [id_ for id_, reward in pairs if first[id_] != reward]
        if not second:
            return entry, second
        same = [(id_, reward) for id_, reward in pairs if first[id_] == reward]
        return {"tell": [id_ for id_, _ in same], "rewards": [reward for _, reward in same]}, second


def book_of(stored: Stored, entries: Sequence[Table]) -> Book:
    """Return the book in which the entries of a log are entered; raise BadLog if one of them cannot be."""
    num_arms = stored.about["identity"].get("num_arms")
    if type(num_arms) is not int or num_arms < 1:
        raise BadInput(f"{stored.path / ABOUT}: num_arms = {num_arms}, must be an integer >= 1")
    book = Book(stored)
    for number, entry in enumerate(entries, 1):
        book.enter(number, entry)
    return book


def read(path: Path) -> Stored:
    """Return what the directory of a session holds; another process may have it open.

    Raises:
      ValueError: it holds no session, or session.json is damaged. The message has one line.
    """
    about, closed = read_about(path), _closed(path)  # before the log, which may become longer meanwhile
    try:
        data = storage.read_bytes(path / LOG)
    except FileNotFoundError:
        data = b""
    lines = split(path / LOG, data, beginning(about, "schema" in about), closed.get("lines", 0))
    return Stored(path, about, data, lines, closed)


def write_about(path: Path, identity: Table, meta: Table) -> None:
    """Write session.json."""
    about = {"schema": SCHEMA, "identity": dict(identity), "meta": dict(meta)}
    json_files.write_json(path / ABOUT, about)


def read_about(path: Path) -> Json:
    """Return the content of session.json: `identity`, `meta`, and `schema` unless it is of an early version.

    Raises:
      ValueError: there is none, or it is damaged. The message has one line.
    """
    file = path / ABOUT
    if not file.exists():
        raise BadInput(f"{path}: holds no session")
    about = json_files.read_json(file, storage.RESTORE, early=EARLY_ABOUT)
    identity, meta = about.get("identity"), about.get("meta")
    if not isinstance(identity, dict) or "rule" not in identity or not isinstance(meta, dict):
        raise BadInput(f"{file}: not a file that a session has written")
    if about.get("schema", SCHEMA) != SCHEMA:
        raise BadInput(f"{file}: has schema {about['schema']}, must have {SCHEMA}; use the version that wrote it")
    return about


def write_certificate(stored_at: Path, session: Session, end: Place, shown: bool) -> None:
    """Write certificate.json, unless it is that of the same log.

    Args:
      stored_at: path of the directory.
      session: the session.
      end: the end of its log.
      shown: whether to store the certificate itself.
    """
    place = {"lines": end.lines, "log_bytes": end.size, "sum": end.sum}
    before = _closed(stored_at)
    if place.items() <= before.items() and ("certificate" in before or not shown):
        return
    more = {**certified(session), "pending_ids": session.pending.tolist()} if shown else {}
    json_files.write_json(stored_at / CERTIFICATE, {**place, **more})


def _closed(path: Path) -> Json:
    """Return the content of certificate.json; {} if there is none or it is damaged: the next close writes it again."""
    file = path / CERTIFICATE
    try:
        content = json_files.read_json(file, storage.RECOMPUTE, early=EARLY_CERTIFICATE)
    except ValueError:
        return {}
    whole = all(type(content.get(name)) is int for name in ("lines", "log_bytes") if name in content)
    return content if whole and "log_bytes" in content else {}
