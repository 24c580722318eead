"""One cell of objects given in Python: played by the engine under a progress bar, labelled as a result.

What `simulate`, `identify` and `sweep` share.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from jaxbandit import checks
from jaxbandit.base import Algorithm, Environment
from jaxbandit.results.regret import RegretResult
from jaxbandit.results.stopping import StoppingResult
from jaxbandit.running.progress import progress_bar, runs_bar
from jaxbandit.running.truth import means_of
from jaxbandit.types import PyTree

Precision = Literal["float32", "float64"]
Make = Callable[[PyTree], tuple[Algorithm, Environment]]
MAX_ROUNDS = 10_000_000


# The engine compiles once per `make` object: an equal pair must find the same one again.
@functools.lru_cache(maxsize=32)
def fixed(algorithm: Algorithm, environment: Environment) -> Make:
    """Return the `make` of two objects that take no traced arguments."""
    return lambda arguments: (algorithm, environment)


def run_simulate(
    make: Make,
    arguments: dict[str, Any],
    environment: Environment,
    params: dict[str, float],
    *,
    horizon: int,
    num_runs: int,
    seed: int = 0,
    precision: Precision | None = None,
    name: str = "algorithm",
    instance: str = "instance",
    regret_constant: float | None = None,
    checkpoint_dir: str | Path | None = None,
    progress: bool | None = None,
    **options: Any,
) -> RegretResult:
    """Play one cell of `make(arguments)` for a fixed horizon; what `simulate` and `sweep` share."""
    from jaxbandit.engine.horizon import simulate_cell

    horizon = checks.integer("simulate", "horizon", horizon, 1)
    chosen = checks.precision("simulate", precision, "horizon", horizon)
    with progress_bar(horizon * num_runs, name, progress) as advance:
        record = simulate_cell(
            make,
            arguments,
            horizon=horizon,
            num_runs=num_runs,
            seed=seed,
            precision=chosen,
            checkpoint_dir=None if checkpoint_dir is None else Path(checkpoint_dir),
            progress=advance,
            **options,
        )
    truth: dict[str, Any] = {} if regret_constant is None else {"regret_constant": regret_constant}
    means = means_of(environment)
    if means is not None:
        truth["means"] = means
    return RegretResult.from_record(
        record, instance=instance, algorithm=name, params=params, seed=seed, precision=chosen, truth=truth
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
