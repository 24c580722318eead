"""Turn the exceptions of a command's work into errors with a one-line message."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jaxbandit.refusals import BadInput, Unfinished, reason

FULL = (errno.ENOSPC, errno.EDQUOT)  # errors of a full disk, which occur only while writing


@contextmanager
def bad_input() -> Iterator[None]:
    """Report errors from reading directories and papers as bad input, but a full disk as unfinished work."""
    try:
        yield
    except (ValueError, OSError) as error:
        if getattr(error, "errno", None) in FULL:
            raise Unfinished(f"{error}; the results are kept; run the same command to resume") from None
        if isinstance(error, BadInput) or "\n" in str(error):
            raise
        raise BadInput(str(error)) from None


@contextmanager
def figures(directory: Path, again: str) -> Iterator[None]:
    """Report a disk error while figures are written; the results are kept, and `again` is the command to draw them."""
    try:
        yield
    except OSError as error:
        told = f"the results are kept, and `{again}` draws the figures"
        raise Unfinished(f"{directory}: the figures cannot be written ({reason(error)}); {told}") from None
