"""Which directory may be written: an empty one, or one that this package began; and by one process at a time."""

import contextlib
import os
import re
import socket
import stat
import warnings
from collections.abc import Iterator
from pathlib import Path

import filelock

from jaxbandit.engine.storage.files import TEMPORARY, read_bytes, require_regular
from jaxbandit.support.refusals import BadInput, NoLocks

LOCK = ".lock"
_HOLDER = re.compile(r"(process \d+ on .*)?", re.DOTALL)  # what a lock file contains, or nothing if it is just created
_TEMPORARY = re.compile(re.escape(TEMPORARY).replace(r"\{\}", "[0-9a-f]{16}"))


def require_ours(directory: Path, *marks: str) -> bool:
    """Return whether a directory was begun before; raise a ValueError of one line unless a command may write into it.

    It may be missing, or empty, hidden files included, or hold a file that matches one of the patterns `marks`. It may
    be a link, but nothing in it, because everything in it is ours to replace.
    """
    if not directory.is_dir():
        if os.path.lexists(directory):
            raise BadInput(f"{directory}: is a file, must be a directory; give another one")
        return False
    top = sorted(directory.iterdir())
    for path in top:
        _require_plain(path)
    begun = any(path for mark in marks for path in directory.glob(mark))
    if not begun and (foreign := [path.name for path in top if not _passing(path)]):
        raise BadInput(
            f"{directory}: holds files of others ({foreign[0]}), must be empty or hold {' or '.join(marks)} of an "
            "earlier call; give another directory"
        )
    if begun:
        for folder, folders, names in os.walk(directory):
            for name in (*folders, *names):
                _require_plain(Path(folder, name))
    return begun


@contextlib.contextmanager
def locked(directory: Path, *marks: str) -> Iterator[None]:
    """Hold an exclusive lock on a directory that `require_ours` permits, and create the directory if it is missing.

    On file systems without locks, a warning says that other processes are not excluded (NoLocks). Temporary files of a
    killed process are removed.
    """
    require_ours(directory, *marks)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / LOCK
    require_regular(path, alone=True)
    lock = filelock.FileLock(path, fallback_to_soft=False)  # a soft lock would outlive a process that is killed
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        holder = _holder(path) or "another process"
        raise BadInput(f"{directory}: in use by {holder}; wait until it has ended, or give another directory") from None
    except OSError as error:
        if error.filename is not None:  # the file cannot be opened; otherwise it cannot be locked
            raise
        remedy = "see to it that no other process uses it at the same time"
        warnings.warn(f"{directory}: its file system has no locks; {remedy}", NoLocks, stacklevel=3)
    try:
        path.write_text(f"process {os.getpid()} on {socket.gethostname()}")
        require_ours(directory, *marks)
        tidy(directory)
        yield
    finally:
        path.unlink(missing_ok=True)  # before the release, so that a process that has just opened it sees it is gone
        lock.release()


def tidy(directory: Path) -> None:
    """Remove the temporary files that killed processes have left in a directory of ours."""
    for path in directory.iterdir():
        if _TEMPORARY.fullmatch(path.name):
            path.unlink(missing_ok=True)


def _require_plain(path: Path) -> None:
    """Raise a ValueError of one line unless the path is a regular file or a directory."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:  # another process has just removed it
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        kind = "a link" if stat.S_ISLNK(mode) else "neither a file nor a directory"
        raise BadInput(f"{path}: is {kind}, which no call of ours writes; remove it or give another directory")


def _holder(path: Path) -> str:
    """Return what a lock file says about the process that holds it, or nothing if that process has just removed it."""
    try:
        return read_bytes(path).decode(errors="replace")
    except FileNotFoundError:
        return ""


def _passing(path: Path) -> bool:
    """Whether this is a file that exists only while a directory is begun: the lock, or a temporary file."""
    if path.name != LOCK:
        return bool(_TEMPORARY.fullmatch(path.name))
    try:
        return bool(_HOLDER.fullmatch(_holder(path)))
    except OSError:
        return False
