"""The delta audit of an experiment: the runs of each cell in stored batches, one verdict per cell, and one table.

Batch b of a cell plays the runs that follow those of batch b - 1, with the seed of the experiment, so that an audit
continues from the stored batches.
"""

import dataclasses
import shutil
from collections.abc import Sequence
from pathlib import Path

import jax
import numpy as np

from jaxbandit.base.arguments import FRACTION
from jaxbandit.engine.driver.execution import DEFAULT, Execution
from jaxbandit.engine.storage import json_files
from jaxbandit.lab.auditing.cell import Batch, Finding, Limits, audit_draws
from jaxbandit.lab.experiments import beginning, directory, forecast, playing, tasks
from jaxbandit.lab.experiments.playing import play
from jaxbandit.lab.experiments.truth import guarantee
from jaxbandit.lab.specs.spec import Cell, Experiment
from jaxbandit.running import failures
from jaxbandit.running.distribution import division, executors
from jaxbandit.running.progress import progress_bar
from jaxbandit.running.results import names
from jaxbandit.running.results.base import Result
from jaxbandit.running.results.loading import load_cell
from jaxbandit.running.results.saving import save_cell
from jaxbandit.running.results.stopping import StoppingResult
from jaxbandit.running.truth import candidates_of, means_of, sorted_means_of
from jaxbandit.support.domains import check
from jaxbandit.support.refusals import refuse, resumable
from jaxbandit.support.text import align
from jaxbandit.support.types import Json
from jaxbandit.theory.confidence_sequence import confidence_sequence
from jaxbandit.theory.intervals import CONFIDENCE

WIDTH = 128  # on a CPU; otherwise small first batches would use fewer lanes, and each width is compiled anew
IN_MEMORY = ("samples", "outcome", "shortfall")  # arrays of the runs that stay in memory; the others are only on disk


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AuditedResult(StoppingResult):
    """All runs of an audited cell, with the finding about its error rate."""

    finding: Finding

    def content(self) -> Json:
        """Return the cell's content with `audit`; the error's interval is one that holds whenever the audit stops."""
        content = super().content()
        errors = self.errors()
        if errors is not None and len(errors):
            interval = confidence_sequence(int(errors.sum()), len(errors), CONFIDENCE)
            content["error"] |= {"low": interval.low, "high": interval.high}
        return content | {"audit": self.finding.summary()}


def audit_experiment(
    experiment: Experiment,
    out: Path | None,
    limits: Limits | None = None,
    *,
    max_failed: float = 0.0,
    execution: Execution = DEFAULT,
) -> list[AuditedResult]:
    """Audit, or continue to audit, every cell of a resolved experiment of kind "identify", in the order of its cells.

    Args:
      experiment: what `spec.load` returns; its `runs` are the length of the first batches.
      out: directory in which the batches are stored, or None to store nothing.
      limits: the joint confidence of the table, the accuracy to reach, and the budget of a cell.
      max_failed: fraction of a cell's runs that may fail, in [0, 1]. If more fail, an error is raised, but the batches
        remain stored.
      execution: how the runs of each batch are played; `out` holds the checkpoints.

    Raises:
      BadInput: an algorithm of the experiment does not guarantee a delta, `out` holds another experiment, or too many
        runs failed.
      Unfinished: the disk failed during the audit.
      KeyboardInterrupt: the audit was interrupted. Its state has been saved, and the same call continues.
    """
    check("audit: max_failed", max_failed, FRACTION)
    if execution.executor is not None:
        executors.crew_of(execution.executor)
    if execution.progress is True:
        execution = execution._replace(progress=None)
    if execution.width is None and jax.default_backend() == "cpu":
        execution = execution._replace(width=WIDTH)
    cells = list(experiment.cells())
    _check(experiment, cells)
    results = []
    with resumable(out, "out"), beginning.opened(out):
        if out is not None:
            directory.claim(out, experiment, grows=False)
        for cell in cells:
            batches = _Batches(experiment, cell, out, execution)
            delta = guarantee(cell)["delta"]
            finding = audit_draws(batches.draw, delta, limits, first=experiment.runs, cells=len(cells))
            results.append(batches.result(finding))
            failures.judge(results[-1:], max_failed)
        if out is not None:
            json_files.write_json(out / "audit.json", directory.summary_of(experiment, results))
            shutil.rmtree(out / "audit" / "checkpoint", ignore_errors=True)
    return results


def table(results: Sequence[AuditedResult]) -> str:
    """Return the audit as a table."""
    rows = [("instance", "algorithm", "verdict", "delta", "error rate", "wrong", "runs")]
    for name, result in zip(names.algorithms(results), results, strict=True):
        finding = result.finding
        wrong, unjudged = _counts(result)
        rows.append(
            (
                result.instance,
                name,
                str(finding),
                result.promised,
                f"[{finding.low:.3g}, {finding.high:.3g}]",
                f"{wrong}" + (f" to {wrong + unjudged}" if unjudged else ""),
                f"{result.runs}",
            )
        )
    text = align(rows, right=(3, 5, 6), keys=2)
    text += f"\nAll intervals hold simultaneously with confidence {results[0].finding.confidence:g}"
    if any(result.runs > result.outcomes()["stopped"] for result in results):
        text += "\nRuns that did not stop by their rule count as right in the lower bound, as wrong in the upper"
    if any(result.unjudged for result in results):
        text += "\nRecommendations that cannot be judged count as right in the lower bound, as wrong in the upper"
    return text


