"""A session in a directory: a log on the disk, written before each change takes effect, from which it is rebuilt.

`stored.py` says which files there are. If a process is killed, the last line of its log may be incomplete. That line
never took effect, and is dropped.
"""

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.base.contract import Algorithm
from jaxbandit.decide.sessions import stored as files
from jaxbandit.decide.sessions.ask_tell import accept, ask, expire, ids_to_expire, receive, tell, withdraw
from jaxbandit.decide.sessions.corrections import (
    accept_amended,
    accept_outside,
    amend,
    close_arms,
    corrected,
    open_arms,
    received_outside,
    tell_outside,
)
from jaxbandit.decide.sessions.log import LOG, BadLog, Place, context_of, entry_of, line_of, plain_context
from jaxbandit.decide.sessions.pulls import WITHDRAWN, Pulls
from jaxbandit.decide.sessions.saving import identity_of, require_same, session_of
from jaxbandit.decide.sessions.session import Session, session
from jaxbandit.decide.sessions.stored import ABOUT, Stored
from jaxbandit.engine.storage import directories
from jaxbandit.engine.storage.appending import OpenLog
from jaxbandit.support import checks
from jaxbandit.support.refusals import BadInput
from jaxbandit.support.types import ArrayLike, Json, PyTree

AGAIN = "a version that waited for each reward asked here again for a withdrawn pull, whose context is now forgotten"
CALLS = {"withdraw": withdraw, "expire": expire, "close": close_arms, "open": open_arms}  # by the name in the log


class _Now(NamedTuple):
    """The session and the place in its log that belongs to it; both change at once, whatever interrupts a call."""

    session: Session
    end: Place
    asks: int  # number of calls that added pulls


