"""The function `simulate`: an algorithm on an environment for a fixed horizon, both given as Python objects."""

from collections.abc import Callable, Mapping

from jaxbandit.base.arguments import Checkpoints, HorizonOfRuns, MaxFailed, NumRuns, RunSeed
from jaxbandit.base.contract import Algorithm, Environment
from jaxbandit.base.metrics import Metric, Round
from jaxbandit.engine.driver.execution import DEFAULT, Execution, verb
from jaxbandit.engine.rounds.fit import Allow
from jaxbandit.engine.rounds.states import Keep
from jaxbandit.running.cell import Precision, run_simulate
from jaxbandit.running.factories import pair_of
from jaxbandit.running.results.regret import RegretResult
from jaxbandit.support.refusals import MAX_FAILED
from jaxbandit.support.types import Array


@verb
def simulate(
    algorithm: Algorithm | Callable[[], Algorithm],
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
) -> RegretResult:
    """Run `num_runs` independent runs of `horizon` rounds and return their regret.

    If the environment does not define regret, the result holds the mean feedback instead, or, if the feedback is not a
    number, the metrics alone. A run fails if a number is not finite or a reward is out of its declared range. Failed
    runs are left out of all means; the result reports how many there are, and a warning is issued.

    Args:
      algorithm: an Algorithm, such as `kl_ucb(9)`.
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
        directory from which an interrupted call resumes, and whether a progress bar is shown; see `Execution`.

    Returns:
      A RegretResult. Its labels are the names of the two objects, which `named` changes. Calling it again with
      the same two objects, or with others that differ in numbers alone, does not recompile.

    Raises:
      ValueError: the algorithm does not fit the environment, or more runs failed than allowed. The message has one
        line.
    """
    return run_simulate(
        pair_of(algorithm, environment),
        execution,
        horizon=horizon,
        num_runs=num_runs,
        seed=seed,
        checkpoints=checkpoints,
        hindsight=hindsight,
        metrics=metrics,
        keep=keep,
        allow=allow,
        max_failed=max_failed,
        precision=precision,
    )
