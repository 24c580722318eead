"""The function `simulate`: an algorithm on an environment for a fixed horizon, both given as Python objects."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxbandit.base.contract import Algorithm, Environment
from jaxbandit.base.metrics import Metric, Round
from jaxbandit.engine.driver.execution import DEFAULT, Execution
from jaxbandit.running.cell import Precision, run_simulate
from jaxbandit.running.factories import Pair, built, fixed
from jaxbandit.running.results.regret import RegretResult
from jaxbandit.support.refusals import MAX_FAILED
from jaxbandit.support.types import Array


def simulate(
    algorithm: Algorithm | Callable[[], Algorithm],
    environment: Environment | Callable[[], Environment],
    *,
    horizon: int,
    num_runs: int,
    seed: int = 0,
    name: str | None = None,
    instance: str | None = None,
    checkpoints: Sequence[int] | None = None,
    hindsight: bool = False,
    metrics: Mapping[str, Metric | Callable[[Round], Array]] | None = None,
    keep_states: bool | Callable[[Any], Any] = False,
    any_rewards: bool = False,
    any_context: bool = False,
    max_failed: float = MAX_FAILED,
    precision: Precision | None = None,
    per_run: bool = True,
    regret_constant: float | None = None,
    replan_late: int = 0,
    workers: int | None = None,
    devices: Sequence[Any] | None = None,
    executor: Any = None,
    directory: str | Path | None = None,
    progress: bool | None = None,
    execution: Execution = DEFAULT,
) -> RegretResult:
    """Run `num_runs` independent runs of `horizon` rounds and return their regret.

    If the environment does not define regret, the result holds the mean feedback instead, or, if the feedback is not a
    number, the metrics alone. A run fails if a number is not finite or a reward is out of its declared range. Failed
    runs are left out of all means; the result reports how many there are, and a warning is issued.

    The arguments from `workers` on change how the runs are played, and not their results.

    Args:
      algorithm: an Algorithm, such as `kl_ucb(9)`.
      environment: an Environment, such as `bernoulli(means)`.
      horizon: number of rounds per run, >= 1.
      num_runs: number of independent runs, >= 1. Run r depends only on (seed, r), not on the number of runs.
      seed: two algorithms with the same seed share random draws (common random numbers), so that `compare` can pair
        their runs.
      name: label of the algorithm in tables and figures. Default: its own name.
      instance: label of the environment in tables and figures. Default: its own name.
      checkpoints: increasing rounds at which the regret is recorded; the last must equal `horizon`. Default: about 100
        logarithmically spaced rounds.
      hindsight: whether to record also the regret against the best fixed arm in hindsight, for environments that
        change.
      metrics: what else to measure, by names of your own: functions of a `Round`, which are summed over the rounds,
        and `Metric` tuples, such as those of `jb.metrics`. See docs/metrics.md. A run in which one is not finite at a
        checkpoint is left out of this metric. The same functions must be given again for a call not to recompile.
      keep_states: whether to keep the algorithm's last state of each run, as `result.states`, or a function of a state
        that returns what is kept of it.
      any_rewards: whether to allow rewards that the algorithm is not designed for. Its guarantees then do not hold,
        and the result says so.
      any_context: whether to allow an algorithm that ignores the floats of the context, or which arms are available, as
        a baseline; the result says so.
      max_failed: fraction of the runs that may fail, in [0, 1]. If more fail, an error is raised.
      precision: "float32", the default up to a horizon of 2^24, or "float64", which longer horizons require, and
        instances whose gaps or rates float32 cannot hold, such as means of 1e5 and 1e5 + 1e-3; it is their default.
      per_run: whether to keep the regret and the pulls of each run. Otherwise only the mean and the variance are kept,
        which needs less memory.
      regret_constant: factor of log(t) in the lower bound on regret that tables and figures show; see
        `jaxbandit.bounds`. Default: computed for environments where it is known, such as `bernoulli` and `gaussian`.
      replan_late: largest number of rounds by which an algorithm's expensive work (`Algorithm.replan`) may be delayed,
        so that several runs do it together. 0 is exact. It saves little if the work is rare.
      workers: `workers` of `execution`, and so are the other four: these are the fields that are needed often.
      devices: JAX devices among which the runs are divided.
      executor: a PEP 3148 executor on whose workers the runs are played. The algorithm and the environment must then be
        given as functools.partial of factories with plain arguments. See docs/cluster.md.
      directory: directory in which an interrupted simulation saves its state, and from which the same call
        resumes.
      progress: whether to show a progress bar on stderr. Default: only on a terminal, if tqdm is installed.
      execution: an `Execution`, with all that can be chosen about how the runs are played.

    Returns:
      A RegretResult. Calling it again with the same two objects does not recompile.

    Raises:
      ValueError: an argument is out of range, the algorithm does not fit the environment, or more runs failed than
        allowed. The message has one line.
    """
    one, other = built(algorithm), built(environment)
    return run_simulate(
        Pair(fixed(one, other), {}, one, other, (algorithm, environment)),
        execution.updated(workers=workers, devices=devices, executor=executor, directory=directory, progress=progress),
        horizon=horizon,
        num_runs=num_runs,
        seed=seed,
        name=name,
        instance=instance,
        checkpoints=checkpoints,
        hindsight=hindsight,
        metrics=metrics,
        keep_states=keep_states,
        any_rewards=any_rewards,
        any_context=any_context,
        max_failed=max_failed,
        precision=precision,
        per_run=per_run,
        regret_constant=regret_constant,
        replan_late=replan_late,
    )
