"""Arrays as .npz files, which NumPy alone can read; a digest at the end of the file notices every change of a byte.

The digest is the comment of the ZIP archive. It detects damage, not intent, so sizes are checked before memory is
allocated, and nothing is unpickled or decompressed.
"""

import hashlib
import io
import math
import threading
import zipfile
from collections.abc import Mapping
from typing import BinaryIO

import numpy as np

# NumPy parses an array's header as a Python literal, and in CPython 3.11 all threads share the parser's recursion
# counter, so concurrent reads may fail with "SystemError: AST constructor recursion depth mismatch".
_parsing = threading.Lock()

_LENGTH = 2  # bytes; the field before the comment, at the end of an archive, holds the length of the comment
_PREFIX = b"sha256:"
_COMMENT = len(_PREFIX) + 64
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_CHUNK = 2**20  # bytes


def write(file: BinaryIO, arrays: Mapping[str, np.ndarray]) -> None:
    """Write named arrays to an empty file that is open for reading and writing. Equal arrays give equal bytes."""
    if names := [name for name, array in arrays.items() if np.asarray(array).dtype.hasobject]:
        raise ValueError(f"{names[0]} holds objects, which only pickle could write")
    np.savez(file, **arrays)  # pyright: ignore[reportArgumentType]  # `allow_pickle` would be an array of this name in NumPy below 2.2
    end = file.seek(0, io.SEEK_END) - _LENGTH  # NumPy has written an empty comment
    digest = _digest(file, end)
    file.seek(end)
    file.write(_COMMENT.to_bytes(_LENGTH, "little") + _PREFIX + digest)


def encode(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return the bytes that `write` writes."""
    write(file := io.BytesIO(), arrays)
    return file.getvalue()


def read(file: BinaryIO, digest: str | None = None) -> dict[str, np.ndarray]:
    """Return the arrays of a file; `digest` is that of the whole file, if it is stored elsewhere.

    A ValueError of one line, which does not name the file, is raised if a digest differs, or the file holds anything
    but plain arrays of its size.
    """
    size = file.seek(0, io.SEEK_END)
    if digest is not None:
        if _digest(file, size) != digest.encode():
            raise ValueError("its digest differs from the stored one")
    else:
        end = size - _LENGTH - _COMMENT
        file.seek(max(end, 0))
        length, comment = file.read(_LENGTH), file.read()
        if end < 0 or length != _COMMENT.to_bytes(_LENGTH, "little") or not comment.startswith(_PREFIX):
            raise ValueError("it has no digest, so it is incomplete or was written by another version or program")
        if _digest(file, end) != comment.removeprefix(_PREFIX):
            raise ValueError("its digest differs from its content")
    try:
        with _parsing, zipfile.ZipFile(file) as archive:
            return _arrays(archive, size)
    except MemoryError:
        raise
    except Exception as error:  # the parsers of archives and of headers raise errors of many types on a crafted file
        reason = " ".join(str(error).split()) or "empty"
        raise ValueError(f"it does not hold plain arrays ({type(error).__name__}: {reason})") from None


def decode(data: bytes) -> dict[str, np.ndarray]:
    """Return the arrays in the bytes that `encode` returned; errors are those of `read`."""
    return read(io.BytesIO(data))


def _arrays(archive: zipfile.ZipFile, size: int) -> dict[str, np.ndarray]:
    """The arrays of an archive of `size` bytes."""
    members = archive.infolist()
    names = [member.filename.removesuffix(".npy") for member in members]
    if len(set(names)) < len(names) or sum(member.file_size for member in members) > size:
        raise ValueError("members overlap")
    arrays = {}
    for name, member in zip(names, members, strict=True):
        with archive.open(member) as data:
            shape, _, dtype = _HEADERS[np.lib.format.read_magic(data)](data)
            if math.prod(shape) * dtype.itemsize != member.file_size - data.tell():
                raise ValueError(f"{name} has not the size that its header says")
        with archive.open(member) as data:
            arrays[name] = np.lib.format.read_array(data, allow_pickle=False)
    return arrays


def _digest(file: BinaryIO, end: int) -> bytes:
    """The digest of the first `end` bytes of a file, as hexadecimal digits."""
    file.seek(0)
    digest = hashlib.sha256()
    while end > 0 and (part := file.read(min(end, _CHUNK))):
        digest.update(part)
        end -= len(part)
    return digest.hexdigest().encode()
