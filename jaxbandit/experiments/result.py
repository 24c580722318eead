"""Results: what one cell (an instance under an algorithm) produced, and a directory of them.

A cell is two files: `cell-000.npz`, plain arrays under plain names that NumPy alone can read, and
`cell-000.json`, the rest, with the digest of the first. The JSON is written last: a cell without it is a cell
that is not finished.
"""

import hashlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit.base import Outcome
from jaxbandit.bounds.regret import regret_lower_bound
from jaxbandit.engine import storage
from jaxbandit.experiments import frames, statistics
from jaxbandit.experiments.arguments import BadInput
from jaxbandit.experiments.files import plain, read_json, write_json

SCHEMA = 1
_FIELDS = ("instance", "algorithm", "params", "kind", "seed", "precision", "runs")
_MANIFEST = (*_FIELDS, "seconds", "run_steps", "devices", "versions", "truth")


@dataclass(frozen=True, eq=False)
class Result:
    """One cell: arrays by name, what they were made from, what they cost.

    `arrays` holds checkpoints int64[C], mean and variance float64[C] of the regret over runs, and, where
    per-run data was kept, regret [runs, C], pulls int32[runs, K], recommendation [runs, ...] and outcome
    int8[runs].
    """

    instance: str
    algorithm: str
    params: dict[str, Any]
    kind: str
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
    ) -> "Result":
        """Return the result that a record of the engine and its labels make."""
        arrays = {
            name: np.asarray(value)
            for name in (
                "checkpoints",
                "mean",
                "variance",
                "regret",
                "pulls",
                "pulls_mean",
                "recommendation",
                "outcome",
            )
            if (value := getattr(record, name)) is not None
        }
        for array in arrays.values():
            if array.flags.writeable:
                array.setflags(write=False)
        return cls(
            instance=instance,
            algorithm=algorithm,
            params=plain(params),
            kind="simulate",
            seed=int(seed),
            precision=precision,
            runs=len(arrays["outcome"]),
            arrays=arrays,
            seconds={"compile": float(record.compile_seconds), "run": float(record.run_seconds)},
            run_steps=int(record.run_steps),
            devices=[str(device) for device in record.devices],
            versions=versions(),
            truth=plain(truth),
        )

    def interval(self, confidence: float = statistics.CONFIDENCE) -> statistics.Interval:
        """Return the mean regret at the checkpoints with its Student interval; needs at least two runs."""
        return statistics.student(self.arrays["mean"], self.arrays["variance"], self.runs, confidence)

    def lower_bound(self) -> np.ndarray | None:
        """Return log(t) times the instance's regret constant at the checkpoints; None where none is known."""
        constant = self.truth.get("regret_constant")
        return None if constant is None else regret_lower_bound(constant, self.arrays["checkpoints"])

    def at(self, checkpoint: int) -> int:
        """Return the position of a checkpoint; ValueError where there is none."""
        where = np.flatnonzero(self.arrays["checkpoints"] == checkpoint)
        if not len(where):
            last = int(self.arrays["checkpoints"][-1])
            raise BadInput(f"{self.instance}/{self.algorithm}: no checkpoint at {checkpoint}, the last is {last}")
        return int(where[0])

    def summary(self) -> dict[str, Any]:
        """Return the cell as `--json` prints it; keys that do not apply are absent."""
        cell: dict[str, Any] = {name: getattr(self, name) for name in ("instance", "algorithm", "params", "runs")}
        # A non-finite run shows in `outcomes`; JSON has no NaN, so its checkpoints are left out.
        keep = np.isfinite(self.arrays["mean"])
        regret = {"at": self.arrays["checkpoints"][keep], "mean": self.arrays["mean"][keep]}
        if self.runs > 1:
            interval = self.interval()
            regret |= {"se": interval.se[keep], "low": interval.low[keep], "high": interval.high[keep]}
        bound = self.lower_bound()
        if bound is not None:
            regret["lower_bound"] = bound[keep]
        cell["regret"] = regret
        pulls = self.arrays["pulls"].mean(axis=0) if "pulls" in self.arrays else self.arrays.get("pulls_mean")
        if pulls is not None:
            cell["pulls"] = {"mean": pulls}
        count = np.bincount(self.arrays["outcome"], minlength=len(Outcome))
        if count[Outcome.NONFINITE] or count[Outcome.PRECISION]:
            cell["outcomes"] = {outcome.name.lower(): count[outcome] for outcome in Outcome}
        return plain(cell | {"seconds": self.seconds, "run_steps": self.run_steps})

    def save(self, directory: str | Path) -> None:
        """Write this one result as a directory that `load` reads."""
        directory = Path(directory)
        save_cell(directory, 0, self)
        write_summary(directory, self.instance, self.kind, self.seed, self.precision, [self])

    def to_xarray(self) -> Any:
        """Return an xarray Dataset of the arrays over the dimensions run, checkpoint and arm."""
        return frames.to_xarray(self)

    def to_dataframe(self) -> Any:
        """Return a pandas frame, a row a checkpoint: labels, round, mean, se, low, high, lower_bound."""
        return frames.to_dataframe(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw the mean regret with its band on `ax` (or a new figure); return the matplotlib Axes."""
        from jaxbandit.experiments.plot import plot_one

        return plot_one(self, ax)


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

    def plot(self, ax: Any = None, *, instance: str | None = None) -> Any:
        """Draw every algorithm on one instance (the first unless named); return the matplotlib Axes."""
        from jaxbandit.experiments.plot import plot

        instance = self.results[0].instance if instance is None else instance
        return plot([r for r in self.results if r.instance == instance], ax)


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
    about = {name: getattr(result, name) for name in _MANIFEST}
    storage.write_bytes(npz, data)
    write_json(manifest, {"schema": SCHEMA, **about, "sha256": hashlib.sha256(data).hexdigest()})


def load_cell(directory: str | Path, index: int) -> Result | None:
    """Return one cell, or None where it is not finished; ValueError, naming the file, where it is damaged."""
    npz, manifest = _paths(directory, index)
    if not manifest.exists():
        return None
    about = read_json(manifest)
    missing = [name for name in (*_MANIFEST, "schema", "sha256") if name not in about]
    if missing:
        raise BadInput(f"{manifest}: damaged, {missing[0]!r} is missing; delete it and run again")
    if about["schema"] != SCHEMA:
        raise BadInput(f"{manifest}: schema = {about['schema']!r}, must be {SCHEMA}")
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
    return Result(arrays=frozen, **{name: about[name] for name in _MANIFEST})


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


def _paths(directory: str | Path, index: int) -> tuple[Path, Path]:
    stem = Path(directory) / f"cell-{index:03d}"
    return stem.with_suffix(".npz"), stem.with_suffix(".json")
