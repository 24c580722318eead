"""Compiled programs kept between commands, in the user's cache directory: a command run again compiles nothing.

It is JAX's own cache, which knows a program by its code, its compiler's options and versions. Here is where it lies and
what keeps it harmless. Code compiled on one machine may not run on another, so that machines which share a home
directory have a directory each kind of processor; nobody else can write there; what is damaged is deleted and compiled
again; the oldest goes where all takes too much room. A cache that cannot be written is none, and nothing is said of it.
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

LIMIT = 256 * 2**20  # bytes, at the start of a command; the programs of one command come on top
# The user's own settings in JAX go before ours.
SETTINGS = ("JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_COMPILATION_CACHE")
CPUINFO = Path("/proc/cpuinfo")
# Of its lines, what compiled code depends on.
PROCESSOR = ("vendor_id", "cpu family", "model", "flags", "CPU implementer", "CPU part", "CPU variant", "Features")
# JAX's warnings of an entry; it compiles instead.
UNUSABLE = re.compile(r"Error (reading|writing) persistent compilation cache entry for '(\w+)'")
_used: list[Path] = []  # the directory, once it is used; one of the user's own is left alone


def use() -> None:
    """Keep what this process compiles. To be called before JAX is imported, by a process that is a command of ours."""
    if any(name in os.environ for name in SETTINGS):
        return
    try:
        directory = root() / processor()
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.stat()
        if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
            return  # what is there is run: only from a directory that is the user's alone
        trim(root())
    except (OSError, RuntimeError):  # or there is no home
        return
    _used.append(directory)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(directory)
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


def root() -> Path:
    """Return the directory of all that we keep, as the platform has it."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or ("~/Library/Caches" if sys.platform == "darwin" else "~/.cache")
    return Path(base).expanduser() / "jaxbandit"


def processor() -> str:
    """Return a name of this kind of processor and of the compiler, equal where one's code runs as the other's."""
    import importlib.metadata  # slow to import, and help need not wait for it

    about = [platform.system(), platform.machine(), platform.processor()]
    with contextlib.suppress(ImportError):  # known to the cache too
        about.append(importlib.metadata.version("jaxlib"))
    with contextlib.suppress(OSError):
        first = CPUINFO.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
        about += [line for line in first.splitlines() if line.partition(":")[0].strip() in PROCESSOR]
    return "xla-" + hashlib.sha256("\n".join(about).encode()).hexdigest()[:16]


def trim(directory: Path, limit: int = LIMIT) -> None:
    """Delete the oldest entries in the directories of a directory until half of the limit is left, if it is passed."""
    entries = list(_entries(directory))
    total = sum(size for _, size, _ in entries)
    if total <= limit:
        return
    for _, size, path in sorted(entries):
        with contextlib.suppress(OSError):  # of another process, meanwhile
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
    """Whether a warning is JAX's of an entry that cannot be used; one that cannot be read is deleted."""
    found = UNUSABLE.match(message)
    if found is None:
        return False
    if found[1] == "reading":  # as when a process was killed while it wrote; the message names the function alone
        for path in (path for directory in _used for path in directory.glob(f"{found[2]}-*-cache")):
            with contextlib.suppress(OSError):
                path.unlink()
    return True
