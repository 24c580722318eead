"""What a command's own work raises, turned into what the command line says of it in one line."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jaxbandit.refusals import BadInput, Unfinished, reason

FULL = (errno.ENOSPC, errno.EDQUOT)  # of the errors of a disk, those that come while one writes


@contextmanager
def bad_input() -> Iterator[None]:
    """Refusals of the parts that read directories and papers are bad input; a full disk is none."""
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
    """A disk that fails while figures are written leaves the results as they are; `again` is what draws them later."""
    try:
        yield
    except OSError as error:
        told = f"the results are kept, `{again}` draws them"
        raise Unfinished(f"{directory}: the figures cannot be written ({reason(error)}); {told}") from None
