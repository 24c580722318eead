"""A log of ours that grows by whole lines, written by one process at a time, of which no byte of another one is cut.

The file itself is locked while it is open, because others may remove a lock file beside it. Without locks, a line is
withdrawn if another process wrote at the same time.
"""

import contextlib
import os
from pathlib import Path

from jaxbandit.engine.storage import files
from jaxbandit.support.refusals import BadInput, refuse

try:
    import fcntl
except ImportError:  # Windows, where nobody can remove the lock file of a directory while it is open
    fcntl = None


class OpenLog:
    """A log while it is open."""

    def __init__(self, path: Path, read: int, end: int):
        """Open or create a log that had `read` bytes when it was read, lock it, and cut it off at `end` bytes.

        BadInput is raised if another process has opened it, or has written since.
        """
        self.path = path
        self._process = os.getpid()
        self._tried = b""  # what this process has last tried to write
        self._descriptor: int | None = files.open_in_place(path)
        try:
            self._alone = self._lock(self._descriptor)
            self._require_named(self._descriptor)
            if os.fstat(self._descriptor).st_size != read:
                refuse(str(path), ": another process has just written it; open it again")
            if end < read:
                if not self._alone:
                    refuse(
                        str(path),
                        ": ends in an unfinished line, and this file system has no locks, so that another process may "
                        f"be writing it; if none is, jaxbandit repair {path.parent} removes the line",
                    )
                os.ftruncate(self._descriptor, end)
        except BaseException:
            self.close()
            raise

    def append(self, data: bytes, at: int, sync: bool) -> None:
        """Write a line at the end of a log of `at` bytes; a line after that, which was interrupted, is removed.

        If it raises an OSError or a ValueError, nothing of the line remains, at the latest after the next call.
        """
        descriptor = self._descriptor
        if descriptor is None or os.getpid() != self._process:
            reason = "was closed" if descriptor is None else f"is open in process {self._process}"
            raise ValueError(f"{self.path.parent}: {reason}, so that nothing can be written; open it again")
        self._require_named(descriptor)
        if (size := os.fstat(descriptor).st_size) < at:
            raise ValueError(f"{self.path}: has {size} bytes, must have {at}: it was cut while it was open")
        if size > at:
            self._withdraw(descriptor, at)
        self._tried = data
        try:
            written = os.write(descriptor, data)
            if written < len(data):
                raise OSError(f"{self.path}: {written} of {len(data)} bytes written")
            begin = os.lseek(descriptor, 0, os.SEEK_CUR) - written
            if begin != at:  # without locks: another process has written since we looked
                if begin + written == os.fstat(descriptor).st_size:
                    os.ftruncate(descriptor, begin)
                self._other()
            if sync:
                os.fsync(descriptor)
        except OSError:
            with contextlib.suppress(BadInput):
                self._withdraw(descriptor, at)
            raise
        self._require_named(descriptor)

    def _withdraw(self, descriptor: int, at: int) -> None:
        """Remove what stands after `at` bytes if this process has written it; otherwise raise BadInput."""
        # Not pread, which Windows lacks; what is written is appended wherever the file is read.
        os.lseek(descriptor, at, os.SEEK_SET)
        if not self._tried.startswith(os.read(descriptor, len(self._tried) + 1)):
            self._other()
        os.ftruncate(descriptor, at)

    def _other(self) -> None:
        remedy = "nothing of this call was written; close the directory in one of them, and open it again"
        refuse(str(self.path), f": another process wrote while it was open here; {remedy}")

    def _require_named(self, descriptor: int) -> None:
        """Raise BadInput if the path no longer names the file that is open, so that what is written would be lost."""
        try:
            if os.path.samestat(os.fstat(descriptor), self.path.lstat()):
                return
        except FileNotFoundError:
            pass
        refuse(str(self.path), ": was removed or replaced while it was open, so that what is told now would be lost")

    def _lock(self, descriptor: int) -> bool:
        """Lock the file and return whether no other process can have it open; raise BadInput if one has."""
        if fcntl is None:
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            refuse(str(self.path), ": in use by another process; wait until it has ended, or give another directory")
        except OSError:  # `directories.locked` has said so
            return False
        return True

    @property
    def is_open(self) -> bool:
        """Whether it was not closed."""
        return self._descriptor is not None

    def sync(self) -> None:
        """Wait until all lines are on the disk."""
        assert self._descriptor is not None
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Close the file, so that nothing is written to another one that gets its descriptor."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
