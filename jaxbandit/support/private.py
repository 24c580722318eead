"""The user's cache directory, and whether another user could have put something there that this user would trust.

Compiled code and recorded scores are used as they are found, and whoever may write in a directory above a private one
can put another one in its place.
"""

import os
import stat
import sys
from pathlib import Path


def cache_directory() -> Path:
    """Return the user's cache directory of jaxbandit, following the convention of the platform, without links."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or ("~/Library/Caches" if sys.platform == "darwin" else "~/.cache")
    return Path(os.path.abspath(Path(base).expanduser())) / "jaxbandit"


def make_directory(path: Path) -> None:
    """Create a directory and the missing ones above it, in which only this user may write, whatever the umask is."""
    for level in (*reversed(path.parents), path):
        if not level.exists():
            level.mkdir(mode=0o700, exist_ok=True)


def distrust(path: Path) -> str:
    """Return why another user could have written a directory or a file, in a few words; "" if nobody could.

    Every level up to the root of the file system must belong to this user or to root, and nobody else may write in it,
    except with the sticky bit, as in /tmp. A link may lead to the absolute path, but not away from it. Access through
    Windows is not examined. An OSError is raised if a level cannot be examined.
    """
    real = path.resolve()
    above = dict.fromkeys((*reversed(path.parents), *reversed(real.parents), path))
    reasons = (_distrust(level, level.lstat(), shared=True) for level in above)
    return next(filter(None, reasons), "") or _distrust(real, real.lstat(), shared=False)


def distrust_entry(path: Path) -> str:
    """Return why an entry of a private directory cannot be this user's own regular file; "" if it can be.

    Its mode says nothing, because nobody else reaches it there. An OSError is raised if there is none.
    """
    status = path.lstat()
    return _owner(path, status) or ("" if stat.S_ISREG(status.st_mode) else f"{path} is no regular file")


def _distrust(path: Path, status: os.stat_result, shared: bool) -> str:
    """The same for one level, given its status; `shared` is whether the sticky bit lets others write in it."""
    mode = status.st_mode
    if (reason := _owner(path, status)) or stat.S_ISLNK(mode) or (shared and mode & stat.S_ISVTX):
        return reason
    if hasattr(os, "getuid") and (mode & stat.S_IWOTH or (mode & stat.S_IWGRP and not _is_alone(path, status))):
        return f"others may write {path} (mode {stat.S_IMODE(mode):04o})"
    return ""


def _owner(path: Path, status: os.stat_result) -> str:
    foreign = hasattr(os, "getuid") and status.st_uid not in (os.getuid(), 0)
    return f"{path} belongs to another user" if foreign else ""


def _is_alone(path: Path, status: os.stat_result) -> bool:
    """Whether the group is that of this user alone, as on systems whose umask lets the group write."""
    import grp
    import pwd

    if "system.posix_acl_access" in getattr(os, "listxattr", lambda *_, **__: [])(path):
        return False  # the bits of the group then speak of everybody on the list
    try:
        group, name = grp.getgrgid(status.st_gid), pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return False
    return group.gr_name == name and set(group.gr_mem) <= {name}
