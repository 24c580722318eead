"""The directory of an experiment's results: which experiment it belongs to, what is finished, and what to clean up.

Besides `spec.toml`, the directory holds `provenance.json`: everything else that the numbers depend on (versions, the
source of factories outside the package, data files named by path), and the cells in the order of the numbers of their
files. An experiment may grow: the existing cells keep their file numbers, and only what is missing is run.
"""

import contextlib
import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxbandit.engine.storage import directories, identity, json_files
from jaxbandit.engine.storage import files as storage
from jaxbandit.lab.specs import metrics, references, source
from jaxbandit.lab.specs.arguments import plain
from jaxbandit.lab.specs.spec import Cell, Experiment
from jaxbandit.running.results.base import Result
from jaxbandit.running.results.loading import load_cell
from jaxbandit.running.results.saving import PROVENANCE, summary
from jaxbandit.support import reading
from jaxbandit.support.refusals import BadInput, Unfinished, reason, refuse, show, unwritable

GROWS = ("instance", "algorithm")  # lists of an experiment that may have grown since the last call
FREE = ("runs", "max_failed")  # keys that may have changed, because no single run depends on them


@contextlib.contextmanager
def lock(out: Path | None) -> Iterator[None]:
    """Lock the directory `out` against other processes, and create it if it does not exist."""
    if out is None:
        yield
        return
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(directories.locked(out, PROVENANCE))
        except OSError as error:
            unwritable(str(out), error, "give another --out")
        yield


def claim(out: Path, experiment: Experiment, *, grows: bool = True) -> tuple[list[int], dict[int, Result]]:
    """Make `out` the directory of this experiment, or raise if it belongs to something else.

    With `grows`, it may be the directory of the same experiment with fewer instances, algorithms, budgets or runs.

    Returns:
      The file number of each cell, and the results of the cells that have files, by the index of the cell. These
      results may have fewer runs than the experiment asks for.
    """
    path, about = out / "spec.toml", out / PROVENANCE
    cells = list(experiment.cells())
    here = provenance(experiment)
    try:
        known: list[Any] = []
        if path.exists():
            if found := difference(_spec(path), experiment.to_dict(), grows):
                refuse(str(path), f": belongs to another experiment: {found}; give another --out or delete {out}")
            known = _cells_in(about, here)
        elif about.exists():  # a call that was killed between its first two files, unless cells say otherwise
            json_files.read_json(about, storage.RECOMPUTE)
            if any(out.glob("cell-*")):
                refuse(str(out), ": has no spec.toml, which says whose results these are; give another --out")
        known += [label(cell) for cell in cells if label(cell) not in known]
        numbers = [known.index(label(cell)) for cell in cells]
        found = _results_of(out, cells, numbers, experiment.runs)
        # The file that marks the directory as ours is written first.
        json_files.write_json(about, {**here, "cells": known, "order": numbers})
        storage.write_bytes(path, experiment.to_toml().encode())
    except OSError as error:
        unwritable(str(out), error, "give another --out")
    return numbers, found


def summary_of(experiment: Experiment, results: Sequence[Result]) -> dict[str, Any]:
    """Return the summary of an experiment, which `summary.json` holds and `--json` prints."""
    return summary(experiment.name, results)


@contextlib.contextmanager
def one_line(*places: Path | str | None) -> Iterator[None]:
    """Raise a ValueError that names one of these places, or any if there are none, as BadInput of one line."""
    try:
        yield
    except BadInput:
        raise
    except ValueError as error:
        if places and not any(place and str(place) in str(error) for place in places):
            raise
        raise BadInput(" ".join(str(error).split())) from None


def label(cell: Cell) -> dict[str, Any]:
    """Return what identifies a cell of an experiment, as plain data."""
    params = {name: plain(value) for name, value in cell.params.items()}
    return json_files.plain({"instance": cell.instance.name, "algorithm": cell.algorithm.name, "params": params})


def provenance(experiment: Experiment) -> dict[str, Any]:
    """Return what the numbers of an experiment depend on in addition to its TOML file, as plain data."""
    import jax

    sources: dict[str, str] = {}
    files: dict[str, str] = {}
    for text in experiment.metrics:
        sources |= metrics.sources(text)
    for item in (*experiment.instances, *experiment.algorithms):
        if references.is_reference(item.type):
            sources |= references.sources(item.entry)
        for name, parameter in item.entry.parameters().items():
            if parameter.kind == "path" and name in item.arguments:
                files[item.arguments[name]] = _digest(Path(item.arguments[name]))
    return {"versions": identity.surroundings(jax.default_backend()), "sources": sources, "files": files}


