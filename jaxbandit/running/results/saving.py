"""Writing results: the two files of a cell, the summary of an experiment, and directories of results.

A cell has two files. `cell-000.npz` holds the arrays, which NumPy alone can read, and `cell-000.json` holds everything
else, with the digests of both files. The JSON file is written last, so a cell without it is not finished.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jaxbandit.engine.storage import directories
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage.json_files import read_json, write_json
from jaxbandit.running.results import names
from jaxbandit.support.refusals import refuse

SCHEMA = 1
PROVENANCE = "provenance.json"  # records what the numbers of an experiment depend on, and the order of its cells
MARK = "cell-*.json"  # the files of which a directory of results holds one
OWN_FILES = ("cell-*.json", "cell-*.npz", "summary.json", "spec.toml", PROVENANCE)


def save(results: Any, directory: str | Path, *, replace: bool = False) -> None:
    """Write one result, or several of the same kind, to a directory that `load` reads.

    Args:
      results: a Result, a ResultSet, or a list of Results, which may come from different calls.
      replace: whether to delete results that the directory already holds.

    Raises:
      ValueError: there are no results, they are of different kinds, or the directory already holds results.
    """
    directory = Path(directory)
    some: list[Any] = list(results) if isinstance(results, Iterable) else [results]
    kinds = sorted({result.kind for result in some})
    if len(kinds) != 1:
        several = f": results of {len(kinds)} kinds ({', '.join(kinds)}), must be of one kind"
        refuse("save", several if kinds else ": no results, must be at least one")
    there = [path for pattern in OWN_FILES for path in directory.glob(pattern)]
    if there and not replace and directories.require_ours(directory, MARK):
        refuse(str(directory), f": already holds results ({there[0].name}); give another directory or replace = True")
    name = getattr(results, "name", "") or (some[0].instance if len(some) == 1 else directory.name)
    with directories.locked(directory, MARK):
        for path in directory.glob(MARK):
            read_json(path, storage.RECOMPUTE)  # raises if it is somebody else's
        for path in there:
            path.unlink()
        for index, result in enumerate(some):
            save_cell(directory, index, result)
        write_json(directory / "summary.json", summary(name, some))


def summary(name: str, results: Sequence[Any], **extra: Any) -> dict:
    """Return the summary of an experiment, schema 1; `extra` adds top-level keys."""
    first = results[0]
    return {
        "schema": SCHEMA,
        "name": name,
        "kind": first.kind,
        "seed": first.seed,
        "jaxbandit": first.versions["jaxbandit"],
        "jax": first.versions["jax"],
        "devices": first.devices,
        "precision": first.precision,
        "cells": [
            result.to_json() | {"name": address} | _own(result, seed=first.seed, precision=first.precision)
            for result, address in zip(results, names.addresses(results), strict=True)
        ],
        **extra,
    }


def _own(result: Any, **shared: Any) -> dict[str, Any]:
    """Return the values in which a result differs from those that the summary states for all."""
    return {key: own for key, value in shared.items() if (own := getattr(result, key)) != value}


def save_cell(directory: str | Path, index: int, result: Any) -> None:
    """Write one cell atomically; equal arrays give equal bytes."""
    npz, manifest = cell_paths(directory, index)
    about = {name: getattr(result, name) for name in manifest_fields(type(result))}
    storage.write_arrays(npz, result.arrays)
    write_json(manifest, {"schema": SCHEMA, "kind": result.kind, **about, "sha256": storage.digest(npz)})


def manifest_fields(cls: type[Any]) -> list[str]:
    """Return the names of the fields in the manifest, which are all but the arrays and the tree of states."""
    return [item.name for item in dataclasses.fields(cls) if item.name not in ("arrays", "states_like")]


def cell_paths(directory: str | Path, index: int) -> tuple[Path, Path]:
    """Return the paths of a cell's arrays and of its manifest."""
    stem = Path(directory) / f"cell-{index:03d}"
    return stem.with_suffix(".npz"), stem.with_suffix(".json")
