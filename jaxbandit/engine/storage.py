"""Files that are whole or absent: written beside their place, flushed to the disk, then renamed. No pickle."""

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
except ImportError:  # a system without it
    fcntl = None

# NumPy reads an array's header as a Python literal, and CPython 3.11 counts its parser's depth once for all threads
# (SystemError: AST constructor recursion depth mismatch).
_parsing = threading.Lock()

LOCK = ".lock"


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path` atomically; a kill at any instant leaves the old file or the new one."""
    with _replacing(path) as file:
        file.write(data)


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays under their names to an .npz file, atomically. The same arrays give the same bytes."""
    with _replacing(path) as file:
        np.savez(file, allow_pickle=False, **arrays)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read what write_arrays wrote; raise ValueError in one line if the file is cut short or is something else."""
    try:
        with _parsing, open(path, "rb") as file, np.load(file, allow_pickle=False) as data:
            return {name: data[name] for name in data.files}
    except FileNotFoundError:
        raise
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: not a readable array file ({error}); delete it to compute it again") from None


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep other processes out of `directory`, which is made if it is missing.

    The system lets go of the lock when the process ends, however it ends. Where a system or file system has no locks,
    nobody is kept out.

    Raises:
      ValueError: another process is in there, in one line that says which.
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
        path.unlink(missing_ok=True)  # before the lock is let go: who opened the file meanwhile sees that it is gone
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
        os.close(descriptor)  # its holder has just removed the file


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` once it is written and on the disk."""
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
