"""Compiled programs are cached in the user's cache directory, so that repeating a command does not compile again.

This is the persistent compilation cache of JAX. This module chooses its location, one directory per kind of processor,
deletes damaged entries and the oldest ones beyond a limit, and does without it if it cannot be written or if another
user could have written in it (`support/private.py`), because its code is executed.

The limit is not JAX's own, `jax_compilation_cache_max_size`: JAX then reads the whole directory before each entry that
it writes. Below JAX 0.12, a process killed between the two files of an entry makes all later writing fail.
"""

import contextlib
import hashlib
import os
import platform
import re
from collections.abc import Iterator
from pathlib import Path

from jaxbandit.support import private, text

LIMIT = 256 * 2**20  # bytes, checked at the start of a command; what the command itself compiles may exceed it
# If the user has configured the cache of JAX, that configuration is used.
SETTINGS = ("JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_COMPILATION_CACHE")
CPUINFO = Path("/proc/cpuinfo")
# The entries of CPUINFO on which compiled code depends.
PROCESSOR = ("vendor_id", "cpu family", "model", "flags", "CPU implementer", "CPU part", "CPU variant", "Features")
# The warning of JAX about an unusable entry; it then compiles the program.
UNUSABLE = re.compile(r"Error (reading|writing) persistent compilation cache entry for '(\w+)'")
_used: list[Path] = []  # the directory, once it is in use; never one that the user has configured


def use() -> None:
    """Cache what this process compiles. Must be called before JAX is imported, in a process of the command line."""
    if any(name in os.environ for name in SETTINGS):
        return
    try:
        directory = private.cache_directory() / processor()
        private.make_directory(directory)
        if reason := distrust(directory):
            remedy = "make it your own, or set XDG_CACHE_HOME to a directory that is"
            text.say(f"compiled programs are not cached, because {reason}; {remedy}")
            return
        if not os.access(directory, os.W_OK):
            return
        directory = directory.resolve()  # these levels have been checked; a link could be changed
        trim(directory.parent)
    except (OSError, RuntimeError):  # RuntimeError: there is no home directory
        return
    _used.append(directory)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(directory)
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


def distrust(directory: Path) -> str:
    """Return why the compiled code in a directory may be another user's; "" if it cannot be."""
    above = private.distrust(directory.parent) or private.distrust(directory)
    return above or next(filter(None, map(private.distrust_entry, directory.iterdir())), "")


def processor() -> str:
    """Return a name for the kind of processor and the compiler; machines with the same name can share compiled code."""
    import importlib.metadata  # imported here because it is slow, and --help does not need it

    about = [platform.system(), platform.machine(), platform.processor()]
    with contextlib.suppress(ImportError):  # the cache of JAX distinguishes versions, too
        about.append(importlib.metadata.version("jaxlib"))
    with contextlib.suppress(OSError):
        first = CPUINFO.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
        about += [line for line in first.splitlines() if line.partition(":")[0].strip() in PROCESSOR]
    return "xla-" + hashlib.sha256("\n".join(about).encode()).hexdigest()[:16]


def trim(directory: Path, limit: int = LIMIT) -> None:
    """If the cache exceeds its limit, delete the oldest entries until it takes at most half of the limit."""
    entries = list(_entries(directory))
    total = sum(size for _, size, _ in entries)
    if total <= limit:
        return
    for _, size, path in sorted(entries):
        with contextlib.suppress(OSError):  # another process may have deleted it
            path.unlink()
        total -= size
        if total <= limit // 2:
            return


def _entries(directory: Path) -> Iterator[tuple[float, int, Path]]:
    for path in directory.glob("*/*-cache"):
        with contextlib.suppress(OSError):
            status = path.stat()
            yield status.st_mtime, status.st_size, path


def warns_of_entry(message: str) -> bool:
    """Return whether JAX warns of an unusable cache entry; an entry that cannot be read is deleted."""
    match = UNUSABLE.match(message)
    if match is None:
        return False
    # An entry is damaged if a process was killed while writing it; the message gives only the name of the function.
    if match[1] == "reading":
        for path in (path for directory in _used for path in directory.glob(f"{match[2]}-*-cache")):
            with contextlib.suppress(OSError):
                path.unlink()
    return True
