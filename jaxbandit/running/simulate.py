"""The function `simulate`: an algorithm on an environment for a fixed horizon, both given as Python objects."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Unpack, overload

from jaxbandit.base.arguments import Checkpoints, HorizonOfRuns, MaxFailed, NumRuns, RunSeed
from jaxbandit.base.calls import checked
from jaxbandit.base.contract import Algorithm, Environment
from jaxbandit.base.metrics import Metric, Round
from jaxbandit.engine.driver.execution import DEFAULT, Execution
from jaxbandit.engine.rounds.fit import Allow
from jaxbandit.engine.rounds.states import Keep
from jaxbandit.running.cell import Precision, run_simulate
from jaxbandit.running.factories import pair_of
from jaxbandit.running.options import SimulateOptions
from jaxbandit.running.results.base import ResultSet
from jaxbandit.running.results.regret import RegretResult
from jaxbandit.support.refusals import MAX_FAILED
from jaxbandit.support.types import Array

Rule = Algorithm | Callable[[], Algorithm]


@overload
def simulate(
    algorithm: Rule,
    environment: Environment | Callable[[], Environment],
    *,
    horizon: int,
    **options: Unpack[SimulateOptions],
) -> RegretResult: ...


@overload
def simulate(
    algorithm: list[Rule],
    environment: Environment | Callable[[], Environment],
    *,
    horizon: int,
    **options: Unpack[SimulateOptions],
) -> ResultSet[RegretResult]: ...


@checked
def simulate(
    algorithm: Rule | list[Rule],
    environment: Environment | Callable[[], Environment],
    *,
    horizon: HorizonOfRuns,
    num_runs: NumRuns,
    seed: RunSeed = 0,
    checkpoints: Checkpoints | None = None,
    hindsight: bool = False,
    metrics: Mapping[str, Metric | Callable[[Round], Array]] | None = None,
    keep: Keep = ("runs",),
    allow: Allow = (),
    max_failed: MaxFailed = MAX_FAILED,
    precision: Precision | None = None,
    execution: Execution = DEFAULT,
) -> Any:
    """Run `num_runs` independent runs of `horizon` rounds and return their regret.

    If the environment does not define regret, the result holds the mean feedback instead, or, if the feedback is not a
    number, the metrics alone. A run fails if a number is not finite or a reward is out of its declared range. Failed
    runs are left out of all means; the result reports how many there are, and a warning is issued.

    Args:
      algorithm: an Algorithm, such as `kl_ucb(9)`, or a list of them, which differ in their names.
      environment: an Environment, such as `bernoulli(means)`.
      hindsight: whether to record also the regret against the best fixed arm in hindsight, for environments that
        change.
      metrics: what else to measure, by names of your own: functions of a `Round`, which are summed over the rounds,
        and `Metric` tuples, such as those of `jb.metrics`. See docs/metrics.md. A run in which one is not finite at a
        checkpoint is left out of this metric. The same functions must be given again for a call not to recompile.
      keep: what is kept of each run besides its outcome: "runs" is the regret, the metrics and the pulls of each run,
        without which only means and variances over the runs are kept, in less memory; "states" is the algorithm's
        last state, as `result.states`, or in its place a function of a state that returns what is kept of it.
      allow: in what the algorithm need not fit the environment: "rewards", if it is not designed for them, and its
        guarantees do not hold; "context", if it ignores the floats of the context or which arms are available, as a
        baseline. The result says so.
      precision: "float32", the default up to a horizon of 2^24, or "float64", which longer horizons require, and
        instances whose gaps or rates float32 cannot hold, such as means of 1e5 and 1e5 + 1e-3; it is their default.
      execution: how the runs are played, without an effect on the results: workers, devices or an executor, the
        directory from which an interrupted call resumes, in which each algorithm of a list has a folder; and whether a
        progress bar is shown; see `Execution`.

    Returns:
      A RegretResult, or a ResultSet of them for a list, in its order. Its labels are the names of the two objects,
      which `named` changes. Calling it again with the same two objects, or with others that differ in numbers alone,
      does not recompile.

    Raises:
      ValueError: the algorithm does not fit the environment, or more runs failed than allowed. The message has one
        line.
    """
    options: dict[str, Any] = {
        "horizon": horizon,
        "num_runs": num_runs,
        "seed": seed,
        "checkpoints": checkpoints,
        "hindsight": hindsight,
        "metrics": metrics,
        "keep": keep,
        "allow": allow,
        "max_failed": max_failed,
        "precision": precision,
    }
    if not isinstance(algorithm, list):
        return run_simulate(pair_of(algorithm, environment), execution, **options)
    pairs = [pair_of(rule, environment) for rule in algorithm]
    names = [pair.algorithm.name for pair in pairs]
    if len(set(names)) != len(names) or not names:
        remedy = 'give each a name by .named("..."), or sweep its hyperparameter'
        raise ValueError(f"algorithm has the names {names}, must be one or more different names; {remedy}")
    results = []
    for i, pair in enumerate(pairs):
        folder = None if execution.directory is None else Path(execution.directory) / f"{i:03d}"
        here = execution._replace(directory=folder)
        results.append(run_simulate(pair, here, results=0 if i else len(pairs), **options))
    return ResultSet(results[0].instance, tuple(results))
