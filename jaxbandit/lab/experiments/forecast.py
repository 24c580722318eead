"""What an experiment would take, before it is run: memory, cells, run-steps and an estimate of its seconds."""

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxbandit.engine.driver.execution import Execution, Progress
from jaxbandit.lab.experiments import playing
from jaxbandit.lab.specs.spec import Cell, Experiment
from jaxbandit.running import sizes
from jaxbandit.running.results import names
from jaxbandit.support import text
from jaxbandit.support.refusals import refuse

SECONDS = 1.0  # of one calibration, after the program has been compiled
MOST_SECONDS = 5.0  # of one whose runs stop by their own rule, for so many of them to end:
ENOUGH_RUNS = 1000  # or half of the runs, if that is fewer


def check_size(experiment: Experiment, out: Path | None, cells: Sequence[Cell] | None = None) -> None:
    """Raise BadInput if the results of these cells, by default all, need more memory or disk than there is."""
    cells = list(experiment.cells()) if cells is None else cells
    remedy = "per_run = false keeps only means, or ask" if experiment.kind == "simulate" else "ask"
    said = sizes.shortage(
        experiment.runs * sum(bytes_per_run(experiment, cell) for cell in cells),
        out,
        f"{remedy} for fewer runs or cells",
        half=bool(experiment.metrics),
    )
    if said:
        refuse(f"{experiment.name}: runs = {experiment.runs}", f": {said}")


def bytes_per_run(experiment: Experiment, cell: Cell) -> int:
    """Return about how many bytes the results of one run of a cell take."""
    num_arms = cell.instance.known.get("num_arms", 0)
    if experiment.kind == "identify":
        return sizes.of_stopped(num_arms, len(experiment.metrics))
    width = 4 if experiment.precision == "float32" else 8
    curves = 1 + experiment.hindsight + len(experiment.metrics)
    return sizes.of_runs(width, len(experiment.checkpoints), curves, num_arms, experiment.per_run)


@dataclass(frozen=True)
class Forecast:
    """What one cell, that is one algorithm on one instance, would take on this machine."""

    instance: str
    algorithm: str
    params: dict[str, Any]
    runs: int
    rounds: int  # a run; where runs stop by their own rule, at most so many
    kept_bytes: int  # what is kept of all runs
    compile_seconds: float  # 0 where an earlier cell shares the program
    seconds: float | None  # None where too few runs had stopped to estimate it
    most_seconds: float | None  # of runs that stop: if all of them reach `rounds`; None for batches of pulls
    stops: bool

    def summary(self) -> dict[str, Any]:
        """Return the forecast as plain data; keys that do not apply are absent."""
        times = {"compile": self.compile_seconds, "run": self.seconds, "run_at_most": self.most_seconds}
        return {
            "instance": self.instance,
            "algorithm": self.algorithm,
            "params": {name: value for name, value in self.params.items() if isinstance(value, int | float | str)},
            "runs": self.runs,
            "max_rounds" if self.stops else "rounds": self.rounds,
            "max_run_steps" if self.stops else "run_steps": self.runs * self.rounds,
            "kept_bytes": self.kept_bytes,
            "seconds": {name: round(value, 3) for name, value in times.items() if value is not None},
        }


class _CalibrationEnd(Exception):
    """Ends a calibration from inside the engine's progress report."""


