"""Runs an experiment cell by cell: stored at once, resumed where it was left, compiled once a structure.

Instances and traced hyperparameters are arguments of the compiled program: cells that differ in them alone
share it.
"""

import contextlib
import functools
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit.base import Algorithm, Environment
from jaxbandit.engine.checkpoint import Finished
from jaxbandit.engine.fit import misfit
from jaxbandit.engine.horizon import simulate_cell
from jaxbandit.engine.identify import identify_cell
from jaxbandit.engine.rounds import ContractError
from jaxbandit.refusals import BadInput
from jaxbandit.results.base import Result
from jaxbandit.results.regret import RegretResult
from jaxbandit.results.saving import cell_paths, save_cell, write_summary
from jaxbandit.results.stopping import StoppingResult
from jaxbandit.running import directory, failures, memory
from jaxbandit.running.cell import Make, stopping_result
from jaxbandit.running.progress import progress_bar, runs_bar
from jaxbandit.running.truth import cautions, guarantee, seeks_best_arm, truth_of
from jaxbandit.specs.arguments import plain
from jaxbandit.specs.registry import Entry
from jaxbandit.specs.spec import Cell, Experiment
from jaxbandit.types import PyTree


def run_experiment(
    experiment: Experiment,
    out: Path | None,
    *,
    progress: bool | Callable[[Any], None] | None = True,
    workers: int | None = None,
    tile: int | None = None,
    lanes: int | None = None,
    chunk: int | None = None,
    max_failed: float | None = None,
) -> list[Any]:
    """Run, or resume, every cell of a resolved experiment.

    Args:
      experiment: what `spec.load` returns.
      out: directory of the results, made if it is absent; it may hold the same experiment, finished or not, or with
        fewer instances, algorithms or runs: what is missing is played. None keeps nothing on the disk.
      progress: a bar on stderr where that is a terminal; or a function given what the engine reports: the
        run-steps just played, or, of runs that stop, how many ended and the run-steps.
      workers: threads; changes no number.
      tile: runs played side by side, of a fixed horizon; changes no number.
      lanes: the same of runs that stop.
      chunk: steps between two looks at the host, of runs that stop; changes no number.
      max_failed: share of a cell's runs that may go wrong, in [0, 1]; more is an error. The cell is kept. Default: the
        experiment's.

    Returns:
      A Result a cell, in the order of `experiment.cells()`.

    Raises:
      BadInput: `out` is of another experiment, holds results of other versions or a damaged file, is in use by another
        process, or cannot be written; or the results would not fit into the memory, or too many
        runs failed.
      Unfinished: the disk failed under way.
      KeyboardInterrupt: after the state has been saved; the same call continues.
    """
    max_failed = experiment.max_failed if max_failed is None else max_failed
    failures.check_share("run", max_failed)
    cells = list(experiment.cells())
    memory.check(experiment)
    with directory.disk(out), directory.alone(out):
        numbers: list[int] = list(range(len(cells)))
        done: dict[int, Result] = {}
        if out is not None:
            numbers, done = directory.claim(out, experiment)
        truths: dict[tuple[str, bool], dict[str, Any]] = {}
        left = sum(experiment.runs - (done[cell.index].runs if cell.index in done else 0) for cell in cells)
        with bar([experiment], progress, left / (experiment.runs * len(cells))) as advance:
            for cell in cells:
                before = done.get(cell.index)
                if before is not None and before.runs == experiment.runs:
                    failures.judge([before], max_failed)
                    continue
                key = cell.instance.name, seeks_best_arm(cell)
                if key not in truths:
                    truths[key] = truth_of(cell.instance, experiment.kind, best_arm=key[1])
                options = {"workers": workers, "progress": advance}
                options |= {"tile": tile} if experiment.kind == "simulate" else {"lanes": lanes, "chunk": chunk}
                done[cell.index] = _stored(experiment, cell, truths[key], options, out, numbers[cell.index], before)
                failures.judge([done[cell.index]], max_failed)
        results = [done[cell.index] for cell in cells]
        if out is not None:
            about = (experiment.name, results[0].kind, experiment.seed, experiment.precision)
            write_summary(out, *about, results)
            directory.tidy(out)
    return results


def _stored(
    experiment: Experiment,
    cell: Cell,
    truth: dict[str, Any],
    options: dict[str, Any],
    out: Path | None,
    number: int,
    before: Result | None,
) -> Result:
    """Play one cell, or the runs that it lacks, and store it; `before` is what its files hold of fewer runs."""
    if out is None:
        return _played(experiment, cell, truth, options)
    checkpoint, stored = out / "checkpoint" / f"{number:03d}", cell_paths(out, number)[0]
    options = {**options, "checkpoint_dir": checkpoint}
    if before is not None and ("samples" in before.arrays or "regret" in before.arrays):  # else all are played again
        options["finished"] = Finished(str(stored), before.identity, before.arrays)
    try:
        result = _played(experiment, cell, truth, options)
    except BadInput:
        raise
    except ValueError as error:
        if str(checkpoint) in str(error) or str(stored) in str(error):  # a file is damaged, or of something else
            raise BadInput(" ".join(str(error).split())) from None
        raise
    save_cell(out, number, result)
    shutil.rmtree(checkpoint, ignore_errors=True)
    return result


