"""What a command's own work raises, turned into what the command line says of it in one line."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from jaxbandit.refusals import BadInput, Unfinished

FULL = (errno.ENOSPC, errno.EDQUOT)  # of the errors of a disk, those that come while one writes


@contextmanager
def bad_input() -> Iterator[None]:
    """Refusals of the parts that read directories and papers are bad input; a full disk is none."""
    try:
        yield
    except (ValueError, OSError) as error:
        if getattr(error, "errno", None) in FULL:
            raise Unfinished(f"{error}; the results are kept, run the same command to resume") from None
        if isinstance(error, BadInput) or "\n" in str(error):
            raise
        raise BadInput(str(error)) from None