class _Watch:
    """The engine's progress reports of one calibration."""

    def __init__(self, stops: bool, runs: int):
        self.stops, self.begun = stops, time.monotonic()
        self.enough = min(ENOUGH_RUNS, -(-runs // 2)) if stops else 0  # ended runs
        self.first: float | None = None  # when the first report came: until then the program was being compiled
        self.steps = self.finished = 0
        self.last = self.begun

    def __call__(self, progress: Progress) -> None:
        """Take one report in; raise once the calibration has lasted long enough."""
        self.last = time.monotonic()
        self.finished += progress.finished
        if self.first is None:  # its steps were played while, or just after, the program was compiled
            self.first = self.last
            return
        self.steps += progress.run_steps
        if self.last - self.first >= (SECONDS if self.finished >= self.enough else MOST_SECONDS):
            raise _CalibrationEnd


def forecast(experiment: Experiment) -> list[Forecast]:
    """Estimate what each cell of an experiment would take on this machine, in the order of `experiment.cells()`.

    Cells that share a compiled program share its calibration: the cell is played for about a second and what it
    computed is thrown away. For a fixed horizon, the estimate is the number of run-steps divided by the measured speed.
    For runs that stop by their own rule, it is the time so far over the share of the runs that have ended, once half of
    them, or 1,000, have ended within five seconds: right on average for exponential stopping times, and up to twice too
    much if all stop after a similar number of rounds. Otherwise, only the time if every run reaches `max_rounds` is
    given.
    """
    check_size(experiment, None)
    known: dict[Any, _Watch] = {}
    return [_of_cell(experiment, cell, known) for cell in experiment.cells()]


def _of_cell(experiment: Experiment, cell: Cell, known: dict[Any, _Watch]) -> Forecast:
    stops = experiment.kind == "identify"
    rounds = experiment.most_rounds(cell) if stops else experiment.horizon
    make, arguments = playing.program(cell, experiment.replan_late)
    leaves, structure = jax.tree.flatten(arguments)
    # The time until a rule stops depends on the instance's values too, not on the program alone.
    own = cell.index if stops else None
    key = (make, structure, tuple(np.shape(leaf) for leaf in leaves), own)
    shared = key in known
    watch = known[key] if shared else _calibrate(experiment, cell, stops)
    known[key] = watch
    measured = watch.first is not None and watch.steps > 0
    elapsed = watch.last - (watch.first or watch.last)
    seconds = most = None
    if not measured:  # all of it was played before the second report
        seconds = 0.0
    elif not stops:
        seconds = experiment.runs * rounds * elapsed / watch.steps
    else:
        if watch.finished >= watch.enough:
            seconds = experiment.runs * elapsed / watch.finished
        if cell.build().batch is None:
            most = experiment.runs * rounds * elapsed / watch.steps
    return Forecast(
        cell.instance.name,
        cell.algorithm.name,
        cell.params,
        experiment.runs,
        rounds,
        experiment.runs * bytes_per_run(experiment, cell),
        0.0 if shared else (watch.first or watch.last) - watch.begun,
        seconds if seconds is None or most is None else min(seconds, most),
        most,
        stops,
    )


def _calibrate(experiment: Experiment, cell: Cell, stops: bool) -> _Watch:
    watch = _Watch(stops, experiment.runs)
    with contextlib.suppress(_CalibrationEnd):
        playing.record_of(experiment, cell, execution=Execution(progress=watch))
    return watch


def table(forecasts: Sequence[Forecast]) -> str:
    """Return the forecasts as text, a row a cell, with the totals beneath."""
    head = ("instance", "algorithm", "runs", "rounds", "results", "compile s", "run s")
    rows = [
        (
            each.instance,
            name,
            f"{each.runs:,}",
            ("<= " if each.stops else "") + f"{each.rounds:,}",
            sizes.text(each.kept_bytes),
            _seconds(each.compile_seconds),
            _about(each),
        )
        for name, each in zip(names.algorithms(forecasts), forecasts, strict=True)
    ]
    lines = [text.align([head, *rows], right=(2, 3, 4, 5, 6), keys=2)]
    total = sum(each.compile_seconds + (each.seconds or 0.0) for each in forecasts)
    unknown = sum(each.seconds is None for each in forecasts)
    steps = sum(each.runs * each.rounds for each in forecasts)
    most = "at most " if any(each.stops for each in forecasts) else ""
    kept = sizes.text(sum(each.kept_bytes for each in forecasts))
    lines.append(
        f"{len(forecasts)} cells, {most}{steps:,} run-steps, {kept} of results, "
        f"about {_seconds(total)} s"
        + (f" and the {unknown} cells whose runs did not stop while they were measured" if unknown else "")
    )
    lines.append("nothing was kept; the seconds are estimated by playing each program for a moment on this machine")
    return "\n".join(lines)


def _about(each: Forecast) -> str:
    if each.seconds is not None:
        return _seconds(each.seconds)
    return "unknown" if each.most_seconds is None else f"<= {_seconds(each.most_seconds)}"


def _seconds(value: float) -> str:
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"
