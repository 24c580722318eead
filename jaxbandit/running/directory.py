"""The directory of an experiment's results: whose it is, what is finished in it, and what is left to clear away.

Beside `spec.toml` it holds `provenance.json`: what its numbers depend on besides the experiment (versions, source of
factories outside the package, data files named by path), and its cells in the order of the numbers of their files. An
experiment may come back with more instances, algorithms, budgets or runs: cells keep their numbers, what is missing is
played.
"""

import contextlib
import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxbandit.engine import identity, storage
from jaxbandit.refusals import BadInput, Unfinished, reason, refuse, show
from jaxbandit.results import json_files
from jaxbandit.results.base import Result
from jaxbandit.results.loading import load_cell
from jaxbandit.results.saving import PROVENANCE
from jaxbandit.specs import references, source
from jaxbandit.specs.arguments import plain
from jaxbandit.specs.spec import Cell, Experiment

GROWS = ("instance", "algorithm")  # lists of an experiment that may have grown since
FREE = ("runs", "max_failed")  # what may have changed: no number of a run depends on it


@contextlib.contextmanager
def alone(out: Path | None) -> Iterator[None]:
    """Keep other processes out of `out`, which is made if it is missing."""
    if out is None:
        yield
        return
    if out.exists() and not out.is_dir():
        refuse(str(out), ": a file, must be a directory; give another --out")
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(storage.locked(out))
        except OSError as error:
            refuse(str(out), f": cannot be written ({reason(error)}); give another --out")
        except ValueError as error:
            raise BadInput(str(error)) from None
        yield


def claim(out: Path, experiment: Experiment, *, grows: bool = True) -> tuple[list[int], dict[int, Result]]:
    """Make `out` the directory of this experiment, or refuse it as it is.

    With `grows`, it may be that of the same experiment with fewer instances, algorithms, budgets or runs.

    Returns:
      The numbers of the cells' files, and the cells that have files, perhaps of fewer runs, by their index.
    """
    path, about = out / "spec.toml", out / PROVENANCE
    cells = list(experiment.cells())
    here = provenance(experiment)
    try:
        known: list[Any] = []
        if path.exists():
            if found := difference(_spec(path), experiment.to_dict(), grows):
                refuse(str(path), f": another experiment, {found}; give another --out or delete {out}")
            if about.exists():
                known = _same(about, here)
            elif any(out.glob("cell-*")) or any((out / name).exists() for name in ("checkpoint", "parts", "audit")):
                refuse(str(out), f": without {PROVENANCE}, so of another version; give another --out or delete it")
        elif any(not item.name.startswith(".") for item in out.iterdir()):
            refuse(str(out), ": not empty and without spec.toml, so not of results; give another --out")
        known += [label(cell) for cell in cells if label(cell) not in known]
        numbers = [known.index(label(cell)) for cell in cells]
        found = _finished(out, cells, numbers, experiment.runs)
        storage.write_bytes(path, experiment.to_toml().encode())
        json_files.write_json(about, {**here, "cells": known, "order": numbers})
    except OSError as error:
        refuse(str(out), f": cannot be written ({reason(error)}); give another --out")
    return numbers, found


def label(cell: Cell) -> dict[str, Any]:
    """Return what tells a cell of an experiment from the others, as plain data."""
    params = {name: plain(value) for name, value in cell.params.items()}
    return json_files.plain({"instance": cell.instance.name, "algorithm": cell.algorithm.name, "params": params})


def provenance(experiment: Experiment) -> dict[str, Any]:
    """Return what the numbers of an experiment depend on besides what its TOML says, as plain data."""
    import jax

    sources: dict[str, str] = {}
    files: dict[str, str] = {}
    for item in (*experiment.instances, *experiment.algorithms):
        if references.is_reference(item.type):
            sources |= references.sources(item.entry)
        for name, parameter in item.entry.parameters().items():
            if parameter.kind == "path" and name in item.arguments:
                files[item.arguments[name]] = _digest(Path(item.arguments[name]))
    return {"versions": identity.surroundings(jax.default_backend()), "sources": sources, "files": files}


def _digest(path: Path) -> str:
    """Return the digest of a file, or of the files of a directory with their names."""
    if not path.is_dir():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    inner = sorted(item for item in path.rglob("*") if item.is_file())
    return hashlib.sha256("".join(f"{p.relative_to(path)} {_digest(p)}\n" for p in inner).encode()).hexdigest()


