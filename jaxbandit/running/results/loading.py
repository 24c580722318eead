"""Reading results: one cell, or all cells of a directory."""

import dataclasses
from pathlib import Path

from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage.json_files import read_json
from jaxbandit.running.results.base import Result, ResultSet
from jaxbandit.running.results.budget import BudgetResult
from jaxbandit.running.results.regret import RegretResult
from jaxbandit.running.results.saving import PROVENANCE, SCHEMA, cell_paths, manifest_fields
from jaxbandit.running.results.stopping import StoppingResult
from jaxbandit.support.refusals import BadInput

KINDS: dict[str, type[Result]] = {cls.kind: cls for cls in (RegretResult, StoppingResult, BudgetResult)}


def load_cell(directory: str | Path, index: int) -> Result | None:
    """Return one cell, or None if it is not finished; raise a ValueError that names the file if it is damaged."""
    npz, manifest = cell_paths(directory, index)
    if not manifest.exists():
        return None
    about = read_json(manifest, storage.RECOMPUTE)
    cls = KINDS.get(str(about.get("kind")), Result)
    needed = [item.name for item in dataclasses.fields(cls) if item.default is dataclasses.MISSING]
    missing = [name for name in ("schema", "kind", *needed, "sha256") if name not in {*about, "arrays"}]
    if missing:
        raise BadInput(f"{manifest}: damaged, {missing[0]!r} is missing; delete it and run again")
    if about["schema"] != SCHEMA:
        raise BadInput(f"{manifest}: schema = {about['schema']!r}, must be {SCHEMA}")
    if about["kind"] not in KINDS:
        raise BadInput(f"{manifest}: kind = {about['kind']!r}, must be one of {', '.join(KINDS)}")
    try:
        frozen = storage.read_arrays(npz, f"delete it and {manifest.name}, and run again", str(about["sha256"]))
    except FileNotFoundError:
        raise BadInput(f"{npz}: missing; delete {manifest.name} and run again") from None
    for array in frozen.values():
        array.setflags(write=False)
    return cls(arrays=frozen, **{name: about[name] for name in manifest_fields(cls) if name in about})


def load_results(directory: str | Path) -> ResultSet:
    """Read the results in a directory, as written by `save`, `run` or the command line, one Result per cell.

    A ValueError names the file that is missing or damaged.
    """
    directory = Path(directory)
    numbers = list(range(len(list(directory.glob("cell-*.json")))))
    count, path, name = len(numbers), directory / "summary.json", directory.name
    if path.exists():
        content = read_json(path, storage.RECOMPUTE)
        if not {"name", "cells"} <= content.keys():
            raise BadInput(f"{path}: damaged, 'name' or 'cells' is missing; delete it and run again")
        name, count = content["name"], len(content["cells"])
        numbers = list(range(count))
    if (directory / PROVENANCE).exists():  # the experiment may have grown since the summary was written
        numbers = read_json(directory / PROVENANCE, storage.RECOMPUTE).get("order", [])
    if not count:
        raise BadInput(f"{directory}: no results here; a directory of results holds cell-000.json")
    loaded = {number: load_cell(directory, number) for number in numbers}
    results = [result for result in loaded.values() if result is not None]
    if len(results) < count:
        missing = next((number for number, result in loaded.items() if result is None), 0)
        raise BadInput(f"{cell_paths(directory, missing)[1]}: missing, {count} cells are expected; run again")
    spec = directory / "spec.toml"
    return ResultSet(
        name, tuple(results), storage.read_text(spec, f"restore it, or {storage.RECOMPUTE}") if spec.exists() else ""
    )
