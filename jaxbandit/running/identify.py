"""The function `identify`: an algorithm that stops, on an environment, both given as Python objects."""

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack, overload

import numpy as np

from jaxbandit.base.arguments import Distance, MaxFailed, MostPulls, NumRuns, RunSeed, Share
from jaxbandit.base.calls import checked
from jaxbandit.base.contract import Algorithm, Environment
from jaxbandit.base.metrics import Metric, Round
from jaxbandit.base.parameters import parameters_of
from jaxbandit.engine.driver.execution import DEFAULT, Execution
from jaxbandit.engine.rounds.fit import Allow
from jaxbandit.engine.rounds.states import Keep
from jaxbandit.running.cell import Precision, run_identify
from jaxbandit.running.factories import built, pair_at, pair_of
from jaxbandit.running.options import IdentifyOptions
from jaxbandit.running.results.base import ResultSet
from jaxbandit.running.results.budget import BudgetResult
from jaxbandit.running.results.stopping import StoppingResult
from jaxbandit.support.refusals import MAX_FAILED
from jaxbandit.support.types import Array


@overload
def identify(
    algorithm: Algorithm | Callable[[], Algorithm],
    environment: Environment | Callable[[], Environment],
    *,
    budget: None = None,
    **options: Unpack[IdentifyOptions],
) -> StoppingResult: ...


@overload
def identify(
    algorithm: Callable[..., Algorithm],
    environment: Environment | Callable[[], Environment],
    *,
    budget: int,
    **options: Unpack[IdentifyOptions],
) -> BudgetResult: ...


@overload
def identify(
    algorithm: Callable[..., Algorithm],
    environment: Environment | Callable[[], Environment],
    *,
    budget: Sequence[int],
    **options: Unpack[IdentifyOptions],
) -> ResultSet[BudgetResult]: ...


