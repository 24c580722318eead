"""Running an experiment cell by cell, with storing of each cell, resuming, and division among an executor's workers."""

import functools
import itertools
import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from jaxbandit.engine.driver import parts
from jaxbandit.engine.driver.execution import DEFAULT, Execution
from jaxbandit.engine.layout import compiling
from jaxbandit.engine.storage import json_files
from jaxbandit.engine.storage.checkpoint import Finished
from jaxbandit.lab.experiments import ahead, beginning, directory, forecast, playing, tasks
from jaxbandit.lab.experiments.truth import seeks_best_arm, truth_of
from jaxbandit.lab.specs.spec import Cell, Experiment
from jaxbandit.running import failures
from jaxbandit.running.distribution import division, executors
from jaxbandit.running.distribution.division import Share
from jaxbandit.running.distribution.executors import Crew
from jaxbandit.running.progress import progress_bar
from jaxbandit.running.results.base import Result
from jaxbandit.running.results.saving import cell_paths, save_cell
from jaxbandit.support.refusals import refuse, resumable

SHOWN = Execution(progress=True)


def run_experiment(
    experiment: Experiment,
    out: Path | None,
    *,
    max_failed: float | None = None,
    execution: Execution = SHOWN,
    alone: bool = True,
) -> list[Any]:
    """Run or resume every cell, one algorithm on one instance, of an experiment; return one Result per cell.

    Args:
      experiment: an experiment returned by `spec.load`.
      out: directory of the results, created if it does not exist. It may hold the same experiment, finished or not, or
        the experiment with fewer instances, algorithms or runs; only what is missing is run. None writes no files.
      max_failed: fraction of a cell's runs that may fail, in [0, 1]. If more fail, an error is raised, but the cell is
        kept. Default: the value of the experiment.
      execution: how the runs are played; `out` holds the checkpoints. With progress True, a line is printed every ten
        seconds if stderr is not a terminal.
      alone: whether no other experiment runs beside this one. The next cell is then compiled while one is played.

    Raises:
      BadInput: `out` belongs to another experiment, holds results of other versions or a damaged file, is in use by
        another process, or cannot be written; the results would not fit into memory; too many runs failed; or a worker
        cannot play a task. Finished parts are kept.
      Unfinished: the disk failed during the run, or tasks killed their workers and were given up.
      KeyboardInterrupt: the run was interrupted. Its state has been saved, and the same call resumes.
    """
    max_failed = experiment.max_failed if max_failed is None else max_failed
    failures.check_share("run", max_failed)
    cells = list(experiment.cells())
    forecast.check_size(experiment, out)
    if execution.directory is not None:
        refuse("run", ": directory is given, but the directory of the results holds the checkpoints; leave it out")
    crew = None if execution.executor is None else executors.crew_of(execution.executor, execution.workers)
    with resumable(out, "out"), beginning.opened(out):
        numbers: list[int] = list(range(len(cells)))
        done: dict[int, Result] = {}
        if out is not None:
            numbers, done = directory.claim(out, experiment)
        left = sum(experiment.runs - (done[cell.index].runs if cell.index in done else 0) for cell in cells)
        label = "" if crew is None else f" on {crew}"
        with bar([experiment], execution.progress, left / (experiment.runs * len(cells)), label) as advance:
            job = Job(experiment, out, numbers, done, execution._replace(progress=advance))
            if crew is not None:
                job.divide(crew)
            played = [cell for cell in cells if cell.index in job.shares] if alone and crew is None else []
            following = {one.index: other for one, other in itertools.pairwise(played)}
            with ahead.compiler() as compile:
                for cell in cells:
                    if cell.index in following:
                        compile(functools.partial(job.compile, following[cell.index]))
                    if cell.index in job.shares:
                        done[cell.index] = job.finish(cell)
                    failures.judge([done[cell.index]], max_failed)
        results = [done[cell.index] for cell in cells]
        if out is not None:
            json_files.write_json(out / "summary.json", directory.summary_of(experiment, results))
            directory.tidy(out)
    return results