def _same(path: Path, here: Mapping[str, Any]) -> list[Any]:
    """Return the cells that a directory's provenance lists; refuse one whose numbers are of something else."""
    there = json_files.read_json(path)
    parts = {"versions": dict, "sources": dict, "files": dict, "cells": list}
    if not all(isinstance(there.get(name), kind) for name, kind in parts.items()):
        raise BadInput(f"{path}: damaged, must hold {', '.join(parts)}; give another --out or delete {path.parent}")
    found = identity.differences(there["versions"], here["versions"])
    for name, what in (("sources", "the source of module"), ("files", "the content of")):
        changed = [key for key, digest in here[name].items() if there[name].get(key, digest) != digest]
        found += [f"{what} {key} has changed since" for key in changed]
    if found:
        remedy = f"give another --out, or delete {path.parent} to play all of it again"
        refuse(str(path.parent), f": its numbers are of something else: {'; '.join(found)}; {remedy}")
    return there["cells"]


def _spec(path: Path) -> dict[str, Any]:
    try:
        return source.read(path)
    except BadInput as error:
        refuse("", f"{error}; give another --out or delete {path.parent}")


def difference(there: Mapping[str, Any], here: Mapping[str, Any], grows: bool = False) -> str:
    """Return in words what is asked for now and is not what `there` was, or ''."""
    free = FREE if grows else ()
    for key in dict.fromkeys((*here, *there)):
        if key in GROWS and grows:
            if found := _lost(there.get(key, []), here.get(key, []), key):
                return found
        elif key == "budget" and grows and key in there and key in here:
            if gone := [budget for budget in there[key] if budget not in here[key]]:
                return f"budget {gone[0]} is only there"
        elif key not in free and (found := _unequal(there.get(key), here.get(key), key)):
            return found
    return ""


def _lost(there: Any, here: Any, key: str) -> str:
    """Return in words which table of an experiment has gone or changed, or ''."""
    now = {item["name"]: item for item in here}
    for item in there:
        name = item.get("name")
        if name not in now:
            return f"{key} {show(name)} is only there"
        for inner in dict.fromkeys((*now[name], *item)):
            if found := _unequal(item.get(inner), now[name].get(inner), f"{key} {show(name)}: {inner}"):
                return found
    return ""


def _unequal(there: Any, here: Any, place: str) -> str:
    """Return in words the first place where two trees of plain data differ, or ''; None is what is not given."""
    if isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        found = (_unequal(a, b, f"{place}[{i}]") for i, (a, b) in enumerate(zip(there, here, strict=True)))
        return next(filter(None, found), "")
    if there == here:
        return ""
    told = [
        f"{place} is {show(value)} {where}" for value, where in ((there, "there"), (here, "here")) if value is not None
    ]
    return f"{told[0]}, {show(here)} here" if len(told) == 2 else f"{told[0]} only"


def _finished(out: Path, cells: Sequence[Cell], numbers: Sequence[int], runs: int) -> dict[int, Result]:
    """Return the cells that have files by their index; refuse one of more runs, or of other versions than here."""
    import jax

    versions = identity.surroundings(jax.default_backend())
    found = {}
    for cell, number in zip(cells, numbers, strict=True):
        try:
            result = load_cell(out, number)
        except ValueError as error:
            raise BadInput(str(error)) from None
        if result is None:
            continue
        where = f"{out}: cell-{number:03d}"
        there = {name: value for name, value in result.identity.items() if name in versions}
        if differences := identity.differences(there, versions):
            refuse(where, f": its numbers are of something else: {'; '.join(differences)}; delete it and run again")
        if result.runs > runs:
            refuse(where, f": has {result.runs} runs, and runs = {runs} asks for fewer; ask for more, or another --out")
        found[cell.index] = result
    return found


def tidy(out: Path) -> None:
    """Remove what only an unfinished run needs, and what a killed one left."""
    for name in ("checkpoint", "parts"):
        shutil.rmtree(out / name, ignore_errors=True)
    for leftover in out.glob(".*.tmp"):
        leftover.unlink(missing_ok=True)


@contextlib.contextmanager
def disk(out: Path | None) -> Iterator[None]:
    """Turn a failing disk into Unfinished."""
    try:
        yield
    except OSError as error:
        if out is None:
            raise
        remedy = "finished cells are kept, run the same command to resume"
        raise Unfinished(f"{out}: cannot be written ({reason(error)}); {remedy}") from None
