"""simulate: an algorithm against an environment for a fixed horizon, both given as objects, no files needed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxbandit.base import Algorithm, Environment
from jaxbandit.results.regret import RegretResult
from jaxbandit.running.cell import Precision, fixed, run_simulate


def simulate(
    algorithm: Algorithm,
    environment: Environment,
    *,
    horizon: int,
    num_runs: int,
    seed: int = 0,
    checkpoints: Sequence[int] | None = None,
    precision: Precision | None = None,
    per_run: bool = True,
    name: str = "algorithm",
    instance: str = "instance",
    regret_constant: float | None = None,
    replan_late: int = 0,
    tile: int | None = None,
    workers: int | None = None,
    devices: Sequence[Any] | None = None,
    checkpoint_dir: str | Path | None = None,
    progress: bool | None = None,
) -> RegretResult:
    """Run `num_runs` independent runs of `horizon` rounds and return their regret.

    Args:
      algorithm: what `kl_ucb(9)` or a factory of your own returns.
      environment: what `bernoulli(means)` or a factory of your own returns.
      horizon: rounds of a run, >= 1.
      num_runs: independent runs, >= 1. Run r depends on (seed, r) alone, not on how many there are.
      seed: two algorithms with one seed meet the same chance, so that `compare` can pair their runs.
      checkpoints: rounds at which regret is recorded, increasing, the last = horizon; default: about 100,
        log-spaced.
      precision: "float32", the default up to a horizon of 2^24, or "float64", which alone counts further.
      per_run: keep regret and pulls of each run; otherwise only mean and variance, in less memory.
      name: label of the algorithm in tables and figures.
      instance: label of the environment.
      regret_constant: draws log(t) times this as a lower bound; `jaxbandit.bounds` computes it.
      replan_late: most rounds by which an algorithm's rare heavy work may be late; 0 is exact. Little is saved where
        the work is rare.
      tile: runs played at once on a core; default: what fits the cache.
      workers: threads; default: the cores.
      devices: JAX devices to spread the runs over.
      checkpoint_dir: where an interrupted simulation leaves its state and finds it again.
      progress: a bar on stderr; default: only on a terminal, and where tqdm is installed.

    Returns:
      A Result. The same two objects simulated again are not compiled again.

    Raises:
      ValueError: an argument out of range, named in one line.
    """
    return run_simulate(
        fixed(algorithm, environment),
        {},
        environment,
        {},
        horizon=horizon,
        num_runs=num_runs,
        seed=seed,
        checkpoints=checkpoints,
        precision=precision,
        per_run=per_run,
        name=name,
        instance=instance,
        regret_constant=regret_constant,
        replan_late=replan_late,
        tile=tile,
        workers=workers,
        devices=devices,
        checkpoint_dir=checkpoint_dir,
        progress=progress,
    )
