"""A session in a directory: its events are lines of a log, each written to the disk before it takes effect.

If a process is killed, the last line may be incomplete. It never took effect, and is dropped.
"""

import contextlib
import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit.base.contract import Algorithm
from jaxbandit.decide.core.log import LOG, Place, line_of
from jaxbandit.decide.sessions import stored as files
from jaxbandit.decide.sessions.changes import Changes, tell
from jaxbandit.decide.sessions.events import plain
from jaxbandit.decide.sessions.forms import copy_of, zeros_of
from jaxbandit.decide.sessions.ledger import Pulls
from jaxbandit.decide.sessions.next_pulls import ask
from jaxbandit.decide.sessions.saving import certified, identity_of, require_same, session_of
from jaxbandit.decide.sessions.session import Session, session
from jaxbandit.decide.sessions.snapshot import begin, can_be_stored, logger, open_session, write_snapshot
from jaxbandit.decide.sessions.stored import ABOUT
from jaxbandit.engine.storage import directories
from jaxbandit.engine.storage.appending import OpenLog
from jaxbandit.support.refusals import BadInput
from jaxbandit.support.types import PyTree

EVERY = 4096  # lines and pulls after which a snapshot is written: a visit with a reward counts four
AT_CLOSE = 1024  # as many when a directory is closed


class _Now(NamedTuple):
    """The session and the place in its log that belongs to it; both change at once, whatever interrupts a call."""

    session: Session
    end: Place


class SessionDirectory(Changes):
    """A session whose events are written to the disk before they take effect, opened by `session_directory`.

    It has a method for each change: `store.tell(ids, rewards)` changes its session as `jaxbandit.tell` does. Rewards
    are on the disk when the method returns. Its methods may be called by several threads, which take turns. It is open
    until `close` is called, or the `with` statement ends that it is given to.
    """

    def __init__(
        self,
        path: Path,
        log: OpenLog,
        meta: Mapping[str, Any],
        session: Session,
        end: Place,
        since: int,
        held: contextlib.ExitStack,
    ):
        self.path = path
        self.meta = dict(meta)
        # Whether the certificate is stored, because whoever reads the directory does not have the rule.
        self.certifies = "spec" not in meta
        self._log = log
        self._now = _Now(session.but(sole=session.contextual), end)
        self._lent = True  # whether somebody else may hold the state of the session
        self._since = since  # lines after the last snapshot, and of rules that decide on single pulls their pulls
        self._held = held  # the log and the lock of the directory
        self._turn = threading.RLock()

    def __enter__(self) -> "SessionDirectory":
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is None:
            self.close()
        self._release()

    @property
    def session(self) -> Session:
        """The session as it is now."""
        with self._turn:
            now, self._lent = self._sound(), True
            return now.but(sole=False) if now.sole else now

    def ask(self, limit: int | None = None, *, context: PyTree = None, contexts: PyTree = None) -> Pulls:
        """Return the pulls to make now, as `jaxbandit.ask`. Those with a context are on the disk when it returns."""
        with self._turn:
            after, pulls = ask(self._sound(), limit=limit, context=context, contexts=contexts)
            self._write(after)
            return pulls

    def store_place(self) -> None:
        """Store where the log ends, so that lines that are lost later on are missed."""
        self._store(None)

    def store_certificate(self) -> None:
        """Store where the log ends, and the certificate if reports cannot rebuild the session."""
        self._store((lambda: certified(self._sound())) if self.certifies else None)
        with self._turn:
            self._take_snapshot(AT_CLOSE)

    def close(self) -> None:
        """Store the certificate, and let others open the directory; from now on nothing can be written here."""
        with self._turn:
            try:
                if self._log.is_open:
                    self.store_certificate()
            finally:
                self._release()

    def warm_up(self, context: PyTree = None) -> None:
        """Compile now what the next `ask` and `tell` need, so that no visitor waits for it; nothing is written.

        Args:
          context: one like those of the visitors, of a rule with contexts that does not declare their form.
        """
        with self._turn:
            now = self._sound()
            if now.contextual and context is None:
                context = zeros_of(now.programs.context_shape())
            after, pulls = ask(now, context=context, limit=None)
            if len(pulls.id) and now.sole:  # the buffers of a copy are given away
                after = after.but(state=copy_of(after.state))
            low, high = now.programs.limits
            tell(after, pulls.id, np.full(len(pulls.id), min(max(0.0, low), high)))

    def _release(self) -> None:
        with self._turn:
            self._held.close()

    def _store(self, content: Callable[[], Any] | None) -> None:
        with self._turn, contextlib.suppress(OSError):  # the log is complete, and the next close writes the file
            self._log.sync()  # the file must not know of lines that are not yet on the disk
            files.write_certificate(self.path, self._now.end, content)

    def _change(self, function: Callable[..., Session], *given: Any, **options: Any) -> None:
        with self._turn:
            now = self._sound()
            if self._lent and now.sole:
                now = now.but(state=copy_of(now.state))
                self._now = self._now._replace(session=now)
            self._lent = False
            self._write(function(now, *given, **options))

    def _sound(self) -> Session:
        """The session, read again if a call that did not end has given the buffers of its state away."""
        now = self._now
        if any(isinstance(x, jax.Array) and x.is_deleted() for x in jax.tree.leaves(now.session.state)):
            fresh = session_of(self.path, files.read_about(self.path)["identity"], now.session.rule)
            again = open_session(self.path, fresh, now.end.lines)[1]  # without the line of that call
            self._now, self._lent = now._replace(session=again.but(sole=True)), False
        return self._now.session

    def _take_snapshot(self, least: int) -> None:
        """Write a snapshot if the last one is so far away, so that no start repeats more decisions."""
        if self._since < least or not can_be_stored(self._now.session):
            return
        self._since = 0
        try:
            self._log.sync()
            write_snapshot(self.path, *self._now)
        except Exception as error:  # the log is complete, and only the next start is longer
            logger.warning("%s: no snapshot was written (%s)", self.path, error)

    def _write(self, after: Session) -> None:
        """Append the last event of a session to the log if it is new; one with rewards or contexts waits for it."""
        now = self._now
        if after is now.session:
            return
        event = after.events.last
        line, end = line_of(plain(event), now.end)
        self._log.append(line, now.end.size, sync=event.rewards is not None or event.contextual)
        self._now = _Now(after, end)
        self._since += 1 + (0 if event.ids is None or after.programs.kind == "batch" else len(event.ids))
        self._take_snapshot(EVERY)