class SessionDirectory:
    """A session whose changes are written to the disk before they take effect, opened by `session_directory`.

    Its methods may be called by several threads, which take turns.
    """

    def __init__(self, path: Path, log: OpenLog, meta: Mapping[str, Any], session: Session, asked: list[list[Any]],
                 end: Place):  # fmt: skip
        self.path = path
        self.asked = asked  # arms of all pulls in the order of their ids, grouped by the call that first returned them
        self.meta = dict(meta)
        # Whether the certificate is stored, because whoever reads the directory does not have the rule.
        self.certifies = "spec" not in meta
        self._log = log
        self._now = _Now(session, end, len(asked))
        self._turn = threading.RLock()

    @property
    def session(self) -> Session:
        """The session as it is now."""
        return self._now.session

    def ask(self, limit: int | None = None, *, context: PyTree = None, contexts: PyTree = None) -> Pulls:
        """Return the pulls to make now, as `jaxbandit.ask`. Those with a context are on the disk when it returns."""
        with self._turn:
            before = self.session
            after, pulls = ask(before, limit=limit, context=context, contexts=contexts)
            if _place(after) != _place(before):
                given = {"context": context, "contexts": contexts}
                more = {name: plain_context(value) for name, value in given.items() if value is not None}
                more = {"id": before.end, **more} if more else more
                number = {} if limit is None else {"limit": int(limit)}
                new = new_arms(before, pulls)
                self._write({"ask": new, **number, **more}, after, new)
            return pulls

    def tell(self, ids: ArrayLike, rewards: ArrayLike) -> None:
        """Report the rewards of pulls, as for `jaxbandit.tell`. When it returns, they are on the disk."""
        with self._turn:
            ids, values = accept(self.session, ids, rewards)
            after = receive(self.session, ids, values)
            if after is not self.session:
                self._write({"tell": ids.tolist(), "rewards": values.tolist()}, after)

    def withdraw(self, ids: ArrayLike) -> None:
        """Withdraw pending pulls, as for `jaxbandit.withdraw`."""
        with self._turn:
            after = withdraw(self.session, ids)
            self._write({"withdraw": np.atleast_1d(ids).tolist()}, after)

    def expire(self, ids: ArrayLike | None = None, *, before: int | None = None) -> None:
        """Wait no longer for the rewards of pending pulls, as for `jaxbandit.expire`."""
        with self._turn:
            ids = ids_to_expire(self.session, ids, before)
            if len(ids):
                self._write({"expire": ids.tolist()}, expire(self.session, ids))

    def amend(self, ids: ArrayLike, rewards: ArrayLike) -> None:
        """Correct rewards, as for `jaxbandit.amend`. When it returns, they are on the disk."""
        with self._turn:
            ids, values = accept_amended(self.session, ids, rewards)
            after = corrected(self.session, ids, values)
            if after is not self.session:
                self._write({"amend": ids.tolist(), "rewards": values.tolist()}, after)

    def tell_outside(self, arms: ArrayLike, rewards: ArrayLike) -> None:
        """Report rewards of other pulls, as for `jaxbandit.tell_outside`. When it returns, they are on the disk."""
        with self._turn:
            arms, values = accept_outside(self.session, arms, rewards)
            after = received_outside(self.session, arms, values)
            if after is not self.session:
                self._write({"outside": arms.tolist(), "rewards": values.tolist()}, after, arms.tolist())

    def close_arms(self, arms: ArrayLike) -> None:
        """Close arms, as for `jaxbandit.close_arms`."""
        with self._turn:
            after = close_arms(self.session, arms)
            self._write({"close": np.atleast_1d(arms).tolist()}, after)

    def open_arms(self, arms: ArrayLike) -> None:
        """Open arms that were closed, as for `jaxbandit.open_arms`."""
        with self._turn:
            after = open_arms(self.session, arms)
            self._write({"open": np.atleast_1d(arms).tolist()}, after)

    def store_place(self) -> None:
        """Store where the log ends, so that lines that are lost later on are missed."""
        with self._turn, contextlib.suppress(OSError):
            self._log.sync()
            files.write_certificate(self.path, self.session, self._now.end, shown=False)

    def store_certificate(self) -> None:
        """Store where the log ends, and the certificate if reports cannot rebuild the session."""
        with self._turn, contextlib.suppress(OSError):  # the log is complete, and the next close writes the file
            self._log.sync()  # the file must not know of lines that are not yet on the disk
            files.write_certificate(self.path, self.session, self._now.end, self.certifies)

    def close(self) -> None:
        """Close the log: from now on nothing can be written."""
        with self._turn:
            self._log.close()

    def _write(self, entry: Json, after: Session, new: list[Any] | None = None) -> None:
        """Append a line to the log, and go on with the session after it.

        One with rewards or contexts waits until it and all earlier lines are on the disk. Others can be repeated.
        """
        now = self._now
        del self.asked[now.asks :]  # of a call that was interrupted
        line, end = line_of(entry, now.end)
        self._log.append(line, now.end.size, sync="rewards" in entry or "id" in entry)
        self.asked += [new] if new else []
        self._now = _Now(after, end, len(self.asked))


