"""Results: what one cell (an instance under an algorithm) produced, and a directory of them.

A cell is two files: `cell-000.npz`, plain arrays under plain names that NumPy alone can read, and
`cell-000.json`, the rest, with the digest of the first. The JSON is written last: a cell without it is a cell
that is not finished.
"""

import dataclasses
import hashlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from jaxbandit.base import Outcome
from jaxbandit.engine import storage
from jaxbandit.experiments import frames
from jaxbandit.experiments.arguments import BadInput
from jaxbandit.experiments.files import plain, read_json, write_json

SCHEMA = 1


@dataclass(frozen=True, eq=False)
class Result:
    """One cell: arrays by name, what they were made from, what they cost.

    Of a fixed horizon it is a RegretResult, of stopping rules a StoppingResult: they say what is in `arrays`.
    """

    kind: ClassVar[str]
    array_names: ClassVar[tuple[str, ...]]

    instance: str
    algorithm: str
    params: dict[str, Any]
    seed: int
    precision: str
    runs: int
    arrays: dict[str, np.ndarray] = field(repr=False)
    seconds: dict[str, float]
    run_steps: int
    devices: list[str]
    versions: dict[str, str]
    truth: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_record(
        cls,
        record: Any,
        *,
        instance: str,
        algorithm: str,
        params: dict[str, Any],
        seed: int,
        precision: str,
        truth: dict[str, Any],
        **more: Any,
    ) -> Self:
        """Return the result that a record of the engine and its labels make."""
        arrays = {name: np.asarray(value) for name in cls.array_names if (value := getattr(record, name)) is not None}
        for array in arrays.values():
            if array.flags.writeable:
                array.setflags(write=False)
        return cls(
            instance=instance,
            algorithm=algorithm,
            params=plain(params),
            seed=int(seed),
            precision=precision,
            runs=len(arrays["outcome"]),
            arrays=arrays,
            seconds={"compile": float(record.compile_seconds), "run": float(record.run_seconds)},
            run_steps=int(record.run_steps),
            devices=[str(device) for device in record.devices],
            versions=versions(),
            truth=plain(truth),
            **more,
        )

    def outcomes(self) -> dict[str, int]:
        """Return how many runs ended in which way."""
        count = np.bincount(self.arrays["outcome"], minlength=len(Outcome))
        return {outcome.name.lower(): int(count[outcome]) for outcome in Outcome}

    def content(self) -> dict[str, Any]:
        """Return what the cell says beside its labels and costs."""
        raise NotImplementedError

    def summary(self) -> dict[str, Any]:
        """Return the cell as `--json` prints it; keys that do not apply are absent."""
        labels = {name: getattr(self, name) for name in ("instance", "algorithm", "params", "runs")}
        return plain(labels | self.content() | {"seconds": self.seconds, "run_steps": self.run_steps})

    def save(self, directory: str | Path) -> None:
        """Write this one result as a directory that `load` reads."""
        directory = Path(directory)
        save_cell(directory, 0, self)
        write_summary(directory, self.instance, self.kind, self.seed, self.precision, [self])

    def to_xarray(self) -> Any:
        """Return an xarray Dataset of the arrays over the dimensions run, checkpoint and arm."""
        return frames.to_xarray(self)

    def to_dataframe(self) -> Any:
        """Return a pandas frame: a row a checkpoint of regret, or a row a run that stopped."""
        raise NotImplementedError

    def plot(self, ax: Any = None, *, what: str | None = None) -> Any:
        """Draw the result on `ax` (or a new figure), labelled for a legend; return the matplotlib Axes.

        `what`: "regret"; of runs that stop "stopping" (default), "samples", "error" or "pulls".
        """
        from jaxbandit.experiments.figures import draw

        return draw([self], ax, what, alone=True)


@dataclass(frozen=True, eq=False)
class ResultSet(Sequence[Result]):
    """The results of one experiment in the order of its cells; `results["instance", "algorithm"]` is one."""

    name: str
    results: tuple[Result, ...]
    spec: str = field(default="", repr=False)

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int | slice):
            return self.results[key]
        found = [r for r in self.results if (r.instance, r.algorithm) == tuple(key)]
        if len(found) != 1:
            known = ", ".join(f"{r.instance}/{r.algorithm}" for r in self.results)
            raise KeyError(f"{'/'.join(key)} names {len(found)} results, must name one of {known}")
        return found[0]

    def summary(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        first = self.results[0]
        return summary(self.name, first.kind, first.seed, first.precision, self.results)

    def to_dataframe(self) -> Any:
        """Return the frames of all results, one below the other."""
        import pandas

        return pandas.concat([result.to_dataframe() for result in self.results], ignore_index=True)

    def plot(self, ax: Any = None, *, instance: str | None = None, what: str | None = None, **look: Any) -> Any:
        """Draw every algorithm on one instance (the first unless named); return the matplotlib Axes.

        `what` as for `Result.plot`; `look`, of regret: bands = "95 %" or "standard error", minimax, log.
        """
        from jaxbandit.experiments.figures import draw

        instance = self.results[0].instance if instance is None else instance
        return draw([r for r in self.results if r.instance == instance], ax, what, **look)


def versions() -> dict[str, str]:
    """Return the versions that a number may depend on."""
    from jaxbandit import __version__

    return {"jaxbandit": __version__, "jax": metadata.version("jax"), "numpy": np.__version__}


def summary(name: str, kind: str, seed: int, precision: str, results: Sequence[Result], **extra: Any) -> dict:
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
        "cells": [result.summary() for result in results],
        **extra,
    }


