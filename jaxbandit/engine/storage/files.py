"""Atomic file writes: a temporary file is written and flushed to disk, then renamed. Pickle is never used."""

import contextlib
import os
import socket
import threading
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import filelock
import numpy as np

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

    The system releases the lock when the process ends, even if it is killed. On file systems without locks, other
    processes are not excluded.

    Raises:
      ValueError: another process holds the lock. The message has one line and names the process.
    """
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / LOCK
    lock = filelock.FileLock(path, fallback_to_soft=False)  # a soft lock would outlive a process that is killed
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        holder = path.read_text(errors="replace") if path.exists() else ""
        raise ValueError(
            f"{directory}: in use by {holder or 'another process'}; wait until it has ended, or give another directory"
        ) from None
    except OSError as error:
        if error.filename is not None:  # the file cannot be opened; otherwise it cannot be locked
            raise
    try:
        path.write_text(f"process {os.getpid()} on {socket.gethostname()}")
        yield
    finally:
        path.unlink(missing_ok=True)  # before the release, so that a process that has just opened it sees it is gone
        lock.release()


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
