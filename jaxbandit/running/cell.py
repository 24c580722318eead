"""Runs of one cell, which is one algorithm on one instance, given as Python objects.

This is the common part of `simulate`, `identify` and `sweep`: it calls the engine under a progress bar and labels the
result.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from jaxbandit.base import checks
from jaxbandit.base.contract import Algorithm, Environment
from jaxbandit.base.refusals import refuse
from jaxbandit.base.types import PyTree
from jaxbandit.engine.layout.compiled import Same
from jaxbandit.running import failures
from jaxbandit.running.progress import progress_bar, runs_bar
from jaxbandit.running.promises import guarantee_of
from jaxbandit.running.results.budget import BudgetResult
from jaxbandit.running.results.regret import RegretResult
from jaxbandit.running.results.stopping import StoppingResult
from jaxbandit.running.truth import truth_of

Precision = Literal["float32", "float64"]
Make = Callable[[PyTree], tuple[Algorithm, Environment]]
Across = Callable[..., Any]  # (name of the cell, arguments of the engine) -> its record, played by other processes
MAX_ROUNDS = 10_000_000


def fixed(algorithm: Algorithm, environment: Environment) -> Make:
    """Return the `make` function of two objects without traced arguments; equal objects give the same function."""
    return _fixed(Same(algorithm), Same(environment))


# The engine compiles once per `make` object, so the same pair must get the same object again.
@functools.lru_cache(maxsize=32)
def _fixed(algorithm: Same, environment: Same) -> Make:
    return lambda arguments: (algorithm.value, environment.value)


def swept(factory: Callable[..., Any], environment: Environment | None) -> Make:
    """Return the `make` function of a factory of algorithms, or of pairs if `environment` is None."""
    return _swept(factory, Same(environment))


@functools.lru_cache(maxsize=32)
def _swept(factory: Callable[..., Any], environment: Same) -> Make:
    if environment.value is None:
        return lambda arguments: factory(**arguments)
    return lambda arguments: (factory(**arguments), environment.value)


def run_simulate(
    make: Make,
    arguments: dict[str, Any],
    pair: tuple[Algorithm, Environment],
    params: dict[str, float],
    *,
    horizon: int,
    num_runs: int,
    seed: int = 0,
    precision: Precision | None = None,
    name: str | None = None,
    instance: str | None = None,
    regret_constant: float | None = None,
    any_rewards: bool = False,
    max_failed: float = 1.0,
    checkpoint_dir: str | Path | None = None,
    progress: bool | None = None,
    across: Across | None = None,
    **options: Any,
) -> RegretResult:
    """Run one cell for a fixed horizon; `pair` is the concrete value of `make(arguments)`."""
    from jaxbandit.engine.driver.horizon import simulate_cell

    checks.untraced("simulate", "rollout")
    failures.check_share("simulate", max_failed)
    horizon = checks.integer("simulate", "horizon", horizon, 1)
    chosen = checks.precision("simulate", precision, "horizon", horizon)
    labels = _labels(pair, name, instance, any_rewards)
    with progress_bar(horizon * num_runs, labels["algorithm"], progress) as advance:
        given = {"horizon": horizon, "num_runs": num_runs, "seed": seed, "precision": chosen, **options}
        given |= {"any_rewards": any_rewards, "progress": advance}
        given["checkpoint_dir"] = None if checkpoint_dir is None else Path(checkpoint_dir)
        play = simulate_cell if across is None else functools.partial(across, labels["algorithm"])
        record: Any = play(make, arguments, **given)
    truth = truth_of(pair[1], regret_constant=regret_constant)
    result = RegretResult.from_record(
        record,
        params=params,
        seed=seed,
        precision=chosen,
        truth=truth,
        **labels,
    )
    failures.judge([result], max_failed)
    return result


def run_identify(
    make: Make,
    arguments: dict[str, Any],
    pair: tuple[Algorithm, Environment],
    params: dict[str, float],
    *,
    num_runs: int,
    seed: int = 0,
    max_rounds: int | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    precision: Precision = "float64",
    name: str | None = None,
    instance: str | None = None,
    any_rewards: bool = False,
    max_failed: float = 1.0,
    checkpoint_dir: str | Path | None = None,
    progress: bool | None = None,
    across: Across | None = None,
    **options: Any,
) -> StoppingResult:
    """Run one cell until each run stops or has spent its budget; `pair` is the concrete value of `make(arguments)`."""
    from jaxbandit.engine.driver.identify import identify_cell

    checks.untraced("identify", "run_until_stop")
    failures.check_share("identify", max_failed)
    budget = pair[0].budget
    if budget is not None and max_rounds is not None:
        refuse("identify", f": max_rounds = {max_rounds}, but budget = {int(budget)} ends every run; leave it out")
    max_rounds = MAX_ROUNDS if max_rounds is None else max_rounds
    most = max_rounds if budget is None else int(budget)
    labels = _labels(pair, name, instance, any_rewards)
    guarantee = guarantee_of(pair[0], delta=delta, epsilon=epsilon)
    with runs_bar(num_runs, labels["algorithm"], progress) as advance:
        given = {"max_rounds": most, "num_runs": num_runs, "seed": seed, "precision": precision, **options}
        given |= {"any_rewards": any_rewards, "progress": advance}
        given["checkpoint_dir"] = None if checkpoint_dir is None else Path(checkpoint_dir)
        play = identify_cell if across is None else functools.partial(across, labels["algorithm"])
        record: Any = play(make, arguments, **given)
    result = stopping_result(
        record,
        guarantee,
        budgeted=budget is not None,
        params=params,
        seed=seed,
        precision=precision,
        truth=truth_of(pair[1], stops=True),
        max_rounds=most,
        **labels,
    )
    failures.judge([result], max_failed)
    return result


def _labels(
    pair: tuple[Algorithm, Environment], name: str | None, instance: str | None, any_rewards: bool
) -> dict[str, Any]:
    """Return the labels of a result, and whether the rewards differ from those that the algorithm is designed for."""
    from jaxbandit.engine.rounds import fit

    fit.check_pair(*pair, any_rewards)
    algorithm, environment = pair
    return {
        "algorithm": name or algorithm.name or "algorithm",
        "instance": instance or environment.name or "environment",
        "any_rewards": any_rewards and bool(fit.misfit(algorithm.rewards, environment.rewards)),
    }


def stopping_result(
    record: Any, guarantee: Mapping[str, Any], *, budgeted: bool = False, warnings: Sequence[str] = (), **labels: Any
) -> StoppingResult:
    """Return the result of a record of runs that stop, or of runs with a fixed budget if `budgeted`."""
    utilization = float(record.lane_utilization)
    kind = BudgetResult if budgeted else StoppingResult
    return kind.from_record(
        record,
        guarantee=dict(guarantee),
        lane_utilization=utilization if math.isfinite(utilization) else None,
        warnings=list(warnings),
        **labels,
    )
