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
    name: str | None = None,
    instance: str | None = None,
    max_rounds: int = MAX_ROUNDS,
    epsilon: float | None = None,
    delta: float | None = None,
    any_rewards: bool = False,
    max_failed: float = 1.0,
    precision: Precision = "float64",
    checkpoint_dir: str | Path | None = None,
    progress: bool | None = None,
    lanes: int | None = None,
    chunk: int | None = None,
    workers: int | None = None,
    devices: Sequence[Any] | None = None,
) -> StoppingResult:
    """Run `num_runs` independent runs, each until its own rule stops it; return their samples and errors.

    Args:
      algorithm: what `lingape(features)` or a factory of your own returns.
      environment: what `linear(features, theta)` or a factory of your own returns.
      num_runs: independent runs, >= 1. Run r depends on (seed, r) alone, not on how many there are.
      seed: two algorithms with one seed meet the same chance, so that `compare` can pair their runs.
      name: label of the algorithm in tables and figures; default: its own name.
      instance: label of the environment; default: its own name.
      max_rounds: a run that has pulled so often is censored, and is never averaged as if it had stopped.
      epsilon: a run errs if its recommendation falls short by more. The algorithm's promise says it; given beside
        that, it must agree. Default for an algorithm that promises nothing: 0.
      delta: the error rate that the algorithm promises: said by its promise, with which it must agree.
      any_rewards: play rewards that the algorithm is not made for, without its guarantees; the result says so.
      max_failed: share of the runs, in [0, 1], that may go wrong; more is an error.

      For experts, none of which changes what is played:
      precision: "float64" or "float32"; the latter marks the runs that it cannot carry, up to a
        max_rounds of 2^24.
      checkpoint_dir: where interrupted runs leave their state and find it again.
      progress: a bar on stderr; default: only on a terminal, and where tqdm is installed.
      lanes: runs side by side on one worker.
      chunk: steps between two looks at the host.
      workers: threads; default: the cores.
      devices: JAX devices to spread the runs over.

    Returns:
      A Result. The same two objects played again are not compiled again.

    Raises:
      ValueError: an argument out of range, an algorithm that does not fit the environment, another promise than the
        algorithm's, or more failed runs than allowed, named in one line.
    """
    return run_identify(
        fixed(algorithm, environment),
        {},
        (algorithm, environment),
        {},
        num_runs=num_runs,
        seed=seed,
        name=name,
        instance=instance,
        max_rounds=max_rounds,
        epsilon=epsilon,
        delta=delta,
        any_rewards=any_rewards,
        max_failed=max_failed,
        precision=precision,
        checkpoint_dir=checkpoint_dir,
        progress=progress,
        lanes=lanes,
        chunk=chunk,
        workers=workers,
        devices=devices,
    )
