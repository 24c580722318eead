"""Compiled programs are kept between commands in the user's cache directory, so a repeated command compiles nothing.

This is JAX's own compilation cache, which identifies a program by its code, compiler options and versions. This module
chooses its directory and keeps it safe. Code compiled on one machine may not run on another, so machines that share a
home directory use one directory for each kind of processor. The directory is used only if no other user can write to
it. Damaged entries are deleted and compiled again, and the oldest entries are deleted when the cache becomes too large.
If the cache cannot be written, the commands run without it and print no warning.
"""

import contextlib
import hashlib
import os
import platform
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

LIMIT = 256 * 2**20  # bytes at the start of a command; the programs of that command are added to it
# If the user has set one of these options of JAX, the cache is left as it is configured.
SETTINGS = ("JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_COMPILATION_CACHE")
CPUINFO = Path("/proc/cpuinfo")
# The lines of this file that compiled code depends on.
PROCESSOR = ("vendor_id", "cpu family", "model", "flags", "CPU implementer", "CPU part", "CPU variant", "Features")
# JAX's warnings about an entry that it cannot use; it then compiles the program.
UNUSABLE = re.compile(r"Error (reading|writing) persistent compilation cache entry for '(\w+)'")
_used: list[Path] = []  # the directory once it is used, unless the user configured one


def use() -> None:
    """Cache what this process compiles. It must be called before JAX is imported, and only by the command line."""
    if any(name in os.environ for name in SETTINGS):
        return
    try:
        directory = root() / processor()
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.stat()
        if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
            return  # cached programs are executed, so the directory must be writable by the user only
        trim(root())
    except (OSError, RuntimeError):  # RuntimeError: there is no home directory
        return
    _used.append(directory)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(directory)
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


def root() -> Path:
    """Return the cache directory of jaxbandit on this platform."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or ("~/Library/Caches" if sys.platform == "darwin" else "~/.cache")
    return Path(base).expanduser() / "jaxbandit"


def processor() -> str:
    """Return a name for the processor and the compiler, equal only for machines that can share compiled code."""
    import importlib.metadata  # slow to import, and not needed for help

    about = [platform.system(), platform.machine(), platform.processor()]
    with contextlib.suppress(ImportError):  # the key of the cache contains it too
        about.append(importlib.metadata.version("jaxlib"))
    with contextlib.suppress(OSError):
        first = CPUINFO.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
        about += [line for line in first.splitlines() if line.partition(":")[0].strip() in PROCESSOR]
    return "xla-" + hashlib.sha256("\n".join(about).encode()).hexdigest()[:16]


def trim(directory: Path, limit: int = LIMIT) -> None:
    """If the entries below a directory exceed the limit, delete the oldest until half of the limit is left."""
    entries = list(_entries(directory))
    total = sum(size for _, size, _ in entries)
    if total <= limit:
        return
    for _, size, path in sorted(entries):
        with contextlib.suppress(OSError):  # another process has deleted it
            path.unlink()
        total -= size
        if total <= limit // 2:
            return


def _entries(directory: Path) -> Iterator[tuple[float, int, Path]]:
    for path in directory.glob("*/*-cache"):
        with contextlib.suppress(OSError):
            found = path.stat()
            yield found.st_mtime, found.st_size, path


def dropped(message: str) -> bool:
    """Return whether a warning of JAX is about an unusable entry; an entry that cannot be read is deleted."""
    found = UNUSABLE.match(message)
    if found is None:
        return False
    if (
        found[1] == "reading"
    ):  # for instance after a process was killed while writing; the message names only the function
        for path in (path for directory in _used for path in directory.glob(f"{found[2]}-*-cache")):
            with contextlib.suppress(OSError):
                path.unlink()
    return True
