"""identify: an algorithm that stops by itself against an environment, both given as objects, no files needed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxbandit.base import Algorithm, Environment
from jaxbandit.results.stopping import StoppingResult
from jaxbandit.running.cell import MAX_ROUNDS, Precision, fixed, run_identify


def identify(
    algorithm: Algorithm,
    environment: Environment,
    *,
    num_runs: int,
    seed: int = 0,
    max_rounds: int = MAX_ROUNDS,
    epsilon: float = 0.0,
    delta: float | None = None,
    precision: Precision = "float64",
    name: str = "algorithm",
    instance: str = "instance",
    lanes: int | None = None,
    chunk: int | None = None,
    workers: int | None = None,
    devices: Sequence[Any] | None = None,
    checkpoint_dir: str | Path | None = None,
    progress: bool | None = None,
) -> StoppingResult:
    """Run `num_runs` independent runs, each until its own rule stops it; return their samples and errors.

    Args:
      algorithm: what `lingape(features)` or a factory of your own returns.
      environment: what `linear(features, theta)` or a factory of your own returns.
      num_runs: independent runs, >= 1. Run r depends on (seed, r) alone, not on how many there are.
      seed: two algorithms with one seed meet the same chance, so that `compare` can pair their runs.
      max_rounds: a run that has pulled so often is censored, and is never averaged as if it had stopped.
      epsilon: what the algorithm was told: a run errs if its recommendation falls short by more.
      delta: what the algorithm was told; tables and figures show the error rate beside it.
      precision: "float64" or "float32"; the latter marks the runs that it cannot carry, up to a max_rounds of 2^24.
      name: label of the algorithm in tables and figures.
      instance: label of the environment.
      lanes: runs side by side on one worker; changes no number.
      chunk: steps between two looks at the host; changes no number.
      workers: threads; default: the cores.
      devices: JAX devices to spread the runs over.
      checkpoint_dir: where interrupted runs leave their state and find it again.
      progress: a bar on stderr; default: only on a terminal, and where tqdm is installed.

    Returns:
      A Result. The same two objects played again are not compiled again.

    Raises:
      ValueError: an argument out of range, named in one line.
    """
    return run_identify(
        fixed(algorithm, environment),
        {},
        environment,
        {},
        num_runs=num_runs,
        seed=seed,
        max_rounds=max_rounds,
        epsilon=epsilon,
        delta=delta,
        precision=precision,
        name=name,
        instance=instance,
        lanes=lanes,
        chunk=chunk,
        workers=workers,
        devices=devices,
        checkpoint_dir=checkpoint_dir,
        progress=progress,
    )
