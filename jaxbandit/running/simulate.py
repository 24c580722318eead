"""simulate: an algorithm against an environment for a fixed horizon, both given as objects, no files needed."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jaxbandit.base import Algorithm, Environment
from jaxbandit.results.regret import RegretResult
from jaxbandit.running.carried import made
from jaxbandit.running.cell import Precision, fixed, run_simulate
from jaxbandit.running.elsewhere import across_of


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
    any_rewards: bool = False,
    max_failed: float = 1.0,
    precision: Precision | None = None,
    per_run: bool = True,
    regret_constant: float | None = None,
    checkpoint_dir: str | Path | None = None,
    progress: bool | None = None,
    replan_late: int = 0,
    tile: int | None = None,
    workers: int | None = None,
    devices: Sequence[Any] | None = None,
    executor: Any = None,
    runs_per_task: int | None = None,
) -> RegretResult:
    """Run `num_runs` independent runs of `horizon` rounds and return their regret.

    Where the environment knows no regret, the result holds mean feedback instead. A run that goes wrong, by a number
    that is not finite or a reward out of its range, counts in no mean: the result says how many, and a warning does.

    Args:
      algorithm: what `kl_ucb(9)` or a factory of your own returns.
      environment: what `bernoulli(means)` or a factory of your own returns.
      horizon: rounds of a run, >= 1.
      num_runs: independent runs, >= 1. Run r depends on (seed, r) alone, not on how many there are.
      seed: two algorithms with one seed meet the same chance, so that `compare` can pair their runs.
      name: label of the algorithm in tables and figures; default: its own name.
      instance: label of the environment; default: its own name.
      checkpoints: rounds at which regret is recorded, increasing, the last = horizon; default: about 100,
        log-spaced.
      hindsight: record regret against the best fixed arm in hindsight too, for worlds that change.
      any_rewards: play rewards that the algorithm is not made for, without its guarantees; the result says so.
      max_failed: share of the runs, in [0, 1], that may go wrong; more is an error.

      For experts, none of which changes what is simulated:
      precision: "float32", the default up to a horizon of 2^24, or "float64", which alone counts further.
      per_run: keep regret and pulls of each run; otherwise only mean and variance, in less memory.
      regret_constant: draws log(t) times this as a lower bound; `jaxbandit.bounds` computes it. Known for `bernoulli`
        and `gaussian`.
      checkpoint_dir: where an interrupted simulation leaves its state and finds it again.
      progress: a bar on stderr; default: only on a terminal, and where tqdm is installed.
      replan_late: most rounds by which an algorithm's rare heavy work may be late; 0 is exact. Little is saved where
        the work is rare.
      tile: runs played at once on a core; default: what fits the cache.
      workers: threads; default: the cores.
      devices: JAX devices to spread the runs over; default: those of this process. With `jax.devices()` of several
        processes of `jax.distributed`, each plays its share, and all return the same result.
      executor: a PEP 3148 executor on whose workers the runs are played. What is played must travel: give algorithm and
        environment as functools.partial of factories with plain arguments. See docs/cluster.md.
      runs_per_task: runs of one of its tasks; default: as many as take about a minute.

    Returns:
      A Result. The same two objects simulated again are not compiled again.

    Raises:
      ValueError: an argument out of range, an algorithm that does not fit the environment, or more failed runs than
        allowed, named in one line.
    """
    pair = made(algorithm), made(environment)
    return run_simulate(
        fixed(*pair),
        {},
        pair,
        {},
        horizon=horizon,
        num_runs=num_runs,
        seed=seed,
        name=name,
        instance=instance,
        checkpoints=checkpoints,
        hindsight=hindsight,
        any_rewards=any_rewards,
        max_failed=max_failed,
        precision=precision,
        per_run=per_run,
        regret_constant=regret_constant,
        checkpoint_dir=checkpoint_dir,
        progress=progress,
        replan_late=replan_late,
        tile=tile,
        workers=workers,
        devices=devices,
        across=across_of("simulate", algorithm, environment, executor, runs_per_task, devices),
    )
