"""Files of ours: opened only if they are regular files, and written completely or not at all. Pickle is never used.

Nothing is read or written through a link, because a directory that somebody sent may hold links to files of its reader.
"""

import contextlib
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from jaxbandit.engine.storage import npz
from jaxbandit.support import threads
from jaxbandit.support.refusals import BadInput

TEMPORARY = ".jaxbandit-{}.tmp"  # name of a file that is being written
LARGEST = 2**32  # bytes of a file that is read as a whole
PIECE = 2**23  # bytes of a file that are read at a time; a thread asks Python for its turn after each
# What a message about a damaged file tells its reader to do. Whoever reads a file says which of the two its content is:
RECOMPUTE = "delete it to compute it again"  # what follows from something that the reader still has
RESTORE = "it is kept as it is; restore it from a copy"  # what was measured, of which there may be no other copy
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # opens a pipe that has taken the place of a file without waiting
_HERE = getattr(os, "O_NOFOLLOW", 0)  # Windows has no such flag; there only the check before opening protects


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path` atomically: if the process is killed, either the old or the new file remains."""
    with replacing(path) as file:
        file.write(data)


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write named arrays to an .npz file atomically. Equal arrays result in equal bytes."""
    with replacing(path) as file:
        npz.write(file, arrays)


def read_bytes(path: Path) -> bytes:
    """Return the content of a regular file; a link, a directory or a device raises a ValueError of one line."""
    with _opened(path) as file:
        if (size := os.fstat(file.fileno()).st_size) > LARGEST:
            raise BadInput(
                f"{path}: has {size / 2**30:,.1f} GiB, must have at most {LARGEST / 2**30:g}; it is not ours"
            )
        return file.read()


class Digests:
    """Computes the digests of the beginnings of a regular file while its caller does something else."""

    def __init__(self, path: Path, digest: Any):
        """Begin; the bytes of the file follow what a digest of hashlib has already taken in."""
        self._path, self._digests, self._seen = path, [digest], None
        self._thread = threads.start(self._read, name="reading of a log")

    def _read(self) -> None:
        """Keep the digest after each whole piece of the file."""
        with contextlib.suppress(OSError, BadInput), _opened(self._path) as file:  # `after` says what is wrong
            self._seen = _version(file)
            while len(piece := file.read(PIECE)) == PIECE:
                digest = self._digests[-1].copy()
                digest.update(piece)
                self._digests.append(digest)

    def after(self, size: int) -> tuple[Any, bytes | None]:
        """Return the digest after the first `size` bytes, and what follows these; None if the file has fewer."""
        self._thread.join()
        with _opened(self._path) as file:
            if _version(file) != self._seen:  # written to meanwhile
                del self._digests[1:]
                self._read()
            pieces = min(size // PIECE, len(self._digests) - 1)
            digest = self._digests[pieces].copy()
            file.seek(pieces * PIECE)
            last = file.read(size - pieces * PIECE)
            digest.update(last)
            return digest, file.read() if pieces * PIECE + len(last) == size else None


def read_text(path: Path, remedy: str) -> str:
    """Return the content of a regular file of text in UTF-8; anything else raises a ValueError of one line."""
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError:
        raise BadInput(f"{path}: damaged, not text in UTF-8; {remedy}") from None


def read_arrays(path: Path, remedy: str, sha256: str | None = None) -> dict[str, np.ndarray]:
    """Read a file of `write_arrays`, whose SHA-256 digest may be stored elsewhere.

    A damaged file raises a ValueError of one line that ends in `remedy`: RECOMPUTE, RESTORE, or a clause of its own.
    """
    try:
        with _opened(path) as file:
            return npz.read(file, sha256)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise BadInput(f"{path}: damaged ({error}); {remedy}") from None


def digest(path: Path) -> str:
    """Return the SHA-256 digest of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def require_regular(path: Path, *, alone: bool = False) -> None:
    """Raise a ValueError of one line if the path is no regular file, or, if `alone`, has a second name."""
    try:
        about = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISREG(about.st_mode):
        kind = "a link" if stat.S_ISLNK(about.st_mode) else "not a regular file"
        raise BadInput(f"{path}: is {kind}, must be a regular file; remove it or give another path")
    if alone and about.st_nlink > 1:
        raise BadInput(f"{path}: has another name (a hard link), must be a file of its own; copy the directory")


def open_in_place(path: Path) -> int:
    """Return a descriptor for reading and appending; the file is created if it is missing, and may be no link."""
    require_regular(path, alone=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _HERE, 0o666)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a temporary file that replaces `path` once it is completely written to disk."""
    require_regular(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # The name cannot be guessed, and the file must be new, so that nobody can put a link in its place.
    temporary = path.with_name(TEMPORARY.format(secrets.token_hex(8)))
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | _HERE | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(descriptor, "w+b") as file:
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


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Yield the file, open for reading, if it is a regular one."""
    require_regular(path)
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _HERE | _AT_ONCE)) as file:
        yield file


def _version(file: BinaryIO) -> tuple[int, ...]:
    """What differs when another process has written to a file or has replaced it."""
    status = os.fstat(file.fileno())
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