def _digest(path: Path) -> str:
    """Return the SHA-256 digest of a file, or that of the names and digests of the files in a directory."""
    if not path.is_dir():
        with reading.opened(str(path), path, "the file of an experiment", pipes=False) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    inner = sorted(item for item in path.rglob("*") if item.is_file())
    return hashlib.sha256("".join(f"{p.relative_to(path)} {_digest(p)}\n" for p in inner).encode()).hexdigest()


def _cells_in(path: Path, here: Mapping[str, Any]) -> list[Any]:
    """Return the cells that a provenance file lists; raise BadInput if it was written by other versions or sources."""
    there = json_files.read_json(path, storage.RECOMPUTE)
    parts = {"versions": dict, "sources": dict, "files": dict, "cells": list}
    if not all(isinstance(there.get(name), kind) for name, kind in parts.items()):
        raise BadInput(f"{path}: is damaged, must hold {', '.join(parts)}; give another --out or delete {path.parent}")
    differences = identity.differences(there["versions"], here["versions"])
    for name, what in (("sources", "the source of module"), ("files", "the content of")):
        changed = [key for key, digest in here[name].items() if there[name].get(key, digest) != digest]
        differences += [f"{what} {key} has changed since" for key in changed]
    if differences:
        remedy = f"give another --out, or delete {path.parent} to run everything again"
        refuse(str(path.parent), f": its numbers were computed differently: {'; '.join(differences)}; {remedy}")
    return there["cells"]


def _spec(path: Path) -> dict[str, Any]:
    try:
        return source.read(path)
    except BadInput as error:
        refuse("", f"{error}; give another --out or delete {path.parent}")


def difference(there: Mapping[str, Any], here: Mapping[str, Any], grows: bool = False) -> str:
    """Return in words the first difference of the experiment `here` from the earlier one `there`, or ''."""
    free = FREE if grows else ()
    for key in dict.fromkeys((*here, *there)):
        if key in GROWS and grows:
            if change := _change_of_tables(there.get(key, []), here.get(key, []), key):
                return change
        elif key == "budget" and grows and key in there and key in here:
            if gone := [budget for budget in there[key] if budget not in here[key]]:
                return f"budget {gone[0]} is only there"
        elif key not in free and (change := _unequal(there.get(key), here.get(key), key)):
            return change
    return ""


def _change_of_tables(there: Any, here: Any, key: str) -> str:
    """Return in words which table of an experiment was removed or changed, or ''."""
    now = {item["name"]: item for item in here}
    for item in there:
        name = item.get("name")
        if name not in now:
            return f"{key} {show(name)} is only there"
        for inner in dict.fromkeys((*now[name], *item)):
            if change := _unequal(item.get(inner), now[name].get(inner), f"{key} {show(name)}: {inner}"):
                return change
    return ""


def _unequal(there: Any, here: Any, place: str) -> str:
    """Return in words the first place where two trees of plain data differ, or ''; None stands for a missing value."""
    if isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        differences = (_unequal(a, b, f"{place}[{i}]") for i, (a, b) in enumerate(zip(there, here, strict=True)))
        return next(filter(None, differences), "")
    if there == here:
        return ""
    texts = [
        f"{place} is {show(value)} {where}" for value, where in ((there, "there"), (here, "here")) if value is not None
    ]
    return f"{texts[0]}, {show(here)} here" if len(texts) == 2 else f"{texts[0]} only"


def _results_of(out: Path, cells: Sequence[Cell], numbers: Sequence[int], runs: int) -> dict[int, Result]:
    """Return the results of finished cells by their index; raise if one has more runs or is of another version."""
    import jax

    versions = identity.surroundings(jax.default_backend())
    finished = {}
    for cell, number in zip(cells, numbers, strict=True):
        with one_line():
            result = load_cell(out, number)
        if result is None:
            continue
        where = f"{out}: cell-{number:03d}"
        there = {name: value for name, value in result.identity.items() if name in versions}
        if differences := identity.differences(there, versions):
            refuse(where, f": its numbers were computed differently: {'; '.join(differences)}; delete it and run again")
        if result.runs > runs:
            refuse(
                where, f": has {result.runs} runs, but runs = {runs} asks for fewer; ask for more or give another --out"
            )
        finished[cell.index] = result
    return finished


def tidy(out: Path) -> None:
    """Remove the files that only an unfinished run needs."""
    for name in ("checkpoint", "parts"):
        shutil.rmtree(out / name, ignore_errors=True)


@contextlib.contextmanager
def disk(out: Path | None) -> Iterator[None]:
    """Raise `Unfinished` if writing to the directory fails."""
    try:
        yield
    except OSError as error:
        if out is None:
            raise
        remedy = "finished cells are kept; run the same command to resume"
        raise Unfinished(f"{out}: cannot be written ({reason(error)}); {remedy}") from None
