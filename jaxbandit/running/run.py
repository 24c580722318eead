"""run: an experiment of a TOML file, as `jaxbandit run` plays it, from Python."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxbandit.results.base import ResultSet
from jaxbandit.specs import spec as specs


def run(
    spec: str | Path,
    out: str | Path | None = None,
    *,
    runs: int | None = None,
    horizon: int | None = None,
    seed: int | None = None,
    quick: bool = False,
    overrides: Sequence[str] = (),
    imports: bool = True,
    max_failed: float | None = None,
    progress: bool | None = None,
    workers: int | None = None,
    executor: Any = None,
    runs_per_task: int | None = None,
) -> ResultSet:
    """Run an experiment of a TOML file, or what of it a directory still lacks.

    Args:
      spec: path of the file, or name of an experiment that comes with the package.
      out: directory of the results, as for `jaxbandit run`, which resumes there; None keeps nothing on the disk.
      runs: independent runs a cell, in place of the file's.
      horizon: rounds a run, in place of the file's; of a fixed horizon only.
      seed: in place of the file's.
      quick: at most 20 runs.
      overrides: "key=value", "algorithm.NAME.key=value" or "instance.NAME.key=value", the value as in TOML.
      imports: whether a `type` may name a factory outside the package; importing its module runs it.
      max_failed: share of a cell's runs that may go wrong, in [0, 1], in place of the file's; more is an error.
      progress: a bar on stderr; default: only on a terminal.
      workers: threads, with an executor of each task; changes no number.
      executor: a PEP 3148 executor on whose workers the runs are played; changes no number. See docs/cluster.md.
      runs_per_task: runs of one of its tasks; default: as many as take about a minute.

    Returns:
      A ResultSet, a Result a cell.

    Raises:
      ValueError: the experiment or the directory cannot be used, named in one line.
    """
    from jaxbandit.running.experiment import run_experiment
    from jaxbandit.running.truth import warnings_of

    given = {"runs": runs, "horizon": horizon, "seed": seed}
    experiment = specs.load(spec, overrides, imports=imports, quick=quick, **given)
    for line in warnings_of(experiment):
        warnings.warn(line, stacklevel=2)
    options = {"progress": progress, "workers": workers, "max_failed": max_failed}
    options |= {"executor": executor, "runs_per_task": runs_per_task}
    results = run_experiment(experiment, None if out is None else Path(out), **options)
    return ResultSet(experiment.name, tuple(results), experiment.to_toml())