def write_summary(
    directory: str | Path, name: str, kind: str, seed: int, precision: str, results: Sequence[Result]
) -> dict:
    """Write DIR/summary.json and return what is in it."""
    content = summary(name, kind, seed, precision, results)
    write_json(Path(directory) / "summary.json", content)
    return content


def save_cell(directory: str | Path, index: int, result: Result) -> None:
    """Write one cell, all of it or nothing if killed at any instant; equal arrays give equal bytes."""
    npz, manifest = _paths(directory, index)
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **result.arrays)
    data = buffer.getvalue()
    about = {name: getattr(result, name) for name in _labels(type(result))}
    storage.write_bytes(npz, data)
    digest = hashlib.sha256(data).hexdigest()
    write_json(manifest, {"schema": SCHEMA, "kind": result.kind, **about, "sha256": digest})


def load_cell(directory: str | Path, index: int) -> Result | None:
    """Return one cell, or None where it is not finished; ValueError, naming the file, where it is damaged."""
    npz, manifest = _paths(directory, index)
    if not manifest.exists():
        return None
    about = read_json(manifest)
    kinds = _kinds()
    cls = kinds.get(str(about.get("kind")), Result)
    missing = [name for name in ("schema", "kind", *_labels(cls), "sha256") if name not in {*about, "kind_names"}]
    if missing:
        raise BadInput(f"{manifest}: damaged, {missing[0]!r} is missing; delete it and run again")
    if about["schema"] != SCHEMA:
        raise BadInput(f"{manifest}: schema = {about['schema']!r}, must be {SCHEMA}")
    if about["kind"] not in kinds:
        raise BadInput(f"{manifest}: kind = {about['kind']!r}, must be one of {', '.join(kinds)}")
    try:
        data = npz.read_bytes()
    except OSError as error:
        raise BadInput(f"{npz}: cannot be read ({error.strerror}); delete {manifest.name} and run again") from None
    if hashlib.sha256(data).hexdigest() != about["sha256"]:
        raise BadInput(f"{npz}: damaged, its digest differs from {manifest.name}'s; delete both and run again")
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        frozen = {name: arrays[name] for name in arrays.files}
    for array in frozen.values():
        array.setflags(write=False)
    return cls(arrays=frozen, **{name: about[name] for name in _labels(cls) if name in about})


def load(directory: str | Path) -> ResultSet:
    """Return the results that a directory holds; ValueError that names the file where it is not whole."""
    directory = Path(directory)
    count = len(list(directory.glob("cell-*.json")))
    path = directory / "summary.json"
    name = directory.name
    if path.exists():
        content = read_json(path)
        if not {"name", "cells"} <= content.keys():
            raise BadInput(f"{path}: damaged, 'name' or 'cells' is missing; delete it and run again")
        name, count = content["name"], len(content["cells"])
    if not count:
        raise BadInput(f"{directory}: no results here; a directory of results holds cell-000.json")
    results = []
    for index in range(count):
        result = load_cell(directory, index)
        if result is None:
            raise BadInput(f"{_paths(directory, index)[1]}: missing, {count} cells are expected; run again")
        results.append(result)
    spec = directory / "spec.toml"
    return ResultSet(name, tuple(results), spec.read_text(encoding="utf-8") if spec.exists() else "")


def _kinds() -> dict[str, type[Result]]:
    from jaxbandit.experiments.result_regret import RegretResult  # they import this file
    from jaxbandit.experiments.result_stopping import StoppingResult

    return {cls.kind: cls for cls in (RegretResult, StoppingResult)}


def _labels(cls: type[Result]) -> list[str]:
    """Names of what the manifest holds of a result: all but the arrays."""
    return [item.name for item in dataclasses.fields(cls) if item.name != "arrays"]


def _paths(directory: str | Path, index: int) -> tuple[Path, Path]:
    stem = Path(directory) / f"cell-{index:03d}"
    return stem.with_suffix(".npz"), stem.with_suffix(".json")
