"""identify: an algorithm that stops by itself against an environment, both given as objects, no files needed."""

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit.base import Algorithm, Environment
from jaxbandit.refusals import refuse
from jaxbandit.results.base import ResultSet
from jaxbandit.running.carried import made
from jaxbandit.running.cell import Precision, fixed, run_identify, swept
from jaxbandit.running.elsewhere import across_of
from jaxbandit.specs.entry import parameters_of


def identify(
    algorithm: Algorithm | Callable[..., Algorithm],
    environment: Environment | Callable[[], Environment],
    *,
    budget: int | Sequence[int] | None = None,
    num_runs: int,
    seed: int = 0,
    name: str | None = None,
    instance: str | None = None,
    max_rounds: int | None = None,
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
    executor: Any = None,
    runs_per_task: int | None = None,
) -> Any:
    """Run `num_runs` independent runs, each until its own rule stops it; return their samples and errors.

    With a `budget`, each run is given so many pulls and then recommends; several budgets share one compilation where
    the rule's budget is traced. Run r of every budget meets the same chance, so that results of two budgets pair.

    Args:
      algorithm: what `lingape(features)` or a factory of your own returns; with a budget a factory that takes it by
        keyword, as `functools.partial(sequential_halving, 20)`.
      environment: what `linear(features, theta)` or a factory of your own returns.
      budget: pulls of a run, or a list of different numbers of them; None of a rule that decides by itself.
      num_runs: independent runs, >= 1. Run r depends on (seed, r) alone, not on how many there are.
      seed: two algorithms with one seed meet the same chance, so that `compare` can pair their runs.
      name: label of the algorithm in tables and figures; default: its own name.
      instance: label of the environment; default: its own name.
      max_rounds: a run that has pulled so often is censored, and is never averaged as if it had stopped; default
        10,000,000. Not with a budget, which ends every run.
      epsilon: a run errs if its recommendation falls short by more. The algorithm's promise says it; given beside
        that, it must agree. Default for an algorithm that promises nothing: 0.
      delta: the error rate that the algorithm promises: said by its promise, with which it must agree.
      any_rewards: play rewards that the algorithm is not made for, without its guarantees; the result says so.
      max_failed: share of the runs, in [0, 1], that may go wrong; more is an error.

      For experts, none of which changes what is played:
      precision: "float64" or "float32"; the latter marks the runs that it cannot carry, up to a
        max_rounds of 2^24.
      checkpoint_dir: where interrupted runs leave their state and find it again; one folder a budget.
      progress: a bar on stderr; default: only on a terminal, and where tqdm is installed.
      lanes: runs side by side on one worker.
      chunk: steps between two looks at the host.
      workers: threads; default: the cores.
      devices: JAX devices to spread the runs over, as for `simulate`.
      executor: a PEP 3148 executor on whose workers the runs are played, as for `simulate`.
      runs_per_task: runs of one of its tasks; default: as many as take about a minute.

    Returns:
      A Result. The same two objects played again are not compiled again. Of one budget a BudgetResult, with error rate
      and simple regret, of a list a ResultSet with one for each in its order.

    Raises:
      ValueError: an argument out of range, a budget for a rule that takes none or that is too small for it, an
        algorithm that does not fit the environment, another promise than the
        algorithm's, or more failed runs than allowed, named in one line.
    """
    options: dict[str, Any] = {
        "num_runs": num_runs,
        "seed": seed,
        "name": name,
        "instance": instance,
        "max_rounds": max_rounds,
        "epsilon": epsilon,
        "delta": delta,
        "any_rewards": any_rewards,
        "max_failed": max_failed,
        "precision": precision,
        "progress": progress,
        "lanes": lanes,
        "chunk": chunk,
        "workers": workers,
        "devices": devices,
    }
    if budget is None:
        if not isinstance(algorithm, Algorithm) and not _complete(algorithm):
            told = getattr(algorithm, "__name__", type(algorithm).__name__)
            refuse("identify", f": algorithm = {told}, must be an Algorithm; a factory needs budget = 1000, or a list")
        pair: Any = made(algorithm), made(environment)
        across = across_of("identify", algorithm, environment, executor, runs_per_task, devices)
        return run_identify(fixed(*pair), {}, pair, {}, checkpoint_dir=checkpoint_dir, across=across, **options)
    factory: Any = algorithm
    world: Any = made(environment)
    traced = _takes_budget(factory)
    single = not isinstance(budget, list | tuple | range | np.ndarray)
    results = []
    for pulls in _budgets(budget):
        if traced:
            make, arguments = swept(factory, world), {"budget": np.float64(pulls)}
            pair = make({"budget": pulls})
        else:
            pair, arguments = (factory(budget=pulls), world), {}
            make = fixed(*pair)
        carried = factory if traced or executor is None else functools.partial(factory, budget=pulls)
        across = across_of("identify", carried, environment, executor, runs_per_task, devices)
        if pair[0].budget is None:
            told = pair[0].name or "the algorithm"
            refuse("identify", f": budget = {pulls}, and {told} says that it has none; it must set Algorithm.budget")
        folder = None if checkpoint_dir is None else Path(checkpoint_dir) / f"{pulls}"
        results.append(
            run_identify(make, arguments, pair, {"budget": pulls}, checkpoint_dir=folder, across=across, **options)
        )
    return results[0] if single else ResultSet(f"{results[0].instance}", tuple(results))


def _complete(factory: Any) -> bool:
    """Whether it is the call of a factory, as an executor wants it, that lacks no budget."""
    if not isinstance(factory, functools.partial):
        return False
    budget = inspect.signature(factory).parameters.get("budget")
    return budget is None or budget.default is not inspect.Parameter.empty


def _takes_budget(factory: Any) -> bool:
    """Whether the budget of a factory is traced; refuse what takes none."""
    if isinstance(factory, Algorithm):
        name = factory.name or "the algorithm"
        if factory.budget is None:
            refuse("identify", f": budget given, and {name} takes none; leave it out")
        remedy = f"leave it out, or give the factory, as functools.partial({name}, num_arms)"
        refuse("identify", f": budget given, and {name} has one of {int(factory.budget)} pulls; {remedy}")
    name = getattr(factory, "func", factory)
    if not callable(factory) or "budget" not in inspect.signature(factory).parameters:
        refuse("identify", f": budget given, and {getattr(name, '__name__', name)} takes none; leave it out")
    return parameters_of(factory)["budget"].traced


def _budgets(given: Any) -> list[int]:
    """Return the budgets as a list of different whole numbers."""
    some = list(given) if isinstance(given, list | tuple | range | np.ndarray) else [given]
    if not some:
        refuse("identify", ": budget = [], must be a number of pulls, or a list of them")
    for i, value in enumerate(some):
        place = "budget" if len(some) == 1 else f"budget[{i}]"
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value != int(value) or value < 1:
            refuse("identify", f": {place} = {value!r}, must be a whole number of pulls >= 1")
        if value in some[:i]:
            refuse("identify", f": {place} = {value!r}, must differ from the others")
    return [int(value) for value in some]
