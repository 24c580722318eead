"""The function `run`, which runs an experiment from a TOML file, as `jaxbandit run` does on the command line."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxbandit.base.calls import checked
from jaxbandit.engine.driver.execution import DEFAULT, Execution
from jaxbandit.lab.specs import spec as specs
from jaxbandit.running.results.base import Result, ResultSet


@checked
def run(
    spec: str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    runs: int | None = None,
    horizon: int | None = None,
    seed: int | None = None,
    quick: bool = False,
    overrides: Sequence[str] = (),
    imports: bool = True,
    max_failed: float | None = None,
    execution: Execution = DEFAULT,
) -> ResultSet[Result]:
    """Run an experiment from a TOML file, or the part of it that a directory still lacks.

    Args:
      spec: path of the file, name of an experiment that comes with the package, or the content of a file in
        dictionaries and lists, also those of OmegaConf and Hydra.
      out: directory of the results, which the same call resumes, as for `jaxbandit run`. None writes no files.
      runs: number of independent runs per cell, >= 1, instead of the value in the file. A cell is one algorithm on one
        instance.
      horizon: number of rounds per run, >= 1, instead of the value in the file, for experiments with a fixed horizon.
      seed: seed, instead of the value in the file.
      quick: whether to limit the number of runs to 20.
      overrides: changes of the form "key=value", "algorithm.NAME.key=value" or "instance.NAME.key=value", with the
        value written as in TOML.
      imports: whether a `type` may name a factory outside the package. Importing its module executes it.
      max_failed: fraction of a cell's runs that may fail, in [0, 1], instead of the value in the file. If more fail,
        an error is raised.
      execution: how the runs are played, without an effect on the results; see `Execution`.

    Returns:
      A ResultSet with one Result per cell.

    Raises:
      ValueError: the experiment or the directory cannot be used.
    """
    from jaxbandit.lab.experiments.experiment import run_experiment
    from jaxbandit.lab.experiments.truth import warnings_of

    given = {"runs": runs, "horizon": horizon, "seed": seed}
    experiment = specs.load(spec, overrides, imports=imports, quick=quick, **given)
    for line in warnings_of(experiment):
        warnings.warn(line, stacklevel=2)
    results = run_experiment(experiment, None if out is None else Path(out), max_failed=max_failed, execution=execution)
    return ResultSet(experiment.name, tuple(results), experiment.to_toml())