@contextlib.contextmanager
def session_directory(
    path: str | Path,
    rule: Algorithm,
    *,
    seed: int = 0,
    run: int = 0,
    paired: bool = False,
    on_failure: float | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Iterator[SessionDirectory]:
    """Open the session in a directory, or begin a new one there. The directory is locked against other processes.

    Args:
      path: path of the directory, which is created if it does not exist.
      rule: the algorithm. For an existing session, it must be the one with which the session was begun.
      seed: as for `session`.
      run: as for `session`.
      paired: as for `session`.
      on_failure: as for `session`.
      meta: plain data to store in session.json, such as a description of the arms. For an existing session it must be
        equal to the stored data, or None.

    Raises:
      ValueError: the directory holds another session, its log cannot be read, or another process has opened it.
    """
    path = Path(path)
    fresh = session(rule, seed=seed, run=run, paired=paired, on_failure=on_failure)
    with directories.locked(path, ABOUT):
        here = identity_of(fresh)
        if not (path / ABOUT).exists():
            files.write_about(path, here, meta or {})
        stored = files.read(path)
        require_same(path, stored.about["identity"], here)
        if meta is not None and stored.about["meta"] != json.loads(json.dumps(meta)):
            raise BadInput(f"{path}: of another session: the description of its arms differs; give another path")
        replayed = _replayed(stored, fresh)  # before anything is changed
        log = OpenLog(path / LOG, len(stored.data), stored.end.size)
        store = SessionDirectory(path, log, stored.about["meta"], *replayed, stored.end)
        try:
            if stored.end.lines > stored.closed.get("lines", 0):  # the last process did not close it
                store.store_place()
            yield store
            store.store_certificate()
        finally:
            store.close()


def read_session(path: str | Path, rule: Algorithm) -> Session:
    """Return the session in a directory without locking it, so that another process may keep it open.

    Raises:
      ValueError: the directory holds no session or one of another rule, or its log cannot be read.
    """
    stored = files.read(Path(path))
    return _replayed(stored, session_of(stored.path, stored.about["identity"], rule))[0]


def _replayed(stored: Stored, session: Session) -> tuple[Session, list[list[Any]]]:
    """The session after the lines of its log, and the arms of the pulls that it returned.

    Raises:
      BadLog: a line does not fit, or the rule does not ask for the pulls of a line.
    """
    stored.require_whole()
    return replay(stored.path / LOG, session, stored.lines.bodies, stored.chained)


def replay(path: Path, session: Session, bodies: Sequence[bytes], chained: bool) -> tuple[Session, list[list[Any]]]:
    """Return the session after these lines of a log, and the arms of the pulls that each `ask` returned first.

    Raises:
      BadLog: the rule does not ask for the pulls of a line, or a line is not one that a session writes.
    """
    asked = []
    for number, body in enumerate(bodies, 1):
        entry = entry_of(path, number, body)
        try:
            if "ask" in entry:
                before, limit = session, entry.get("limit")
                given = {name: context_of(entry[name], chained) for name in ("context", "contexts") if name in entry}
                if entry.get("id", before.end) != before.end or (before.asks is not None and not given):
                    raise OtherPulls
                drawn = before.programs.kind == "draws" and not before.batch.choices
                if drawn and limit not in (None, len(entry["ask"])):
                    raise OtherPulls  # before as many are drawn as a damaged limit says
                if before.programs.kind == "batch" and limit is not None and not given:
                    # Versions that asked for nothing ahead of a plan wrote the limit as it was given.
                    most, number = checks.integer("ask", "limit", limit, 1), len(before.batch.waiting)
                    limit = number + len(entry["ask"]) if entry["ask"] else max(min(most, number), 1)
                    if limit > most:
                        raise OtherPulls
                if given and not entry["ask"]:
                    raise BadLog(path, number, AGAIN, "")
                session, pulls = ask(before, limit=limit, **given)
                new = new_arms(before, pulls)
                if new != entry["ask"]:
                    raise OtherPulls
                asked += [new] if new else []
            elif "tell" in entry:
                session = tell(session, entry["tell"], entry["rewards"])
            elif "outside" in entry:
                session = tell_outside(session, entry["outside"], entry["rewards"])
                asked += [entry["outside"]]
            elif "amend" in entry:
                session = amend(session, entry["amend"], entry["rewards"])
            else:
                [(call, given)] = entry.items()
                session = CALLS[call](session, given)
        except BadLog:
            raise
        except OtherPulls:
            reason = "the rule asks for other pulls than it did; the rule or JAX has another version"
            raise BadLog(path, number, reason, "") from None
        except ValueError as error:
            raise BadLog(path, number, str(error)) from None
        except Exception as error:  # what JAX and a rule make of numbers that no session has written
            raise BadLog(path, number, f"cannot be read ({type(error).__name__})") from None
    return session, asked


class OtherPulls(Exception):
    """The rule does not ask for the pulls of a line."""


def _place(session: Session) -> tuple[int, ...]:
    """The part of a session that `ask` may change."""
    batch = session.batch
    return session.end, int(np.sum(batch.status == WITHDRAWN))


def new_arms(before: Session, pulls: Pulls) -> list[Any]:
    """Return the arms of the pulls that no earlier `ask` returned, as written in the log; for sets, their members."""
    new = pulls.arm[pulls.id >= before.end]
    return [np.flatnonzero(row).tolist() for row in new] if new.dtype == bool else new.tolist()
