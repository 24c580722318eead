"""simulate and sweep: an algorithm against an environment, both given as objects, no files needed."""

import functools
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

from jaxbandit.base import Algorithm, Environment
from jaxbandit.experiments.arguments import BadInput
from jaxbandit.experiments.result_regret import RegretResult
from jaxbandit.types import PyTree

Precision = Literal["float32", "float64"]
Make = Callable[[PyTree], tuple[Algorithm, Environment]]


def simulate(
    algorithm: Algorithm,
    environment: Environment,
    *,
    horizon: int,
    num_runs: int,
    seed: int = 0,
    checkpoints: Sequence[int] | None = None,
    precision: Precision = "float32",
    per_run: bool = True,
    name: str = "algorithm",
    instance: str = "instance",
    regret_constant: float | None = None,
    refresh_late: int = 0,
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
      precision: "float32" or "float64".
      per_run: keep regret and pulls of each run; otherwise only mean and variance, in less memory.
      name: label of the algorithm in tables and figures.
      instance: label of the environment.
      regret_constant: draws log(t) times this as a lower bound; `jaxbandit.bounds` computes it.
      refresh_late: most rounds by which an algorithm's rare heavy work may be late; 0 is exact. Little is saved where
        the work is rare.
      tile: runs played at once on a core; default: what fits the cache.
      workers: threads; default: the cores.
      devices: JAX devices to spread the runs over.
      checkpoint_dir: where an interrupted simulation leaves its state and finds it again.
      progress: a bar on stderr; default: only on a terminal.

    Returns:
      A Result. The same two objects simulated again are not compiled again.

    Raises:
      ValueError: an argument out of range, named in one line.
    """
    return _run(
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
        refresh_late=refresh_late,
        tile=tile,
        workers=workers,
        devices=devices,
        checkpoint_dir=checkpoint_dir,
        progress=progress,
    )


def sweep(
    factory: Callable[..., Any],
    environment: Environment | None,
    values: Mapping[str, Sequence[float]],
    **options: Any,
) -> list[Any]:
    """Run `factory(**hyperparameters)` at each of several values, in one compilation.

    Args:
      factory: takes the swept hyperparameters by keyword, all of them traced: `functools.partial(kl_ucb, 9)`.
      environment: as for `simulate`; or None, and the factory returns the pair (algorithm, environment), so
        that an instance can be swept too.
      values: hyperparameter -> values. Several of them are read side by side, value i of each making result
        i; for every combination, give the columns of the product.
      **options: as for `simulate` if `horizon` is one of them, else as for `identify`, which takes a swept
        epsilon or delta for what the algorithm was told; `checkpoint_dir` holds one folder a value.

    Returns:
      One Result a value, its `params` saying which.

    Raises:
      ValueError: no values, or columns of unequal length.
    """
    lengths = {name: len(column) for name, column in values.items()}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        raise BadInput(f"sweep: values have lengths {lengths}, must be one length, at least 1")
    from jaxbandit.experiments.identify import run_identify  # it imports this file

    run, precision = (_run, "float32") if "horizon" in options else (run_identify, "float64")
    make = _swept(factory, environment)
    number = np.float64 if options.get("precision", precision) == "float64" else np.float32
    base = options.pop("checkpoint_dir", None)
    results = []
    for i in range(next(iter(lengths.values()))):
        params = {name: float(column[i]) for name, column in values.items()}
        folder = None if base is None else Path(base) / f"{i:03d}"
        arguments = {name: number(value) for name, value in params.items()}
        world = environment or factory(**params)[1]
        results.append(run(make, arguments, world, params, checkpoint_dir=folder, **options))
    return results


def _run(
    make: Make,
    arguments: dict[str, Any],
    environment: Environment,
    params: dict[str, float],
    *,
    horizon: int,
    num_runs: int,
    seed: int = 0,
    precision: Precision = "float32",
    name: str = "algorithm",
    instance: str = "instance",
    regret_constant: float | None = None,
    checkpoint_dir: str | Path | None = None,
    progress: bool | None = None,
    **options: Any,
) -> RegretResult:
    from jaxbandit.engine.horizon import simulate_cell

    with progress_bar(horizon * num_runs, name, progress) as advance:
        record = simulate_cell(
            make,
            arguments,
            horizon=horizon,
            num_runs=num_runs,
            seed=seed,
            precision=precision,
            checkpoint_dir=None if checkpoint_dir is None else Path(checkpoint_dir),
            progress=advance,
            **options,
        )
    truth: dict[str, Any] = {} if regret_constant is None else {"regret_constant": regret_constant}
    means = means_of(environment)
    if means is not None:
        truth["means"] = means
    return RegretResult.from_record(
        record, instance=instance, algorithm=name, params=params, seed=seed, precision=precision, truth=truth
    )


@contextmanager
def progress_bar(total: int, label: str, show: bool | None = None) -> Iterator[Callable[[int], None] | None]:
    """Yield a function that advances a bar of `total` run-steps on stderr, or None where no bar is shown.

    Shown on a terminal unless `show` says otherwise.
    """
    if not (sys.stderr.isatty() if show is None else show):
        yield None
        return
    from tqdm import tqdm

    lock = threading.Lock()  # the engine reports from its worker threads

    with tqdm(total=total, desc=label, unit="step", unit_scale=True, file=sys.stderr, leave=False) as bar:

        def advance(steps: int) -> None:
            with lock:
                bar.update(steps)

        yield advance


def means_of(environment: Environment) -> list[float] | None:
    """Return what the environment says its arms pay, where its state has a field `means` of one axis."""
    import jax

    with jax.enable_x64(True):  # 0.1 shall read 0.1
        means = getattr(environment.init(jax.random.key(0)), "means", None)
        return np.asarray(means, np.float64).tolist() if means is not None and means.ndim == 1 else None


# The engine compiles once per `make` object: an equal pair must find the same one again.
@functools.lru_cache(maxsize=32)
def fixed(algorithm: Algorithm, environment: Environment) -> Make:
    """Return the `make` of two objects that take no traced arguments."""
    return lambda arguments: (algorithm, environment)


@functools.lru_cache(maxsize=32)
def _swept(factory: Callable[..., Any], environment: Environment | None) -> Make:
    if environment is None:
        return lambda arguments: factory(**arguments)
    return lambda arguments: (factory(**arguments), environment)
