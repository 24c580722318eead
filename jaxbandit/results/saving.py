"""Results written: a cell as two files, an experiment's summary, one result as a directory.

A cell is two files: `cell-000.npz`, plain arrays under plain names that NumPy alone can read, and `cell-000.json`, the
rest, with the digests of the first and of itself. The JSON is written last: a cell without it is not finished. Whatever
has a result's fields can be written: nothing here knows the kinds of results.
"""

import dataclasses
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jaxbandit.engine import storage
from jaxbandit.refusals import refuse
from jaxbandit.results import names
from jaxbandit.results.json_files import write_json, write_sealed

SCHEMA = 1
PROVENANCE = "provenance.json"  # of an experiment's directory: what its numbers depend on, and the order of its cells
OWN_FILES = ("cell-*.json", "cell-*.npz", "summary.json", "spec.toml", PROVENANCE)


def save(results: Any, directory: str | Path, *, replace: bool = False) -> None:
    """Write a result, or several of one kind, as a directory that `load` reads.

    Args:
      results: a Result, a ResultSet, or a list of Results; they may come from different calls.
      directory: made if it is absent.
      replace: whether results that are there already may be deleted.

    Raises:
      ValueError: no results, two kinds of them, or a directory that holds results already.
    """
    directory = Path(directory)
    some: list[Any] = list(results) if isinstance(results, Iterable) else [results]
    kinds = sorted({result.kind for result in some})
    if len(kinds) != 1:
        refuse("save", f": results of {len(kinds)} kinds ({', '.join(kinds) or 'none given'}), must be of one kind")
    there = [path for pattern in OWN_FILES for path in directory.glob(pattern)]
    if there and not replace:
        refuse(str(directory), f": holds results already ({there[0].name}); give another directory, or replace = True")
    for path in there:
        path.unlink()
    for index, result in enumerate(some):
        save_cell(directory, index, result)
    name = getattr(results, "name", "") or (some[0].instance if len(some) == 1 else directory.name)
    write_summary(directory, name, some[0].kind, some[0].seed, some[0].precision, some)


def summary(name: str, kind: str, seed: int, precision: str, results: Sequence[Any], **extra: Any) -> dict:
    """Return the summary of an experiment, schema 1; `extra` adds top-level keys."""
    first = results[0]
    return {
        "schema": SCHEMA,
        "name": name,
        "kind": kind,
        "seed": seed,
        "jaxbandit": first.versions["jaxbandit"],
        "jax": first.versions["jax"],
        "devices": first.devices,
        "precision": precision,
        "cells": [
            result.summary() | {"name": address} | _own(result, seed=seed, precision=precision)
            for result, address in zip(results, names.addresses(results), strict=True)
        ],
        **extra,
    }


def _own(result: Any, **shared: Any) -> dict[str, Any]:
    """What a result has for itself of what the others share."""
    return {key: own for key, value in shared.items() if (own := getattr(result, key)) != value}


def write_summary(
    directory: str | Path, name: str, kind: str, seed: int, precision: str, results: Sequence[Any]
) -> dict:
    """Write DIR/summary.json and return what is in it."""
    content = summary(name, kind, seed, precision, results)
    write_json(Path(directory) / "summary.json", content)
    return content


def save_cell(directory: str | Path, index: int, result: Any) -> None:
    """Write one cell, all of it or nothing if killed at any instant; equal arrays give equal bytes."""
    npz, manifest = cell_paths(directory, index)
    about = {name: getattr(result, name) for name in manifest_fields(type(result))}
    storage.write_arrays(npz, result.arrays)
    with npz.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    write_sealed(manifest, {"schema": SCHEMA, "kind": result.kind, **about, "sha256": digest})


def manifest_fields(cls: type[Any]) -> list[str]:
    """Names of what the manifest holds of a result: all but the arrays."""
    return [item.name for item in dataclasses.fields(cls) if item.name != "arrays"]


def cell_paths(directory: str | Path, index: int) -> tuple[Path, Path]:
    """Return the paths of a cell's arrays and of its manifest."""
    stem = Path(directory) / f"cell-{index:03d}"
    return stem.with_suffix(".npz"), stem.with_suffix(".json")