class Job:
    """The unfinished cells of an experiment: which runs of each exist and which are left."""

    def __init__(
        self,
        experiment: Experiment,
        out: Path | None,
        numbers: Sequence[int],
        done: dict[int, Result],
        execution: Execution = DEFAULT,
    ):
        self.experiment, self.out, self.numbers, self.done = experiment, out, numbers, done
        self.execution = execution
        self._truths: dict[tuple[str, bool], dict[str, Any]] = {}
        self.shares: dict[int, Share] = {}
        for cell in experiment.cells():
            before = done.get(cell.index)
            if before is None or before.runs < experiment.runs:
                first = before.runs if before is not None and _has_runs(before) else 0
                what = f"{experiment.name}: {cell.instance.name}/{cell.algorithm.name}"
                folder = self._place(division.FOLDER, cell)
                self.shares[cell.index] = Share(what, tasks.play, {"cell": cell.index}, first, experiment.runs, folder)

    def divide(self, crew: Crew) -> None:
        """Play the remaining runs of all cells on an executor's workers."""
        about = tasks.of_experiment(self.experiment)
        for share in self.shares.values():
            share.task = {**about, **share.task}
        division.divide(list(self.shares.values()), self.execution, crew)

    def finish(self, cell: Cell) -> Result:
        """Play the runs of a cell that no part contains, and store the complete result."""
        share = self.shares[cell.index]
        if not share.have:
            return self._at_once(cell)
        execution = self._with_checkpoints(cell)
        some = share.parts()
        for first, end in share.left():
            runs = {"first_run": first, "num_runs": end - first}
            record = playing.record_of(self.experiment, cell, **runs, execution=execution)
            some.append(parts.part_of(record, first, "the runs played here"))
        return self.join(cell, some)

    def compile(self, cell: Cell) -> None:
        """Begin to play a cell, inside `only_compiling`."""
        execution = self.execution._replace(progress=None)
        playing.record_of(self.experiment, cell, execution=execution, finished=self._earlier_runs(cell))

    def join(self, cell: Cell, some: Sequence[parts.Part], mixed: bool = False) -> Result:
        """Store the result of a cell's parts, including its first runs if they were finished before."""
        before = self.done.get(cell.index)
        if before is not None and self.shares[cell.index].first:
            some = [division.earlier(before), *some]
        some = parts.in_order(some, self.shares[cell.index].what)
        record = division.record_of(some, mixed)
        return self._store(cell, playing.result_of(self.experiment, cell, self._truth(cell), record))

    def _at_once(self, cell: Cell) -> Result:
        """Play or resume a cell that is not divided into parts."""
        options = {"execution": self._with_checkpoints(cell), "finished": self._earlier_runs(cell)}
        with directory.one_line(self._place("checkpoint", cell), self._file(cell)):
            return self._store(cell, playing.play(self.experiment, cell, self._truth(cell), **options))

    def _store(self, cell: Cell, result: Result) -> Result:
        if self.out is not None:
            save_cell(self.out, self.numbers[cell.index], result)
            for name in ("checkpoint", division.FOLDER):
                shutil.rmtree(self.out / name / f"{self.numbers[cell.index]:03d}", ignore_errors=True)
        return result

    def _with_checkpoints(self, cell: Cell) -> Execution:
        """Return the execution that saves the state of a cell in the directory of the results."""
        return self.execution._replace(directory=self._place("checkpoint", cell))

    def _earlier_runs(self, cell: Cell) -> Finished | None:
        """Return the runs of a cell that an earlier call has finished; None if all are played again."""
        before = self.done.get(cell.index)
        return Finished(self._file(cell), before.identity, before.arrays) if before and _has_runs(before) else None

    def _file(self, cell: Cell) -> str:
        return "" if self.out is None else str(cell_paths(self.out, self.numbers[cell.index])[0])

    def _place(self, name: str, cell: Cell) -> Path | None:
        return None if self.out is None else self.out / name / f"{self.numbers[cell.index]:03d}"

    def _truth(self, cell: Cell) -> dict[str, Any]:
        key = cell.instance.name, seeks_best_arm(cell)
        if key not in self._truths:
            self._truths[key] = truth_of(cell.instance, self.experiment.kind, best_arm=key[1])
        return self._truths[key]


def _has_runs(result: Result) -> bool:
    """Return whether a result holds per-run data, so that runs can be added to it."""
    return "samples" in result.arrays or "regret" in result.arrays


def bar(
    experiments: Sequence[Experiment],
    progress: bool | Callable[[Any], None] | None,
    share: float = 1.0,
    label: str = "",
) -> Any:
    """Return the context of one progress bar for experiments of one kind; `share` is the fraction left to play."""
    first, show = experiments[0], None if progress is True else progress
    name = (first.name if len(experiments) == 1 else "all") + label
    runs = [e.runs * len(list(e.cells())) for e in experiments]
    unit, steps = ("step", first.horizon) if first.kind == "simulate" else ("run", 1)
    alike = sum(len(list(e.cells())) for e in experiments) == 1
    return progress_bar(round(share * sum(n * steps for n in runs)), name, unit, show, progress is True, alike)


def run_experiments(
    experiments: Sequence[tuple[Experiment, Path]],
    *,
    at_once: int = 1,
    execution: Execution = SHOWN,
    **options: Any,
) -> None:
    """Run or resume experiments of one kind, each in its own directory, with the options of `run_experiment`.

    Args:
      experiments: pairs of an experiment and its directory.
      at_once: number of experiments that run side by side. It does not affect the results.
      execution: as for `run_experiment`; one progress bar is shown for all of them.
    """
    if at_once == 1:
        for experiment, directory in experiments:
            run_experiment(experiment, directory, execution=execution, **options)
        return
    stop = threading.Event()
    with bar([experiment for experiment, _ in experiments], execution.progress) as advance:

        def heard(news: Any) -> None:
            if stop.is_set():  # an exception raised here makes the engine save its state and end
                raise KeyboardInterrupt
            if advance is not None:
                advance(news)

        def run(experiment: Experiment, directory: Path, quiet: bool = execution.progress is False) -> None:
            with compiling.quietly(quiet):
                run_experiment(experiment, directory, execution=execution, alone=False, **options)

        execution = execution._replace(progress=heard)
        with ThreadPoolExecutor(at_once) as pool:
            futures = [pool.submit(run, *each) for each in experiments]
            try:
                for future in as_completed(futures):
                    future.result()
            except BaseException:
                stop.set()
                for future in futures:
                    future.cancel()
                raise
