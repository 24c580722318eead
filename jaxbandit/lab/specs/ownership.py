"""Whether this user began a directory: what names code outside the package is signed with a secret of the user.

A directory that somebody sent cannot have this signature, so the code that it names is not run without being asked to.
"""

import hashlib
import hmac
import json
import os
import secrets
import stat
import sys
import tempfile
from pathlib import Path

from jaxbandit.support.refusals import BadInput, reason, unwritable
from jaxbandit.support.types import Table

SIGNATURE = "signature"  # name of a signature in files
SIZE = 32  # bytes of the secret


def secret_path() -> Path:
    """Return the path of this user's secret, following the convention of the platform."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    else:
        local = "~/Library/Application Support" if sys.platform == "darwin" else "~/.local/state"
        base = os.environ.get("XDG_STATE_HOME") or local
    return Path(base).expanduser() / "jaxbandit" / "secret"


def sign(spec: Table) -> str:
    """Return this user's signature of a spec, given as plain data; the first call makes the secret."""
    path = secret_path()
    try:
        if not os.path.lexists(path):
            _make(path)
        return _signature(_secret(path), spec)
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home directory
        if isinstance(error, OSError):
            unwritable(str(path), error, "give a directory of yours as XDG_STATE_HOME")
        raise BadInput(f"{path}: cannot be written ({reason(error)})") from None


def is_signed(content: Table) -> bool:
    """Return whether `content` holds a `spec` and this user's signature of it."""
    spec, signature = content.get("spec"), content.get(SIGNATURE)
    if not isinstance(spec, dict) or not isinstance(signature, str) or not signature.isascii():
        return False
    try:
        return hmac.compare_digest(_signature(_secret(secret_path()), spec), signature)
    except (OSError, RuntimeError, BadInput):
        return False


def _signature(secret: bytes, spec: Table) -> str:
    return hmac.new(secret, json.dumps(spec, sort_keys=True).encode(), hashlib.sha256).hexdigest()


def _make(path: Path) -> None:
    """Write a new secret, unless another process does so at the same time."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent)  # only the user may read it
    try:
        with open(descriptor, "wb") as file:
            file.write(secrets.token_bytes(SIZE))
        os.link(temporary, path)  # unlike a rename, this replaces nothing
    except FileExistsError:
        pass
    finally:
        os.unlink(temporary)


def _secret(path: Path) -> bytes:
    """Return the secret; raise BadInput if others may know or choose it."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    with open(descriptor, "rb") as file:
        about = os.fstat(file.fileno())
        ours = not hasattr(os, "getuid") or (about.st_uid == os.getuid() and not about.st_mode & 0o077)
        secret = file.read(SIZE + 1)
    if not stat.S_ISREG(about.st_mode) or not ours or len(secret) != SIZE:
        raise BadInput(f"{path}: must be a file of {SIZE} bytes that only you can read; delete it")
    return secret
