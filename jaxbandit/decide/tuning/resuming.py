"""What a search that was interrupted, or has lost its workers, says about the scores that it has."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jaxbandit.base.refusals import Unfinished


@contextmanager
def resumable(where: str, directory: str | Path | None) -> Iterator[None]:
    """Add to a KeyboardInterrupt, as a note, and to an Unfinished whether the same call resumes."""
    said = f"what has ended is kept in {directory}; the same call resumes"
    if directory is None:
        said = "nothing is stored; with directory = a path, the same call would resume"
    try:
        yield
    except KeyboardInterrupt as error:
        error.add_note(f"{where}: {said}")
        raise
    except Unfinished as error:
        raise Unfinished(f"{error}; {said}") from error.__cause__
