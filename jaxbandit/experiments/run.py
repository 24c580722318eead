"""Runs an experiment cell by cell: stored at once, resumed where it was left, compiled once a structure.

Instances and traced hyperparameters are arguments of the compiled program: cells that differ in them alone
share it.
"""

import contextlib
import functools
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit.base import Algorithm, Environment
from jaxbandit.engine import storage
from jaxbandit.engine.horizon import simulate_cell
from jaxbandit.experiments import source
from jaxbandit.experiments.arguments import BadInput, Unfinished, plain, reason, refuse, show
from jaxbandit.experiments.registry import Entry
from jaxbandit.experiments.result import Result, load_cell, save_cell, write_summary
from jaxbandit.experiments.simulate import progress_bar
from jaxbandit.experiments.spec import Cell, Experiment, InstanceSpec
from jaxbandit.types import PyTree

Make = Callable[[PyTree], tuple[Algorithm, Environment]]


def run_experiment(
    experiment: Experiment,
    out: Path | None,
    *,
    progress: bool | Callable[[int], None] | None = True,
    workers: int | None = None,
    tile: int | None = None,
) -> list[Result]:
    """Run, or resume, every cell of a resolved experiment.

    Args:
      experiment: what `spec.load` returns.
      out: directory of the results, made if it is absent; it may hold the same experiment, finished or not.
        None keeps nothing on the disk.
      progress: a bar on stderr where that is a terminal; or a function given the run-steps just played.
      workers: threads; changes no number.
      tile: runs played side by side; changes no number.

    Returns:
      A Result a cell, in the order of `experiment.cells()`.

    Raises:
      BadInput: `out` is of another experiment, cannot be written, or holds a damaged file.
      Unfinished: the disk failed under way.
      KeyboardInterrupt: after the state has been saved; the same call continues.
    """
    cells = list(experiment.cells())
    if out is None:
        done: dict[int, Result] = {}
    else:
        _claim(out, experiment)
        done = _finished(out, cells)
    truths: dict[str, dict[str, Any]] = {}
    steps = experiment.runs * experiment.horizon * (len(cells) - len(done))
    bar = progress_bar(steps, experiment.name, False if progress is False or callable(progress) else None)
    with bar as advance, _disk(out):
        for cell in cells:
            if cell.index in done:
                continue
            make, traced = _program(cell)
            checkpoint = None if out is None else out / "checkpoint" / f"{cell.index:03d}"
            try:
                record = simulate_cell(
                    make,
                    traced,
                    horizon=experiment.horizon,
                    num_runs=experiment.runs,
                    seed=experiment.seed,
                    checkpoints=experiment.checkpoints,
                    precision=experiment.precision,  # pyright: ignore[reportArgumentType]
                    workers=workers,
                    tile=tile,
                    checkpoint_dir=checkpoint,
                    progress=progress if callable(progress) else advance,
                )
            except ValueError as error:
                if checkpoint is not None and str(checkpoint) in str(error):  # one of its files is damaged
                    raise BadInput(" ".join(str(error).split())) from None
                raise
            instance = cell.instance
            if instance.name not in truths:
                truths[instance.name] = _truth(instance)
            result = Result.from_record(
                record,
                instance=instance.name,
                algorithm=cell.algorithm.name,
                params={name: plain(value) for name, value in cell.params.items()},
                seed=experiment.seed,
                precision=experiment.precision,
                truth=truths[instance.name],
            )
            done[cell.index] = result
            if out is not None and checkpoint is not None:
                save_cell(out, cell.index, result)
                shutil.rmtree(checkpoint, ignore_errors=True)
        results = [done[cell.index] for cell in cells]
        if out is not None:
            about = (experiment.name, experiment.kind, experiment.seed, experiment.precision)
            write_summary(out, *about, results)
            _tidy(out)
    return results


def _program(cell: Cell) -> tuple[Make, PyTree]:
    """Return the `make` that cells of one static structure share, and this cell's traced arguments."""
    algorithm, environment = cell.algorithm.entry, cell.instance.entry
    fixed, moving = _split(algorithm, cell.arguments)
    fixed_world, moving_world = _split(environment, cell.instance.arguments)
    make = _make(algorithm, tuple(fixed.items()), environment, tuple(fixed_world.items()), bool(moving_world))
    return make, {"algorithm": _arrays(moving), "environment": _arrays(moving_world)}


# The engine compiles once per `make` object and shapes: an equal structure must find the same object again.
@functools.lru_cache(maxsize=64)
def _make(algorithm: Entry, fixed: tuple, environment: Entry, fixed_world: tuple, moves: bool) -> Make:
    still = None if moves else environment.factory()(**dict(fixed_world))  # built once, not in every trace

    def make(arguments: PyTree) -> tuple[Algorithm, Environment]:
        world = still or environment.factory()(**dict(fixed_world), **arguments["environment"])
        return algorithm.factory()(**dict(fixed), **arguments["algorithm"]), world

    return make


def _split(entry: Entry, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    parameters = entry.parameters()
    moving = {
        name
        for name, value in given.items()
        if parameters[name].traced and value is not None and name not in entry.concrete
    }
    still = {name: value for name, value in given.items() if name not in moving}
    return still, {name: value for name, value in given.items() if name in moving}


def _arrays(given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.asarray(value, np.float64) for name, value in given.items()}


def _truth(instance: InstanceSpec) -> dict[str, Any]:
    """Return the arms' means and, where the law has one, the constant of the lower bound on regret."""
    import jax

    from jaxbandit.bounds import regret

    environment = instance.entry.factory()(**instance.arguments)
    with jax.enable_x64(True):  # 0.1 shall read 0.1
        means = np.asarray(environment.init(jax.random.key(0)).means, np.float64)
    truth: dict[str, Any] = {"means": means.tolist()}
    if instance.entry.regret_constant:
        more = {k: v for k, v in instance.arguments.items() if k == "sigma"}
        truth["regret_constant"] = float(getattr(regret, instance.entry.regret_constant)(means, **more))
    return truth


def _claim(out: Path, experiment: Experiment) -> None:
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


def _finished(out: Path, cells: list[Cell]) -> dict[int, Result]:
    try:
        loaded = {cell.index: load_cell(out, cell.index) for cell in cells}
    except ValueError as error:
        raise BadInput(str(error)) from None
    except OSError as error:
        refuse(str(out), f": cannot be read ({reason(error)})")
    return {index: result for index, result in loaded.items() if result is not None}


def _tidy(out: Path) -> None:
    """Remove what only an unfinished run needs, and what a killed one left."""
    shutil.rmtree(out / "checkpoint", ignore_errors=True)
    for leftover in out.glob(".*.tmp"):
        leftover.unlink(missing_ok=True)


@contextlib.contextmanager
def _disk(out: Path | None):
    try:
        yield
    except OSError as error:
        if out is None:
            raise
        remedy = "finished cells are kept, run the same command to resume"
        raise Unfinished(f"{out}: cannot be written ({reason(error)}); {remedy}") from None
