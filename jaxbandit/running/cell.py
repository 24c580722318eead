"""Runs of one cell, which is one algorithm on one instance: the common part of `simulate`, `identify` and `sweep`."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from jaxbandit.base.contract import Environment
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.driver.simulate import default_checkpoints
from jaxbandit.engine.layout import compiling
from jaxbandit.engine.rounds import fit
from jaxbandit.engine.rounds.fit import Allow
from jaxbandit.engine.rounds.metrics import Given, metrics_by_name
from jaxbandit.engine.rounds.states import Keep, kept_of, named_states
from jaxbandit.running import failures, remote, resolution, sizes
from jaxbandit.running.factories import Pair
from jaxbandit.running.instances import instances_of
from jaxbandit.running.progress import progress_bar
from jaxbandit.running.promises import guarantee_of
from jaxbandit.running.results.budget import BudgetResult
from jaxbandit.running.results.regret import RegretResult
from jaxbandit.running.results.stopping import StoppingResult
from jaxbandit.running.truth import characteristic_time_of, truth_of
from jaxbandit.support import checks
from jaxbandit.support.domains import MAX_ROUNDS
from jaxbandit.support.refusals import MAX_FAILED, resumable

Precision = Literal["float32", "float64"]


def run_simulate(
    pair: Pair,
    execution: Execution,
    *,
    horizon: int,
    num_runs: int,
    seed: int = 0,
    precision: Precision | None = None,
    keep: Keep = ("runs",),
    allow: Allow = (),
    max_failed: float = MAX_FAILED,
    results: int = 1,
    **options: Any,
) -> RegretResult:
    """Run one cell for a fixed horizon; it is the first of so many `results` that the caller keeps, or 0 for others."""
    checks.untraced("rollout")
    chosen = resolution.precision_for(pair.environment, precision, "horizon", horizon)
    labels = _labels(pair, allow, seed, chosen)
    marks = options.get("checkpoints")
    width, number = 4 if chosen == "float32" else 8, len(default_checkpoints(horizon)) if marks is None else len(marks)
    metrics, kept = metrics_by_name(options.get("metrics")), kept_of(keep)
    curves = 1 + bool(options.get("hindsight")) + len(metrics)
    state_bytes, states_like = named_states(pair.algorithm, kept.state, chosen)
    needed = results * (sizes.of_runs(width, number, curves, _num_arms(pair), kept.runs) + state_bytes)
    remedy, more = "keep = () keeps only means, or ask", bool(metrics or kept.state)
    _check_size(num_runs, needed, execution, remedy, results, half=more)
    if results:
        sizes.check_states(pair.environment, num_runs)
    runs = {"seed": seed, "num_runs": num_runs, "precision": chosen, "store": kept.runs}
    instances = instances_of(pair.environment, **runs)
    engine = {"horizon": horizon, "num_runs": num_runs, "keep": keep, "any_rewards": "rewards" in allow, **options}
    record = _played("simulate", pair, execution, labels, horizon * num_runs, "step", engine)
    labels |= {"instances": instances, "states_like": states_like}
    result = RegretResult.from_record(record, truth=truth_of(pair.environment), **labels)
    failures.judge([result], max_failed, pair.params)
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
    metrics: Given | None = None,
    keep: Keep = ("runs",),
    allow: Allow = (),
    max_failed: float = MAX_FAILED,
    results: int = 1,
) -> StoppingResult:
    """Run one cell until each run stops or has spent its budget; `results` is as for `run_simulate`."""
    checks.untraced("run_until_stop")
    algorithm = pair.algorithm
    budget = algorithm.budget
    if budget is not None and max_rounds is not None:
        raise ValueError(f"max_rounds = {max_rounds}, but budget = {int(budget)} ends every run; leave it out")
    if algorithm.stop is None and max_rounds is None:
        why = "has no stopping rule, so that each run would play"
        why = f"{algorithm.name or 'the algorithm'} {why} {MAX_ROUNDS:,} rounds"
        raise ValueError(f"{why}; give max_rounds, take a rule that stops, or call simulate with a horizon")
    max_rounds = MAX_ROUNDS if max_rounds is None else max_rounds
    most = max_rounds if budget is None else int(budget)
    labels = _labels(pair, allow, seed, precision)
    given, state = metrics_by_name(metrics), kept_of(keep).state
    state_bytes, states_like = named_states(algorithm, state, precision)
    needed = results * (sizes.of_stopped(_num_arms(pair), len(given)) + state_bytes)
    _check_size(num_runs, needed, execution, "ask", results, half=bool(given or state))
    guarantee = guarantee_of(algorithm, delta=delta, epsilon=epsilon)
    resolution.precision_for(pair.environment, precision, "max_rounds", most)
    instances = instances_of(pair.environment, seed=seed, num_runs=num_runs, precision=precision)
    engine = {"max_rounds": most, "num_runs": num_runs, "any_rewards": "rewards" in allow}
    engine |= {"metrics": given or None, "keep": keep}
    record = _played("identify", pair, execution, labels, num_runs, "run", engine)
    note = fit.advice(algorithm, pair.environment)
    result = stopping_result(
        record,
        guarantee,
        warnings=[note] if note else [],
        budgeted=budget is not None,
        truth=_truth_of_stops(pair.environment, guarantee),
        max_rounds=most,
        instances=instances,
        states_like=states_like,
        **labels,
    )
    failures.judge([result], max_failed, pair.params)
    return result


def _truth_of_stops(environment: Environment, guarantee: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is true of an instance, with T* if the rule promises the best arm and T* does not take seconds."""
    truth = truth_of(environment, stops=True)
    best_arm = "delta" in guarantee and guarantee["m"] == 1 and guarantee["epsilon"] == 0
    time = characteristic_time_of(environment) if best_arm and not environment.truth.costly else None
    return truth if time is None else truth | {"characteristic_time": time}


def _num_arms(pair: Pair) -> int:
    arms = pair.environment.arms
    return 0 if arms is None else arms.num_arms


def _check_size(
    num_runs: int,
    bytes_per_run: int,
    execution: Execution,
    remedy: str,
    results: int,
    *,
    half: bool = False,
) -> None:
    """Raise ValueError if the results would not fit."""
    place, fewer = f"num_runs = {num_runs}", f"{remedy} for fewer runs"
    if results > 1:
        place, fewer = f"{place} in each of {results:,} results", f"{fewer} or results"
    if said := sizes.shortage(num_runs * bytes_per_run, execution.directory, fewer, half=half):
        raise ValueError(f"{place}: {said}")


def _labels(pair: Pair, allow: Allow, seed: int, precision: str) -> dict[str, Any]:
    """Return the labels of a result, and whether the rewards or contexts are other than the algorithm is made for."""
    algorithm, environment = pair.algorithm, pair.environment
    misfits = fit.marks_of(algorithm, environment, allow)
    names = {"algorithm": algorithm.name or "algorithm", "instance": environment.name or "environment"}
    return {**names, **misfits, "params": dict(pair.params), "seed": seed, "precision": precision}


def _played(
    kind: str, pair: Pair, execution: Execution, labels: Mapping[str, Any], total: int, unit: str, engine: Any
) -> Any:
    """Return the engine's record of the runs, played under a progress bar of `total` units."""
    name, options = labels["algorithm"], {**engine, "seed": labels["seed"], "precision": labels["precision"]}
    with (
        compiling.named(f"{name} on {labels['instance']}"),
        resumable(execution.directory, "directory"),
        progress_bar(total, name, unit, execution.progress) as advance,
    ):
        return remote.play(kind, name, pair, execution._replace(progress=advance), options)


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
