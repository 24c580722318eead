"""audit: whether the stopping rules of an experiment keep their delta, as `jaxbandit audit` says it, from Python."""

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxbandit.auditing.cell import Limits
from jaxbandit.results.base import ResultSet
from jaxbandit.specs import spec as specs


def audit(
    spec: str | Path,
    out: str | Path | None = None,
    *,
    confidence: float = 0.999,
    resolution: float = 2.0,
    factor: float = 20.0,
    runs: int = 1_000_000,
    seconds: float = math.inf,
    overrides: Sequence[str] = (),
    imports: bool = True,
    max_failed: float = 0.0,
    progress: bool = True,
    workers: int | None = None,
    executor: Any = None,
    runs_per_task: int | None = None,
) -> ResultSet:
    """Audit the stopping rules of an experiment of kind "identify", batch after batch until it is known.

    Args:
      spec: path of its TOML file, or name of one that comes with the package; its runs are the first batches' length.
      out: directory that keeps the batches, so that more confidence or a larger budget goes on from there; or None.
      confidence: of all verdicts together, in (0, 1).
      resolution: how conservative a rule is, is known once the bounds of that factor are within this ratio, > 1.
      factor: a rule conservative by this factor is conservative enough, > 1.
      runs: most runs a cell.
      seconds: most seconds a cell.
      overrides: as for `run`.
      imports: as for `run`.
      max_failed: share of a cell's runs that may go wrong, in [0, 1]; more is an error.
      progress: a bar on stderr where that is a terminal.
      workers: threads, with an executor of each task; changes no number.
      executor: a PEP 3148 executor on whose workers the runs are played; changes no number. See docs/cluster.md.
      runs_per_task: runs of one of its tasks; default: as many as take about a minute.

    Returns:
      A ResultSet; `finding` of each of its results is the verdict, with the bounds of the error rate.

    Raises:
      ValueError: the experiment, a limit or the directory cannot be used, named in one line.
    """
    from jaxbandit.auditing.experiment import audit_experiment
    from jaxbandit.running.truth import warnings_of

    limits = Limits(confidence, resolution, factor, runs, seconds)
    limits.check()
    experiment = specs.load(spec, overrides, imports=imports)
    for line in warnings_of(experiment):
        warnings.warn(line, stacklevel=2)
    options = {"progress": progress, "workers": workers, "max_failed": max_failed}
    options |= {"executor": executor, "runs_per_task": runs_per_task}
    results = audit_experiment(experiment, None if out is None else Path(out), limits, **options)
    return ResultSet(experiment.name, tuple(results), experiment.to_toml())