def session_directory(
    path: str | Path,
    rule: Algorithm,
    *,
    seed: int = 0,
    run: int = 0,
    paired: bool = False,
    on_failure: float | None = None,
    meta: Mapping[str, Any] | None = None,
) -> SessionDirectory:
    """Open the session in a directory, or begin a new one there. The directory is locked against other processes.

    The result is closed by its `close`, or at the end of a `with` statement.

    Args:
      path: path of the directory, which is created if it does not exist.
      rule: the algorithm. For an existing session, it must be the one with which the session was begun.
      seed, run, paired, on_failure: as for `session`.
      meta: plain data to store in session.json, such as a description of the arms. For an existing session it must be
        equal to the stored data, or None.

    Raises:
      ValueError: the directory holds another session, its log cannot be read, or another process has opened it.
    """
    path = Path(path)
    digests = begin(path)
    fresh = session(rule, seed=seed, run=run, paired=paired, on_failure=on_failure)
    with contextlib.ExitStack() as held:  # until it is handed over
        held.enter_context(directories.locked(path, ABOUT))
        if not (path / ABOUT).exists():
            files.write_about(path, identity_of(fresh), meta or {})
        about = files.read_about(path)
        require_same(path, about["identity"], identity_of(fresh))
        if meta is not None and about["meta"] != json.loads(json.dumps(meta)):
            raise BadInput(f"{path}: of another session: the description of its arms differs; give another path")
        stored, now = open_session(path, fresh, digests=digests)  # before anything is changed
        log = OpenLog(path / LOG, stored.size, stored.end.size)
        held.callback(log.close)
        since = 2 * len(stored.lines.bodies)
        store = SessionDirectory(path, log, about["meta"], now, stored.end, since, held.pop_all())
    try:
        if stored.end.lines > stored.closed.get("lines", 0):  # the last process did not close it
            store.store_place()
    except BaseException:
        store._release()
        raise
    return store


def read_session(path: str | Path, rule: Algorithm) -> Session:
    """Return the session in a directory without locking it, so that another process may keep it open.

    Raises:
      ValueError: the directory holds no session or one of another rule, or its log cannot be read.
    """
    path = Path(path)
    digests = begin(path)
    return open_session(path, session_of(path, files.read_about(path)["identity"], rule), digests=digests)[1]
