"""The directory of an experiment's results: whose it is, what is finished in it, and what is left to clear away."""

import contextlib
import shutil
from pathlib import Path
from typing import Any

from jaxbandit.engine import storage
from jaxbandit.refusals import BadInput, Unfinished, reason, refuse, show
from jaxbandit.results.base import Result
from jaxbandit.results.loading import load_cell
from jaxbandit.specs import source
from jaxbandit.specs.spec import Cell, Experiment


def claim(out: Path, experiment: Experiment) -> None:
    """Make `out` the directory of this experiment, or refuse it."""
    path = out / "spec.toml"
    try:
        if path.exists():
            difference = _difference(source.read(path), experiment.to_dict())
            if difference:
                refuse(str(path), f": another experiment, {difference}; give another --out or delete {out}")
            return
        if out.exists() and not out.is_dir():
            refuse(str(out), ": a file, must be a directory; give another --out")
        if out.exists() and any(not item.name.startswith(".") for item in out.iterdir()):
            refuse(str(out), ": not empty and without spec.toml, so not of results; give another --out")
        storage.write_bytes(path, experiment.to_toml().encode())
    except OSError as error:
        refuse(str(out), f": cannot be written ({reason(error)}); give another --out")


def _difference(there: Any, here: Any, place: str = "") -> str:
    """Return in words the first place where two trees of plain data differ, or ''."""
    if isinstance(there, dict) and isinstance(here, dict):
        for key in [*here, *(k for k in there if k not in here)]:
            inner = f"{place}.{key}".lstrip(".")
            if key not in there or key not in here:
                return f"{inner} is {'only here' if key in here else 'only there'}"
            if found := _difference(there[key], here[key], inner):
                return found
        return ""
    if isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        found = (_difference(a, b, f"{place}[{i}]") for i, (a, b) in enumerate(zip(there, here, strict=True)))
        return next(filter(None, found), "")
    return "" if there == here else f"{place} is {show(there)} there, {show(here)} here"


def finished(out: Path, cells: list[Cell]) -> dict[int, Result]:
    """Return the finished cells by their index."""
    try:
        loaded = {cell.index: load_cell(out, cell.index) for cell in cells}
    except ValueError as error:
        raise BadInput(str(error)) from None
    except OSError as error:
        refuse(str(out), f": cannot be read ({reason(error)})")
    return {index: result for index, result in loaded.items() if result is not None}


def tidy(out: Path) -> None:
    """Remove what only an unfinished run needs, and what a killed one left."""
    shutil.rmtree(out / "checkpoint", ignore_errors=True)
    for leftover in out.glob(".*.tmp"):
        leftover.unlink(missing_ok=True)


@contextlib.contextmanager
def disk(out: Path | None):
    """Turn a failing disk into Unfinished."""
    try:
        yield
    except OSError as error:
        if out is None:
            raise
        remedy = "finished cells are kept, run the same command to resume"
        raise Unfinished(f"{out}: cannot be written ({reason(error)}); {remedy}") from None
