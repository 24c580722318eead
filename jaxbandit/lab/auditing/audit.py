"""The function `audit`, which tests whether stopping rules keep their delta, as `jaxbandit audit` does."""

import math
import warnings
from collections.abc import Sequence
from pathlib import Path

from jaxbandit.base.calls import checked
from jaxbandit.engine.driver.execution import DEFAULT, Execution
from jaxbandit.lab.auditing.cell import Limits
from jaxbandit.lab.specs import spec as specs
from jaxbandit.running.results.base import ResultSet
from jaxbandit.running.results.stopping import StoppingResult


@checked
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
    execution: Execution = DEFAULT,
) -> ResultSet[StoppingResult]:
    """Test whether the stopping rules of an experiment of kind "identify" keep their error probability delta.

    Runs are played in batches until the verdict of each cell, one algorithm on one instance, is reached or a limit is
    spent.

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
      execution: how the runs are played, without an effect on the results; see `Execution`.

    Returns:
      A ResultSet. The `finding` of each result is the verdict with the bounds on the error rate.

    Raises:
      ValueError: the experiment, a limit or the directory cannot be used.
    """
    from jaxbandit.lab.auditing.experiment import audit_experiment
    from jaxbandit.lab.experiments.truth import warnings_of

    limits = Limits(confidence, resolution, factor, runs, seconds).check()
    experiment = specs.load(spec, overrides, imports=imports)
    for line in warnings_of(experiment):
        warnings.warn(line, stacklevel=2)
    out = None if out is None else Path(out)
    results = audit_experiment(experiment, out, limits, max_failed=max_failed, execution=execution)
    return ResultSet(experiment.name, tuple(results), experiment.to_toml())
