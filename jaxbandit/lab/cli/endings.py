"""The exit statuses of commands, and context managers that turn errors into messages of one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jaxbandit.lab.cli.leaving import INTERRUPTED as INTERRUPTED
from jaxbandit.support.refusals import FULL, BadInput, Unfinished, reason

DONE = 0
BUG = 1
BAD_INPUT = 2
WORSE = 4
UNDECIDED = 5


@contextmanager
def bad_input() -> Iterator[None]:
    """Raise errors from reading directories and papers as BadInput, and a full disk as Unfinished."""
    try:
        yield
    except (ValueError, OSError) as error:
        if getattr(error, "errno", None) in FULL:
            raise Unfinished(f"{error}; what was stored is kept; make room, and run the same command again") from None
        if isinstance(error, BadInput) or "\n" in str(error):
            raise
        raise BadInput(str(error)) from None


@contextmanager
def figures(directory: Path, again: str) -> Iterator[None]:
    """If the disk fails while figures are written, report that the results are kept and that `again` draws them."""
    try:
        yield
    except OSError as error:
        remedy = f"the results are kept; run `{again}` to draw the figures"
        raise Unfinished(f"{directory}: the figures cannot be written ({reason(error)}); {remedy}") from None