def _played(experiment: Experiment, cell: Cell, truth: dict[str, Any], options: dict[str, Any]) -> Result:
    """Play one cell; an algorithm or an environment that breaks its contract is bad input."""
    try:
        return _PLAY[experiment.kind](experiment, cell, truth, options)
    except ContractError as error:
        raise BadInput(f"{cell.instance.name}/{cell.algorithm.name}: {' '.join(str(error).split())}") from None


def _simulate(experiment: Experiment, cell: Cell, truth: dict[str, Any], options: dict[str, Any]) -> Result:
    record = simulate_cell(
        *_program(cell),
        horizon=experiment.horizon,
        num_runs=experiment.runs,
        seed=experiment.seed,
        checkpoints=experiment.checkpoints,
        precision=experiment.precision,  # pyright: ignore[reportArgumentType]
        per_run=experiment.per_run,
        hindsight=experiment.hindsight,
        replan_late=experiment.replan_late,
        any_rewards=experiment.any_rewards,
        **options,
    )
    return RegretResult.from_record(record, **_labels(experiment, cell), truth=truth)


def play_stopping(experiment: Experiment, cell: Cell, truth: dict[str, Any], options: dict[str, Any]) -> StoppingResult:
    """Play one cell's runs until each stops, or has spent its budget; `options` go to the engine as they are."""
    record = identify_cell(
        *_program(cell),
        num_runs=experiment.runs,
        seed=experiment.seed,
        max_rounds=experiment.most_rounds(cell),
        precision=experiment.precision,  # pyright: ignore[reportArgumentType]
        any_rewards=experiment.any_rewards,
        **options,
    )
    return stopping_result(
        record,
        guarantee(cell),
        budgeted=bool(experiment.budget),
        **_labels(experiment, cell),
        truth=truth,
        max_rounds=experiment.most_rounds(cell),
        warnings=cautions(cell, truth.get("means")),
    )


_PLAY = {"simulate": _simulate, "identify": play_stopping}


def _labels(experiment: Experiment, cell: Cell) -> dict[str, Any]:
    return {
        "instance": cell.instance.name,
        "algorithm": cell.algorithm.name,
        "params": {name: plain(value) for name, value in cell.params.items()},
        "seed": experiment.seed,
        "precision": experiment.precision,
        "any_rewards": experiment.any_rewards and bool(misfit(cell.build().rewards, cell.instance.build().rewards)),
    }


def bar(experiments: Sequence[Experiment], progress: bool | Callable[[Any], None] | None, share: float = 1.0) -> Any:
    """Return the context of one bar over experiments of one kind, of which this share of the cells is to be played."""
    if callable(progress):
        return contextlib.nullcontext(progress)
    show, first = False if progress is False else None, experiments[0]
    name = first.name if len(experiments) == 1 else "all"
    runs = [e.runs * len(list(e.cells())) for e in experiments]
    if first.kind == "simulate":
        return progress_bar(round(share * sum(n * first.horizon for n in runs)), name, show)
    return runs_bar(round(share * sum(runs)), name, show)


def _program(cell: Cell) -> tuple[Make, PyTree]:
    """Return the `make` that cells of one static structure share, and this cell's traced arguments."""
    algorithm, environment = cell.algorithm.entry, cell.instance.entry
    fixed, moving = _split(algorithm, cell.arguments)
    fixed_world, moving_world = _split(environment, cell.instance.arguments)
    factories = algorithm.factory(), environment.factory()  # of a module that was reloaded they are others
    still = tuple(fixed.items()), tuple(fixed_world.items())
    make = _make(factories, algorithm, environment, *still, bool(moving_world))
    return make, {"algorithm": _arrays(moving), "environment": _arrays(moving_world)}


# The engine compiles once per `make` object and shapes: an equal structure must find the same object again.
@functools.lru_cache(maxsize=64)
def _make(
    factories: tuple, algorithm: Entry, environment: Entry, fixed: tuple, fixed_world: tuple, moves: bool
) -> Make:
    still = None if moves else environment.build(dict(fixed_world))  # built once, not in every trace

    def make(arguments: PyTree) -> tuple[Algorithm, Environment]:
        world = still or environment.build(dict(fixed_world) | arguments["environment"])
        return algorithm.build(dict(fixed) | arguments["algorithm"]), world

    return make


def _split(entry: Entry, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    moving = entry.traced(given)
    still = {name: value for name, value in given.items() if name not in moving}
    return still, {name: value for name, value in given.items() if name in moving}


def _arrays(given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.asarray(value, np.float64) for name, value in given.items()}
