"""Files that are whole or absent: written beside their place, flushed to the disk, then renamed. No pickle."""

import io
import os
import threading
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

# NumPy reads an array's header as a Python literal, and CPython 3.11 counts its parser's depth once for all threads
# (SystemError: AST constructor recursion depth mismatch).
_parsing = threading.Lock()


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path` atomically; a kill at any instant leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
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


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays under their names to an .npz file, atomically. The same arrays give the same bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    write_bytes(path, buffer.getvalue())


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read what write_arrays wrote; raise ValueError in one line if the file is cut short or is something else."""
    try:
        with _parsing, open(path, "rb") as file, np.load(file, allow_pickle=False) as data:
            return {name: data[name] for name in data.files}
    except FileNotFoundError:
        raise
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: not a readable array file ({error}); delete it to compute it again") from None
