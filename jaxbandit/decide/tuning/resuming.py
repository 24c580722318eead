"""What a search that was interrupted, or has lost its workers, says about the scores that it has."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jaxbandit.support import refusals
from jaxbandit.support.refusals import Unfinished


@contextmanager
def resumable(directory: str | Path | None) -> Iterator[None]:
    """Add to a KeyboardInterrupt, as a note, and to an Unfinished whether the same call resumes."""
    try:
        with refusals.resumable(directory, "directory"):
            yield
    except Unfinished as error:
        error.args = (f"{error}; {refusals.what_is_saved(directory, 'directory')}",)
        raise
