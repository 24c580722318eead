"""Atomic file writes: a temporary file is written and flushed to disk, then renamed. Pickle is never used."""

import contextlib
import os
import socket
import threading
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

try:
    import fcntl
except ImportError:  # not available on every system
    fcntl = None

# NumPy parses an array's header as a Python literal, and in CPython 3.11 all threads share the parser's recursion
# counter, so concurrent reads may fail with "SystemError: AST constructor recursion depth mismatch".
_parsing = threading.Lock()

LOCK = ".lock"


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path` atomically: if the process is killed, either the old or the new file remains."""
    with _replacing(path) as file:
        file.write(data)


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write named arrays to an .npz file atomically. Equal arrays result in equal bytes."""
    with _replacing(path) as file:
        np.savez(file, allow_pickle=False, **arrays)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read a file of `write_arrays`; a truncated or different file raises a ValueError with a one-line message."""
    try:
        with _parsing, open(path, "rb") as file, np.load(file, allow_pickle=False) as data:
            return {name: data[name] for name in data.files}
    except FileNotFoundError:
        raise
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: not a readable array file ({error}); delete it to compute it again") from None


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold an exclusive lock on `directory`, which is created if it is missing.

    The system releases the lock when the process ends, even if it is killed. On systems and file systems without
    locks, other processes are not excluded.

    Raises:
      ValueError: another process holds the lock. The message has one line and names the process.
    """
    directory.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    path = directory / LOCK
    descriptor = _lock(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # before the release, so that a process that has just opened it sees it is gone
        os.close(descriptor)


def _lock(path: Path) -> int:
    assert fcntl is not None
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 200, 0).decode(errors="replace") or "another process"
            os.close(descriptor)
            raise ValueError(
                f"{path.parent}: in use by {holder}; wait until it has ended, or give another directory"
            ) from None
        except OSError:  # a file system without locks
            return descriptor
        if path.exists() and os.path.samestat(os.stat(path), os.fstat(descriptor)):
            os.truncate(descriptor, 0)
            os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
            return descriptor
        os.close(descriptor)  # the previous holder has just removed the file: try again


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a temporary file that replaces `path` once it is completely written to disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{socket.gethostname()}-{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    descriptor = os.open(path.parent, os.O_RDONLY)  # the rename itself must reach the disk too
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