class _Batches:
    """The batches of one cell, computed or read from disk."""

    def __init__(
        self,
        experiment: Experiment,
        cell: Cell,
        out: Path | None,
        execution: Execution,
    ):
        self.experiment, self.cell, self.execution = experiment, cell, execution
        environment = cell.instance.build()
        self.truth = {"means": means_of(environment), "sorted_means": sorted_means_of(environment)}
        self.truth["candidates"] = candidates_of(environment)
        self.truth = {name: means for name, means in self.truth.items() if means is not None}
        self.folder = None if out is None else out / "audit" / f"{cell.index:03d}"
        self.batches: list[StoppingResult] = []

    def draw(self, first: int, number: int) -> Batch:
        """Return the runs first, ..., first + number - 1, computed unless they are stored."""
        index = len(self.batches)
        with directory.one_line():
            stored = None if self.folder is None else load_cell(self.folder, index)
        # The last batch of a smaller budget may be shorter than with a larger budget.
        if isinstance(stored, StoppingResult) and stored.runs == number:
            batch = stored
        else:
            batch = self._play(index, first, number)
        self.batches.append(dataclasses.replace(batch, arrays={name: batch.arrays[name] for name in IN_MEMORY}))
        return Batch(*_counts(batch), batch.seconds["run"])

    def _play(self, index: int, first: int, number: int) -> StoppingResult:
        part = dataclasses.replace(self.experiment, runs=number)
        forecast.check_size(part, None if self.folder is None else self.folder.parent, [self.cell])
        checkpoint = None if self.folder is None else self.folder.with_name("checkpoint") / f"{self.cell.index:03d}"
        label = f"{self.cell.instance.name}/{self.cell.algorithm.name} after {first} runs"
        with progress_bar(number, label, "run", self.execution.progress) as advance:
            execution = self.execution._replace(directory=checkpoint, progress=advance)
            with directory.one_line(checkpoint):
                batch = (
                    play(part, self.cell, self.truth, first_run=first, execution=execution)
                    if execution.executor is None
                    else self._divide(part, first, execution)
                )
        assert isinstance(batch, StoppingResult)  # the kind of the experiment is "identify"
        if self.folder is not None and checkpoint is not None:
            save_cell(self.folder, index, batch)
            shutil.rmtree(checkpoint, ignore_errors=True)
        return batch

    def _divide(self, part: Experiment, first: int, execution: Execution) -> Result:
        """Compute a batch on the workers of an executor."""
        folder = None if self.folder is None else self.folder.with_name(division.FOLDER) / f"{self.cell.index:03d}"
        task = {**tasks.of_experiment(self.experiment), "cell": self.cell.index}
        what = f"{part.name}: {self.cell.instance.name}/{self.cell.algorithm.name}"
        share = division.Share(what, tasks.play, task, first, first + part.runs, folder)
        record = division.divided(share, execution)
        return playing.result_of(part, self.cell, self.truth, record)

    def result(self, finding: Finding) -> AuditedResult:
        """Return all runs as one result."""
        first = self.batches[0]
        labels = {field.name: getattr(first, field.name) for field in dataclasses.fields(first)}
        labels |= {
            "runs": finding.runs,
            "arrays": {name: np.concatenate([b.arrays[name] for b in self.batches]) for name in IN_MEMORY},
            "seconds": {name: sum(b.seconds[name] for b in self.batches) for name in first.seconds},
            "run_steps": sum(b.run_steps for b in self.batches),
            "lane_utilization": None,
        }
        return AuditedResult(**labels, finding=finding)


def _counts(result: StoppingResult) -> tuple[int, int]:
    """Return how many runs are wrong, and of how many it is not known."""
    verdicts = result.judged()
    assert verdicts is not None  # `_check` requires environments that check recommendations
    return int((verdicts == 1).sum()), result.runs - int(np.isfinite(verdicts).sum())


def _check(experiment: Experiment, cells: Sequence[Cell]) -> None:
    where = f"audit of {experiment.name}: "
    if experiment.kind != "identify":
        refuse(f"{where}kind", f' = "{experiment.kind}", must be "identify": only stopping rules guarantee a delta')
    for cell in cells:
        if "delta" not in guarantee(cell):
            name, type_ = cell.algorithm.name, cell.algorithm.type
            refuse(f"{where}algorithm {name}", f" = {type_}, must be one that guarantees a delta")
    for instance in experiment.instances:
        if instance.build().simple_regret is None:
            refuse(f"{where}instance {instance.name}", f" = {instance.type}, must be one that checks recommendations")
