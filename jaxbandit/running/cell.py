"""Runs of one cell, which is one algorithm on one instance, given as Python objects.

This is the common part of `simulate`, `identify` and `sweep`: it plays the runs under a progress bar and labels the
result.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal

from jaxbandit.base import checks
from jaxbandit.base.refusals import MAX_FAILED, refuse
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.layout import compiling
from jaxbandit.engine.rounds import fit
from jaxbandit.running import failures, remote
from jaxbandit.running.factories import Pair
from jaxbandit.running.progress import progress_bar
from jaxbandit.running.promises import guarantee_of
from jaxbandit.running.results.budget import BudgetResult
from jaxbandit.running.results.regret import RegretResult
from jaxbandit.running.results.stopping import StoppingResult
from jaxbandit.running.truth import truth_of

Precision = Literal["float32", "float64"]
MAX_ROUNDS = 10_000_000


def run_simulate(
    pair: Pair,
    execution: Execution,
    *,
    horizon: int,
    num_runs: int,
    seed: int = 0,
    precision: Precision | None = None,
    name: str | None = None,
    instance: str | None = None,
    regret_constant: float | None = None,
    any_rewards: bool = False,
    max_failed: float = MAX_FAILED,
    **options: Any,
) -> RegretResult:
    """Run one cell for a fixed horizon."""
    checks.untraced("simulate", "rollout")
    failures.check_share("simulate", max_failed)
    horizon = checks.integer("simulate", "horizon", horizon, 1)
    chosen = checks.precision("simulate", precision, "horizon", horizon)
    labels = _labels(pair, name, instance, any_rewards)
    engine = {"horizon": horizon, "num_runs": num_runs, "seed": seed, "precision": chosen, **options}
    with (
        _named(labels),
        progress_bar(horizon * num_runs, labels["algorithm"], "step", execution.progress) as advance,
    ):
        reported = execution._replace(progress=advance)
        record: Any = remote.play(
            "simulate", labels["algorithm"], pair, reported, {**engine, "any_rewards": any_rewards}
        )
    truth = truth_of(pair.environment, regret_constant=regret_constant)
    result = RegretResult.from_record(
        record,
        params=dict(pair.params),
        seed=seed,
        precision=chosen,
        truth=truth,
        **labels,
    )
    failures.judge([result], max_failed)
    return result


def run_identify(
    pair: Pair,
    execution: Execution,
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
    max_failed: float = MAX_FAILED,
) -> StoppingResult:
    """Run one cell until each run stops or has spent its budget."""
    checks.untraced("identify", "run_until_stop")
    failures.check_share("identify", max_failed)
    algorithm = pair.algorithm
    budget = algorithm.budget
    if budget is not None and max_rounds is not None:
        refuse("identify", f": max_rounds = {max_rounds}, but budget = {int(budget)} ends every run; leave it out")
    max_rounds = MAX_ROUNDS if max_rounds is None else max_rounds
    most = max_rounds if budget is None else int(budget)
    labels = _labels(pair, name, instance, any_rewards)
    guarantee = guarantee_of(algorithm, delta=delta, epsilon=epsilon)
    engine = {"max_rounds": most, "num_runs": num_runs, "seed": seed, "precision": precision}
    with _named(labels), progress_bar(num_runs, labels["algorithm"], "run", execution.progress) as advance:
        reported = execution._replace(progress=advance)
        record: Any = remote.play(
            "identify", labels["algorithm"], pair, reported, {**engine, "any_rewards": any_rewards}
        )
    note = fit.advice(algorithm, pair.environment)
    result = stopping_result(
        record,
        guarantee,
        warnings=[note] if note else [],
        budgeted=budget is not None,
        params=dict(pair.params),
        seed=seed,
        precision=precision,
        truth=truth_of(pair.environment, stops=True),
        max_rounds=most,
        **labels,
    )
    failures.judge([result], max_failed)
    return result


def _labels(pair: Pair, name: str | None, instance: str | None, any_rewards: bool) -> dict[str, Any]:
    """Return the labels of a result, and whether the rewards differ from those that the algorithm is designed for."""
    algorithm, environment = pair.algorithm, pair.environment
    fit.check_pair(algorithm, environment, any_rewards)
    return {
        "algorithm": name or algorithm.name or "algorithm",
        "instance": instance or environment.name or "environment",
        "any_rewards": any_rewards and bool(fit.misfit(algorithm.rewards, environment.rewards)),
    }


def _named(labels: Mapping[str, Any]) -> AbstractContextManager[None]:
    """A context that says whose programs are compiled."""
    return compiling.named(f"{labels['algorithm']} on {labels['instance']}")


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
