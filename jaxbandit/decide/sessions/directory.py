"""A session in a directory: a log on the disk, written before each change takes effect, from which it is rebuilt.

    session.json      the rule, its options, versions, and the caller's description of the arms
    log.jsonl         a line for each ask that returned new pulls, each tell and each withdraw, in their order

    certificate.json  the certificate when the session was last closed, for reports on a session begun in Python, whose
                      rule is not stored

If a process is killed, the last line of its log may be incomplete. That line never took effect, and is dropped.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxbandit.base.contract import Algorithm
from jaxbandit.base.types import ArrayLike, PyTree
from jaxbandit.decide.sessions.ask_tell import accept, ask, receive, tell, withdraw
from jaxbandit.decide.sessions.pulls import Pulls
from jaxbandit.decide.sessions.saving import certified, identity_of, require_same
from jaxbandit.decide.sessions.session import Session, session
from jaxbandit.engine.storage import directories
from jaxbandit.engine.storage import files as storage

ABOUT = "session.json"
LOG = "log.jsonl"
CERTIFICATE = "certificate.json"


class SessionDirectory:
    """A session whose changes are written to the disk before they take effect, opened by `session_directory`."""

    def __init__(self, path: Path, log: int, meta: Mapping[str, Any], session: Session, asked: list[list[Any]]):
        self.path = path
        self.session = session
        self.asked = asked  # arms of all pulls in the order of their ids, grouped by the `ask` that first returned them
        self.meta = dict(meta)
        self._log = log

    def ask(self, limit: int | None = None, *, context: PyTree = None) -> Pulls:
        """Return the pulls to make now, as for `jaxbandit.ask`."""
        after, pulls = ask(self.session, limit=limit, context=context)
        if _place(after) != _place(self.session):
            given = {} if context is None else {"context": jax.tree.map(lambda x: np.asarray(x).tolist(), context)}
            number = {} if limit is None else {"limit": int(limit)}
            new = new_arms(self.session, pulls)
            self._write({"ask": new, **number, **given})
            self.asked += [new] if new else []
        self.session = after
        return pulls

    def tell(self, ids: ArrayLike, rewards: ArrayLike) -> None:
        """Report the rewards of pulls, as for `jaxbandit.tell`. When it returns, they are on the disk."""
        ids, values = accept(self.session, ids, rewards)
        after = receive(self.session, ids, values)
        if after is not self.session:
            self._write({"tell": ids.tolist(), "rewards": values.tolist()})
        self.session = after

    def withdraw(self, ids: ArrayLike) -> None:
        """Withdraw pending pulls, as for `jaxbandit.withdraw`."""
        after = withdraw(self.session, ids)
        self._write({"withdraw": np.atleast_1d(ids).tolist()})
        self.session = after

    def _write(self, entry: dict[str, Any]) -> None:
        """Append a line to the log; if it cannot be written in full, remove the part that was.

        A tell waits until it and all earlier lines are on the disk. An ask does not wait, because it can be repeated.
        """
        data, end = (json.dumps(entry, allow_nan=False) + "\n").encode(), os.fstat(self._log).st_size
        try:
            written = os.write(self._log, data)
            if written < len(data):
                raise OSError(f"{self.path / LOG}: {written} of {len(data)} bytes written")
            if "tell" in entry:
                os.fsync(self._log)
        except OSError:
            os.ftruncate(self._log, end)
            raise


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
        if (path / ABOUT).exists():
            about = read_about(path)
            require_same(path, about["identity"], here)
            if meta is not None and about["meta"] != json.loads(json.dumps(meta)):
                raise ValueError(f"{path}: of another session: the description of its arms differs; give another path")
        else:
            about = {"identity": here, "meta": dict(meta or {})}
            storage.write_bytes(path / ABOUT, (json.dumps(about, indent=1, allow_nan=False) + "\n").encode())
        log = storage.open_in_place(path / LOG)
        try:
            lines, whole = _lines(path)
            os.ftruncate(log, whole)
            store = SessionDirectory(path, log, about["meta"], *_replayed(path, fresh, lines))
            yield store
            if "spec" not in about["meta"] and about["meta"].get("kind") != "tune":
                _write_certificate(path, store.session)
        finally:
            os.close(log)


def read_session(path: str | Path, rule: Algorithm) -> Session:
    """Return the session in a directory without locking it, so that another process may keep it open.

    Raises:
      ValueError: the directory holds no session or one of another rule, or its log cannot be read.
    """
    path = Path(path)
    stored = read_about(path)["identity"]
    fresh = session(rule, **{name: stored.get(name) for name in ("seed", "run", "paired", "on_failure")})
    require_same(path, stored, identity_of(fresh))
    return _replayed(path, fresh, _lines(path)[0])[0]


def read_about(path: Path) -> dict[str, Any]:
    """Return the content of session.json: `identity` and `meta`."""
    try:
        about = json.loads((path / ABOUT).read_text(encoding="utf-8"))
        _ = about["identity"]["rule"], about["meta"]
    except OSError as error:
        raise ValueError(f"{path}: holds no session ({error.strerror})") from None
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path / ABOUT}: not a file that a session has written") from None
    return about


def _write_certificate(path: Path, session: Session) -> None:
    """Write certificate.json, unless it is that of the same log."""
    size = (path / LOG).stat().st_size
    with contextlib.suppress(OSError):  # the log is complete, and the next close writes the certificate
        if (read_certificate(path) or {}).get("log_bytes") != size:
            content = {"log_bytes": size, **certified(session)}
            storage.write_bytes(path / CERTIFICATE, (json.dumps(content, indent=1, allow_nan=False) + "\n").encode())


def read_certificate(path: Path) -> dict[str, Any] | None:
    """Return the content of certificate.json, or None if there is none or it cannot be read.

    It is of use only if `log_bytes` is the size of the complete lines of the log: `told`, `pending`, `certificate`.
    """
    try:
        content = json.loads((path / CERTIFICATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and "certificate" in content else None


def _lines(path: Path) -> tuple[list[bytes], int]:
    """The complete lines of the log, and their size in bytes."""
    try:
        data = (path / LOG).read_bytes()
    except FileNotFoundError:
        data = b""
    whole = data.rfind(b"\n") + 1
    return data[:whole].splitlines(), whole


def _replayed(path: Path, session: Session, lines: list[bytes]) -> tuple[Session, list[list[Any]]]:
    """The session after these lines, and the arms of the pulls that it returned."""
    asked = []
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
            if "ask" in entry:
                before = session
                session, pulls = ask(before, limit=entry.get("limit"), context=entry.get("context"))
                if new_arms(before, pulls) != entry["ask"]:
                    raise ValueError("the rule asks for other pulls than it did; the rule or JAX has another version")
                asked += [entry["ask"]] if entry["ask"] else []
            elif "tell" in entry:
                session = tell(session, entry["tell"], entry["rewards"])
            else:
                session = withdraw(session, entry["withdraw"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"cannot be read ({type(error).__name__})" if not isinstance(error, ValueError) else str(error)
            raise ValueError(f"{path / LOG}: line {number}: {reason}") from None
    return session, asked


def _place(session: Session) -> tuple[int, ...]:
    """The part of a session that `ask` may change."""
    batch = session.batch
    return batch.first, batch.size, batch.issued, len(batch.withdrawn)


def new_arms(before: Session, pulls: Pulls) -> list[Any]:
    """Return the arms of the pulls that no earlier `ask` returned, as written in the log; for sets, their members."""
    new = pulls.arm[pulls.id >= before.batch.first + before.batch.issued]
    return [np.flatnonzero(row).tolist() for row in new] if new.dtype == bool else new.tolist()
