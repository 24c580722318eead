"""The function `audit`, which tests whether stopping rules keep their delta, as `jaxbandit audit` does."""

import math
import warnings
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path

from jaxbandit.engine.driver.execution import DEFAULT, Execution
from jaxbandit.lab.auditing.cell import Limits
from jaxbandit.lab.specs import spec as specs
from jaxbandit.running.results.base import ResultSet


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
    progress: bool | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    execution: Execution = DEFAULT,
) -> ResultSet:
    """Test whether the stopping rules of an experiment of kind "identify" keep their error probability delta.

    Runs are played in batches until the verdict of each cell is reached or a limit is spent. A cell is one algorithm on
    one instance.

    Args:
      spec: path of a TOML file, or name of an experiment that comes with the package. Its number of runs is the length
        of the first batches.
      out: directory that stores the batches, from which a call with a higher confidence or larger limits continues.
        None stores nothing.
      confidence: joint confidence level of all verdicts, in (0, 1).
      resolution: for a rule that errs less than delta, the factor by which it does is considered known once the ratio
        of its bounds is at most this number, > 1.
      factor: the audit of a cell ends when the rule is shown to be conservative by this factor, > 1.
      runs: largest number of runs per cell.
      seconds: largest number of seconds per cell.
      overrides: as for `run`.
      imports: as for `run`.
      max_failed: fraction of a cell's runs that may fail, in [0, 1]. If more fail, an error is raised.
      progress: whether to show a progress bar on stderr, if it is a terminal.
      workers: number of threads; with an executor, the number of threads of each task. It does not affect the results.
      executor: a PEP 3148 executor on whose workers the runs are played. It does not affect the results. See
        docs/cluster.md.
      execution: an `Execution`, with all that can be chosen about how the runs are played.

    Returns:
      A ResultSet. The `finding` of each result is the verdict with the bounds on the error rate.

    Raises:
      ValueError: the experiment, a limit or the directory cannot be used. The message has one line.
    """
    from jaxbandit.lab.auditing.experiment import audit_experiment
    from jaxbandit.lab.experiments.truth import warnings_of

    limits = Limits(confidence, resolution, factor, runs, seconds).check()
    experiment = specs.load(spec, overrides, imports=imports)
    for line in warnings_of(experiment):
        warnings.warn(line, stacklevel=2)
    execution = execution.updated(progress=progress, workers=workers, executor=executor)
    out = None if out is None else Path(out)
    results = audit_experiment(experiment, out, limits, max_failed=max_failed, execution=execution)
    return ResultSet(experiment.name, tuple(results), experiment.to_toml())
