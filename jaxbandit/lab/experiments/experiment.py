"""Running an experiment cell by cell, with storing of each cell, resuming, and division among an executor's workers.

Several experiments may run at once: while one compiles, which uses one core, others run or compile as well.
"""

import contextlib
import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from jaxbandit.base.refusals import BadInput
from jaxbandit.engine.storage import parts
from jaxbandit.engine.storage.checkpoint import Finished
from jaxbandit.lab.experiments import directory, division, forecast, playing, tasks
from jaxbandit.lab.experiments.division import How, Share
from jaxbandit.lab.experiments.truth import seeks_best_arm, truth_of
from jaxbandit.lab.specs.spec import Cell, Experiment
from jaxbandit.running import failures
from jaxbandit.running.distribution.executors import Crew
from jaxbandit.running.progress import progress_bar, runs_bar
from jaxbandit.running.results.base import Result
from jaxbandit.running.results.saving import cell_paths, save_cell, write_summary


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
    executor: Any = None,
    runs_per_task: int | None = None,
    seconds_per_task: float = division.SECONDS,
    send_back: bool = False,
) -> list[Any]:
    """Run or resume every cell of an experiment. A cell is one algorithm on one instance.

    None of the arguments from `workers` to `chunk` and from `executor` on affects the results.

    Args:
      experiment: an experiment returned by `spec.load`.
      out: directory of the results, created if it does not exist. It may hold the same experiment, finished or not, or
        the experiment with fewer instances, algorithms or runs; only what is missing is run. None writes no files.
      progress: True shows a bar on stderr if it is a terminal and prints a line every ten seconds otherwise; None shows
        a bar on a terminal only; False shows nothing. A function receives what the engine reports: the number of
        run-steps just played or, for runs that stop, the number of runs that ended and the run-steps.
      workers: number of threads; with an executor, the number of threads of each task.
      tile: number of runs played side by side, for a fixed horizon.
      lanes: number of runs played side by side, for runs that stop.
      chunk: number of steps between two synchronizations with the host, for runs that stop.
      max_failed: fraction of a cell's runs that may fail, in [0, 1]. If more fail, an error is raised, but the cell is
        kept. Default: the value of the experiment.
      executor: a PEP 3148 executor on whose workers the runs are played, task by task. Its workers must not be forked.
      runs_per_task: number of runs of a task. Default: as many as take about `seconds_per_task`, measured by a first
        task.
      seconds_per_task: target duration of a task in seconds.
      send_back: whether workers send parts back instead of writing them into `out`, which is then not shared.

    Returns:
      One Result per cell, in the order of `experiment.cells()`.

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
    forecast.check_memory(experiment)
    how = None if executor is None else How(executor, runs_per_task, seconds_per_task, send_back, workers)
    crew = None if how is None else how.check("run")
    with directory.disk(out), directory.lock(out):
        numbers: list[int] = list(range(len(cells)))
        done: dict[int, Result] = {}
        if out is not None:
            numbers, done = directory.claim(out, experiment)
        left = sum(experiment.runs - (done[cell.index].runs if cell.index in done else 0) for cell in cells)
        label = "" if crew is None else f" on {crew}"
        with bar([experiment], progress, left / (experiment.runs * len(cells)), label) as advance:
            engine = {"workers": workers, "tile": tile, "lanes": lanes, "chunk": chunk}
            job = Job(experiment, out, numbers, done, engine, advance)
            if how is not None and crew is not None:
                job.divide(how, crew)
            for cell in cells:
                if cell.index in job.shares:
                    done[cell.index] = job.finish(cell)
                failures.judge([done[cell.index]], max_failed)
        results = [done[cell.index] for cell in cells]
        if out is not None:
            about = (experiment.name, results[0].kind, experiment.seed, experiment.precision)
            write_summary(out, *about, results)
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
        engine: dict[str, Any],
        advance: Callable[[Any], None] | None,
    ):
        self.experiment, self.out, self.numbers, self.done = experiment, out, numbers, done
        own = ("workers", "tile") if experiment.kind == "simulate" else ("workers", "lanes", "chunk")
        self.options = {name: engine[name] for name in own}
        self.advance, self.report = advance, division.reporter(experiment.kind, experiment.horizon, advance)
        self._truths: dict[tuple[str, bool], dict[str, Any]] = {}
        self.shares: dict[int, Share] = {}
        for cell in experiment.cells():
            before = self._before(cell)
            if before is None or before.runs < experiment.runs:
                given = {"cell": cell.index, "options": self.options}
                first = before.runs if before is not None and _kept(before) else 0
                what = f"{experiment.name}: {cell.instance.name}/{cell.algorithm.name}"
                self.shares[cell.index] = Share(what, given, first, experiment.runs, self._place(division.FOLDER, cell))

    def divide(self, how: How, crew: Crew) -> None:
        """Play the remaining runs of all cells on an executor's workers."""
        about = tasks.of_experiment(self.experiment)
        for share in self.shares.values():
            share.task = {**about, **share.task}
        division.divide(list(self.shares.values()), how, crew, self.report)

    def finish(self, cell: Cell) -> Result:
        """Play the runs of a cell that no part contains, and store the complete result."""
        share = self.shares[cell.index]
        if not share.have:
            return self._at_once(cell)
        checkpoint = self._place("checkpoint", cell)
        some = share.parts()
        for first, end in share.left():
            given = {"first_run": first, "num_runs": end - first, "checkpoint_dir": checkpoint}
            record = playing.record_of(self.experiment, cell, self.options | given | {"progress": self.advance})
            some.append(parts.part_of(record, first, "the runs played here"))
        return self.join(cell, some)

    def join(self, cell: Cell, some: Sequence[parts.Part], mixed: bool = False) -> Result:
        """Store the result of a cell's parts, including its first runs if they were finished before."""
        before = self._before(cell)
        if before is not None and self.shares[cell.index].first:
            some = [division.earlier(before), *some]
        some = parts.in_order(some, self.shares[cell.index].what)
        record = division.record_of(some, mixed)
        return self._stored(cell, playing.result_of(self.experiment, cell, self._truth(cell), record))

    def _at_once(self, cell: Cell) -> Result:
        """Play or resume a cell that is not divided into parts."""
        checkpoint, before = self._place("checkpoint", cell), self._before(cell)
        options = {**self.options, "progress": self.advance, "checkpoint_dir": checkpoint}
        stored = "" if self.out is None else str(cell_paths(self.out, self.numbers[cell.index])[0])
        if before is not None and _kept(before):  # otherwise all runs are played again
            options["finished"] = Finished(stored, before.identity, before.arrays)
        try:
            return self._stored(cell, playing.play(self.experiment, cell, self._truth(cell), options))
        except BadInput:
            raise
        except ValueError as error:
            if checkpoint is not None and (str(checkpoint) in str(error) or stored in str(error)):
                raise BadInput(" ".join(str(error).split())) from None  # a file is damaged or belongs to another cell
            raise

    def _stored(self, cell: Cell, result: Result) -> Result:
        if self.out is not None:
            save_cell(self.out, self.numbers[cell.index], result)
            for name in ("checkpoint", division.FOLDER):
                shutil.rmtree(self.out / name / f"{self.numbers[cell.index]:03d}", ignore_errors=True)
        return result

    def _before(self, cell: Cell) -> Result | None:
        return self.done.get(cell.index)

    def _place(self, name: str, cell: Cell) -> Path | None:
        return None if self.out is None else self.out / name / f"{self.numbers[cell.index]:03d}"

    def _truth(self, cell: Cell) -> dict[str, Any]:
        key = cell.instance.name, seeks_best_arm(cell)
        if key not in self._truths:
            self._truths[key] = truth_of(cell.instance, self.experiment.kind, best_arm=key[1])
        return self._truths[key]


