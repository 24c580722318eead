"""identify: an algorithm that stops by itself against an environment, both given as objects, no files needed."""

import math
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jaxbandit.base import Algorithm, Environment
from jaxbandit.experiments.result_stopping import StoppingResult
from jaxbandit.experiments.simulate import Make, Precision, fixed, means_of

MAX_ROUNDS = 10_000_000


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
      precision: "float64" or "float32"; the latter marks the runs that it cannot carry.
      name: label of the algorithm in tables and figures.
      instance: label of the environment.
      lanes: runs side by side on one worker; changes no number.
      chunk: steps between two looks at the host; changes no number.
      workers: threads; default: the cores.
      devices: JAX devices to spread the runs over.
      checkpoint_dir: where interrupted runs leave their state and find it again.
      progress: a bar on stderr; default: only on a terminal.

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


def run_identify(
    make: Make,
    arguments: dict[str, Any],
    environment: Environment,
    params: dict[str, float],
    *,
    num_runs: int,
    seed: int = 0,
    max_rounds: int = MAX_ROUNDS,
    epsilon: float = 0.0,
    delta: float | None = None,
    precision: Precision = "float64",
    name: str = "algorithm",
    instance: str = "instance",
    checkpoint_dir: str | Path | None = None,
    progress: bool | None = None,
    **options: Any,
) -> StoppingResult:
    """Play one cell of `make(arguments)`; what `identify` and `sweep` share."""
    from jaxbandit.engine.identify import identify_cell

    with runs_bar(num_runs, name, progress) as advance:
        record = identify_cell(
            make,
            arguments,
            num_runs=num_runs,
            seed=seed,
            max_rounds=max_rounds,
            precision=precision,
            checkpoint_dir=None if checkpoint_dir is None else Path(checkpoint_dir),
            progress=advance,
            **options,
        )
    means = means_of(environment)
    return stopping_result(
        record,
        {"epsilon": epsilon, "delta": delta} | params,
        instance=instance,
        algorithm=name,
        params=params,
        seed=seed,
        precision=precision,
        truth={} if means is None else {"means": means},
        max_rounds=max_rounds,
    )


def stopping_result(
    record: Any, arguments: Mapping[str, Any], *, warnings: Sequence[str] = (), **labels: Any
) -> StoppingResult:
    """Return the result of a record; `arguments` of the algorithm say what it promises."""
    promised = {"epsilon": arguments.get("epsilon", 0.0), "delta": arguments.get("delta")}
    utilisation = float(record.lane_utilisation)
    return StoppingResult.from_record(
        record,
        guarantee={name: float(value) for name, value in promised.items() if value is not None},
        lane_utilisation=utilisation if math.isfinite(utilisation) else None,
        warnings=list(warnings),
        **labels,
    )


@contextmanager
def runs_bar(total: int, label: str, show: bool | None = None) -> Iterator[Callable[[Any], None] | None]:
    """Yield what takes the engine's progress to a bar of `total` runs on stderr, or None where no bar is shown.

    The time left is estimated from the runs that have finished, all of them alike. Shown on a terminal unless
    `show` says otherwise.
    """
    if not (sys.stderr.isatty() if show is None else show):
        yield None
        return
    from tqdm import tqdm

    lock, steps = threading.Lock(), 0  # the engine reports from its worker threads

    with tqdm(total=total, desc=label, unit="run", smoothing=0, file=sys.stderr, leave=False) as bar:

        def advance(progress: Any) -> None:
            nonlocal steps
            with lock:
                steps += progress.run_steps
                bar.set_postfix_str(f"{tqdm.format_sizeof(steps)} run-steps", refresh=False)
                bar.update(progress.finished)

        yield advance
