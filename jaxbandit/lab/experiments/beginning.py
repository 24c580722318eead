"""A command that is refused leaves nothing behind: neither the directories that it created nor their first files."""

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from jaxbandit.lab.experiments import directory
from jaxbandit.support.refusals import reason, refuse

# What is written before the first result: by `directory.claim`, and by the first ask of a session.
FIRST_FILES = ("spec.toml", "provenance.json", "session.json", "log.jsonl")


@contextlib.contextmanager
def nothing_left(out: Path | None) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """If an error is raised inside, remove the directories that were created on the way to `out` and are empty.

    Yields:
      A function that returns a context to be entered while `out` is locked. If an error is raised inside that one, the
      files of a beginning are removed, provided that `out` was empty before and holds nothing else now.
    """
    try:
        if out is not None:
            os.lstat(out)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            refuse(str(out), f": cannot be created ({reason(error)}); give another directory")
    except ValueError as error:  # a null character, or one that the file system's encoding lacks
        refuse(ascii(str(out)), f": cannot be created ({error}); give another directory")
    missing = [] if out is None else [place for place in (out, *out.parents) if not os.path.lexists(place)]
    new = out is not None and (bool(missing) or (os.path.isdir(out) and not os.listdir(out)))

    @contextlib.contextmanager
    def begun() -> Iterator[None]:
        try:
            yield
        except Exception:
            if out is not None and new:
                _withdraw(out)
            raise

    try:
        yield begun
    except Exception:
        for place in missing:
            with contextlib.suppress(OSError):  # it is not empty, or was not created
                place.rmdir()
        raise


@contextlib.contextmanager
def opened(out: Path | None) -> Iterator[None]:
    """Open `out` for the results of an experiment: locked, and as it was if the call is refused."""
    with directory.disk(out), nothing_left(out) as begun, directory.lock(out), begun():
        yield


def _withdraw(out: Path) -> None:
    """Remove the files of a beginning and empty directories, unless `out` holds anything else."""
    inside = [Path(folder) for folder, _, _ in os.walk(out)]
    names = [path / name for path in inside for name in os.listdir(path) if not (path / name).is_dir()]
    if any(path.name != ".lock" and (path.parent != out or path.name not in FIRST_FILES) for path in names):
        return
    for name in FIRST_FILES:
        (out / name).unlink(missing_ok=True)
    for path in reversed(inside[1:]):
        with contextlib.suppress(OSError):
            path.rmdir()