def _kept(result: Result) -> bool:
    """Return whether a result holds per-run data, so that runs can be added to it."""
    return "samples" in result.arrays or "regret" in result.arrays


def bar(
    experiments: Sequence[Experiment],
    progress: bool | Callable[[Any], None] | None,
    share: float = 1.0,
    label: str = "",
) -> Any:
    """Return the context of one progress bar for experiments of one kind; `share` is the fraction left to play."""
    if callable(progress):
        return contextlib.nullcontext(progress)
    show, first = False if progress is False else None, experiments[0]
    name = (first.name if len(experiments) == 1 else "all") + label
    runs = [e.runs * len(list(e.cells())) for e in experiments]
    if first.kind == "simulate":
        return progress_bar(round(share * sum(n * first.horizon for n in runs)), name, show, progress is True)
    return runs_bar(round(share * sum(runs)), name, show, progress is True)


def run_experiments(
    experiments: Sequence[tuple[Experiment, Path]],
    *,
    at_once: int = 1,
    progress: bool | None = True,
    **options: Any,
) -> None:
    """Run or resume experiments of one kind, each in its own directory.

    Args:
      experiments: pairs of an experiment and its directory.
      at_once: number of experiments that run side by side. It does not affect the results.
      progress: whether to show one progress bar for all of them on stderr, if it is a terminal.
      **options: as for `run_experiment`.

    Raises:
      KeyboardInterrupt: the runs were interrupted. All have saved their state, and the same call resumes.
    """
    if at_once == 1:
        for experiment, directory in experiments:
            run_experiment(experiment, directory, progress=progress, **options)
        return
    stop = threading.Event()
    with bar([experiment for experiment, _ in experiments], progress) as advance:

        def heard(news: Any) -> None:
            if stop.is_set():  # an exception raised here makes the engine save its state and end
                raise KeyboardInterrupt
            if advance is not None:
                advance(news)

        with ThreadPoolExecutor(at_once) as pool:
            futures = [pool.submit(run_experiment, e, d, progress=heard, **options) for e, d in experiments]
            try:
                for future in as_completed(futures):
                    future.result()
            except BaseException:
                stop.set()
                for future in futures:
                    future.cancel()
                raise