@checked
def identify(
    algorithm: Algorithm | Callable[..., Algorithm],
    environment: Environment | Callable[[], Environment],
    *,
    budget: int | Sequence[int] | None = None,
    num_runs: NumRuns,
    seed: RunSeed = 0,
    max_rounds: MostPulls | None = None,
    epsilon: Distance | None = None,
    delta: Share | None = None,
    metrics: Mapping[str, Metric | Callable[[Round], Array]] | None = None,
    keep: Keep = ("runs",),
    allow: Allow = (),
    max_failed: MaxFailed = MAX_FAILED,
    precision: Precision | None = None,
    execution: Execution = DEFAULT,
) -> Any:
    """Run `num_runs` independent runs, each until its stopping rule stops it, and return their samples and errors.

    With a `budget`, each run has this number of pulls and then makes its recommendation. Run r has the same random
    draws for every budget. Several budgets share one compilation if the budget is traced.

    Args:
      algorithm: an Algorithm, such as `lingape(features)`. With a budget, a factory that takes it by keyword, such as
        `functools.partial(sequential_halving, 20)`.
      environment: an Environment, such as `linear(features, theta)`.
      budget: number of pulls of a run, >= 1, or a list of different numbers. None for an algorithm with a stopping
        rule.
      max_rounds: a run that reaches this number of rounds is right-censored; it is never averaged as if it had stopped.
        Default: 10,000,000, for an algorithm with a stopping rule; without one it must be given. Not allowed with a
        budget, which ends every run.
      epsilon: a recommendation is an error if its simple regret exceeds epsilon, in units of the reward. The
        algorithm's guarantee sets it, and a value given here must agree. Default for an algorithm without a guarantee:
        0.
      delta: the error probability that the algorithm guarantees. It must agree with the algorithm's guarantee, from
        which it is otherwise taken.
      metrics: what else to measure, as for `simulate`, of which the value when a run ends is kept, `metric/NAME`
        float[runs]. A rule that pulls in batches on this environment has no single rounds, and is refused.
      keep: ("runs", "states") keeps the algorithm's last state of each run too, as `result.states`, or in its place a
        function of a state what it returns; as for `simulate`, but "runs" is always kept.
      allow: in what the algorithm need not fit the environment, as for `simulate`.
      precision: "float64", the default, or "float32", which flags runs that fail the float64 check, is limited to a
        `max_rounds` of 2^24, and is refused for instances whose gaps or rates it cannot hold.
      execution: how the runs are played, as for `simulate`. Each budget has a folder of its own in its directory.

    Returns:
      A StoppingResult without a budget, a BudgetResult with error rate and simple regret for one budget, and a
      ResultSet with one BudgetResult per budget for a list. Calling it again with the same two objects, or with
      others that differ in numbers alone, does not recompile.

    Raises:
      ValueError: the algorithm does not stop by itself and there is no `max_rounds`, it
        takes no budget or the budget is too small for it, it does not fit the environment, `delta` or `epsilon` differs
        from its guarantee, or more runs failed than allowed. The message has one line.
    """
    options: dict[str, Any] = {
        "num_runs": num_runs,
        "seed": seed,
        "max_rounds": max_rounds,
        "epsilon": epsilon,
        "delta": delta,
        "metrics": metrics,
        "keep": keep,
        "allow": allow,
        "max_failed": max_failed,
        "precision": precision or "float64",
    }
    if budget is None:
        if not isinstance(algorithm, Algorithm) and not _complete(algorithm):
            known = getattr(algorithm, "__name__", type(algorithm).__name__)
            raise ValueError(
                f"algorithm = {known}, must be an Algorithm; a factory needs a budget, such as budget = 1000"
            )
        return run_identify(pair_of(algorithm, environment), execution, **options)
    factory: Any = algorithm
    world: Any = built(environment)
    traced = _takes_budget(factory)
    single = not isinstance(budget, list | tuple | range | np.ndarray)
    results, budgets = [], _budgets(budget)
    for pulls in budgets:
        params = {"budget": pulls}
        pair = pair_at(factory, world, params) if traced else pair_of(functools.partial(factory, **params), world)
        if pair.algorithm.budget is None:
            name = pair.algorithm.name or "the algorithm"
            raise ValueError(f"budget = {pulls}, but {name} declares no budget; it must set Algorithm.budget")
        pair = pair._replace(given=(pair.given[0], environment), params=params)
        folder = None if execution.directory is None else Path(execution.directory) / f"{pulls}"
        execution_here = execution._replace(directory=folder)
        results.append(run_identify(pair, execution_here, results=len(budgets), **options))
    return results[0] if single else ResultSet(f"{results[0].instance}", tuple(results))


def _complete(factory: Any) -> bool:
    """Return whether `factory` is a functools.partial, as an executor needs it, that lacks no budget."""
    if not isinstance(factory, functools.partial):
        return False
    budget = inspect.signature(factory).parameters.get("budget")
    return budget is None or budget.default is not inspect.Parameter.empty


def _takes_budget(factory: Any) -> bool:
    """Return whether the budget of a factory is traced; raise ValueError if the factory takes none."""
    if isinstance(factory, Algorithm):
        name = factory.name or "the algorithm"
        if factory.budget is None:
            raise ValueError(f"budget is given, but {name} takes none; leave it out")
        remedy = f"leave it out, or give the factory, such as functools.partial({name}, num_arms)"
        raise ValueError(f"budget is given, but {name} already has one of {int(factory.budget)} pulls; {remedy}")
    name = getattr(factory, "func", factory)
    if not callable(factory) or "budget" not in inspect.signature(factory).parameters:
        raise ValueError(f"budget is given, but {getattr(name, '__name__', name)} takes none; leave it out")
    return parameters_of(factory)["budget"].traced


def _budgets(given: Any) -> list[int]:
    """Return the budgets as a list of different whole numbers."""
    some = list(given) if isinstance(given, list | tuple | range | np.ndarray) else [given]
    if not some:
        raise ValueError("budget = [], must be a number of pulls, or a list of them")
    for i, value in enumerate(some):
        place = "budget" if len(some) == 1 else f"budget[{i}]"
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value != int(value) or value < 1:
            raise ValueError(f"{place} = {value!r}, must be a whole number of pulls >= 1")
        if value in some[:i]:
            raise ValueError(f"{place} = {value!r}, must differ from the others")
    return [int(value) for value in some]
