"""The function `sweep`: an algorithm or an instance at each of several values, in one compilation."""

import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Unpack, overload

import numpy as np

from jaxbandit.base.arguments import HorizonOfRuns
from jaxbandit.base.calls import checked, take_arguments
from jaxbandit.base.contract import Algorithm, Environment
from jaxbandit.engine.driver.execution import DEFAULT, Execution, Progress
from jaxbandit.engine.layout import compiling
from jaxbandit.engine.layout.compiled import scopes_of_thread
from jaxbandit.running.cell import run_identify, run_simulate
from jaxbandit.running.factories import Pair, built, pair_at
from jaxbandit.running.identify import identify
from jaxbandit.running.options import IdentifyOptions, SimulateOptions, check_names
from jaxbandit.running.progress import progress_bar
from jaxbandit.running.results.regret import RegretResult
from jaxbandit.running.results.stopping import StoppingResult
from jaxbandit.running.simulate import simulate
from jaxbandit.support.refusals import python
from jaxbandit.support.types import ArrayLike

# Fewer values leave threads idle at the end, unless each has too few runs to keep all threads busy.
VALUES_PER_THREAD = 4
RUNS_PER_THREAD = 64
Values = Mapping[str, Sequence[ArrayLike] | ArrayLike]


@overload
def sweep(
    factory: Callable[..., Any] | Algorithm,
    environment: Environment | Callable[..., Environment] | None,
    values: Values,
    *,
    horizon: int,
    **options: Unpack[SimulateOptions],
) -> list[RegretResult]: ...


@overload
def sweep(
    factory: Callable[..., Any] | Algorithm,
    environment: Environment | Callable[..., Environment] | None,
    values: Values,
    *,
    horizon: None = None,
    **options: Unpack[IdentifyOptions],
) -> list[StoppingResult]: ...


@checked
def sweep(
    factory: Callable[..., Any] | Algorithm,
    environment: Environment | Callable[..., Environment] | None,
    values: Values,
    *,
    horizon: HorizonOfRuns | None = None,
    execution: Execution = DEFAULT,
    **options: Any,
) -> list[Any]:
    """Run an algorithm or an instance at each of several values of its hyperparameters, in one compilation.

    A value is a number or an array, such as the means of an instance. Its runs have the same numbers, to the last bit,
    whatever other values are swept beside it.

    Args:
      factory: a function that takes the swept hyperparameters by keyword, all of them traced, such as
        `functools.partial(kl_ucb, 9)`; or an Algorithm, if only the instance is swept.
      environment: an Environment, as for `simulate`; or a factory that takes some of the swept names by keyword, such
        as `jb.environments.bernoulli`, for a grid of instances. With None, `factory` returns the pair (algorithm,
        environment).
      values: dictionary of hyperparameter -> list of values, or an array float[n, ...] with a value in each row.
        Several lists must have equal length, and result i uses value i of each; for all combinations, give the columns
        of their product.
      horizon: number of rounds of a run, as for `simulate`. With None, each run plays until its rule stops it, or has
        spent the budget that the factory gives it, as in `identify`.
      execution: how the runs are played, as for `simulate`. Each value has a folder of its own in its directory, from
        which a call with more values at the end resumes too. With an executor, `factory` and `environment` must be
        functools.partial of factories, of which only the algorithm's is swept.
      **options: `num_runs`, which is required, and the other arguments of `simulate` with a horizon, and of `identify`
        without one.

    Returns:
      One RegretResult per value with a horizon, otherwise one StoppingResult or BudgetResult; its `params` holds the
      values.

    Raises:
      ValueError: there are no values, the lists have unequal lengths, or neither factory takes a name, or both do.
      TypeError: there is no such option.
    """
    check_names("sweep", options, horizon)
    one = identify if horizon is None else simulate
    options = take_arguments(one, {"horizon": horizon, **options})
    del options["horizon"]
    columns = {name: _column(name, column) for name, column in values.items()}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        raise ValueError(f"values have lengths {lengths}, must have the same length >= 1")
    if isinstance(factory, Algorithm):
        factory = functools.partial(_itself, factory)
    elif not callable(factory):
        raise ValueError(f"factory is a {type(factory).__name__}, must be a function such as partial(kl_ucb, 9)")
    of_instances = _names_of_instances(factory, environment, columns)
    if of_instances and execution.executor is not None:
        raise ValueError(f"with an executor, {of_instances[0]} of the environment cannot be swept; leave executor out")
    if horizon is not None:
        run, unit, work = functools.partial(run_simulate, horizon=horizon), "step", horizon
    else:
        options["precision"] = options.get("precision") or "float64"
        run, unit, work = run_identify, "run", 1
    maker = _pairs(factory, environment, of_instances) if of_instances else factory
    world = None if of_instances else built(environment)

    def pair(i: int) -> Pair:
        params = {name: column[i].tolist() for name, column in columns.items()}
        values = {name: column[i] if column.ndim > 1 else params[name] for name, column in columns.items()}
        return pair_at(maker, world, values)._replace(given=(factory, environment), params=params)

    pairs = [pair(i) for i in range(next(iter(lengths.values())))]  # a value that its factory refuses is found here

    def play(i: int, execution: Execution, results: int) -> Any:
        folder = None if execution.directory is None else Path(execution.directory) / f"{i:03d}"
        return run(pairs[i], execution._replace(directory=folder), results=results, **options)

    runs = options["num_runs"]
    with progress_bar(len(pairs) * work * runs, f"{len(pairs)} values", unit, execution.progress) as advance:
        return _played(play, len(pairs), runs, execution, advance)


def _itself(algorithm: Algorithm) -> Algorithm:
    return algorithm


def _names_of_instances(factory: Any, environment: Any, names: Iterable[str]) -> tuple[str, ...]:
    """Return the swept names that the environment takes; raise ValueError for a name that neither or both take."""
    named = {} if not callable(environment) else inspect.signature(environment).parameters
    own = {name for name, p in named.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    theirs, mine = inspect.signature(factory).parameters, [name for name in names if name not in own]
    for name in names:
        if name in own and name in theirs:
            remedy = "give one of them a name of its own, such as lambda scale: gaussian(means, sigma=scale)"
            raise ValueError(f"values: {name} is an argument of both the factory and the environment; {remedy}")
    try:
        inspect.signature(factory).bind(**dict.fromkeys(mine))
    except TypeError as error:
        known = ", ".join(theirs) or "none"
        known += f", or of the environment: {', '.join(named)}" if named else ""
        raise ValueError(f"{error}, must be arguments of the factory: {known}") from None
    return tuple(name for name in names if name in own)


@functools.lru_cache(maxsize=32)  # the engine compiles once per function
def _pairs(factory: Any, environment: Any, of_instances: tuple[str, ...]) -> Callable[..., Any]:
    """Return the factory of pairs of two factories, the second of which takes these names."""

    def pair(**given: Any) -> Any:
        mine = {name: value for name, value in given.items() if name not in of_instances}
        return factory(**mine), environment(**{name: given[name] for name in of_instances})

    return pair


def _column(name: str, given: Any) -> np.ndarray:
    """Return the values of a hyperparameter, float64[n, ...]."""
    try:
        column = np.asarray(given)
    except ValueError:  # rows of different lengths
        column = np.asarray("")
    if column.ndim == 0 or (column.dtype.kind not in "biuf" and column.size):
        raise ValueError(f"values of {name} = {python(given)}, must be a list of numbers, or of arrays of one shape")
    return column.astype(np.float64)


def _played(
    play: Callable[[int, Execution, int], Any],
    number: int,
    runs: int,
    execution: Execution,
    advance: Callable[[Progress], None] | None,
) -> list[Any]:
    """Return play(i, execution, results) for i = 0, ..., number - 1, where `results` of them are to be checked."""
    stopped = threading.Event()

    def heard(news: Progress) -> None:
        if advance is not None:
            advance(news)
        if stopped.is_set():  # an exception raised here makes the engine save its state and end
            raise KeyboardInterrupt

    execution = execution._replace(progress=heard)
    results = [play(0, execution, number)]
    threads = _threads(execution)
    few = number - 1 < VALUES_PER_THREAD * threads and runs >= RUNS_PER_THREAD * threads
    if few or not threads or number == 1:
        return results + [play(i, execution, 0) for i in range(1, number)]
    scopes, alone = scopes_of_thread(), execution._replace(workers=1)

    def value(i: int) -> Any:
        with scopes(), compiling.quietly():  # the first value has compiled what there is to compile
            if stopped.is_set():
                raise KeyboardInterrupt
            return play(i, alone, 0)

    with ThreadPoolExecutor(min(threads, number - 1)) as pool:
        try:
            results += pool.map(value, range(1, number))
        except BaseException:
            stopped.set()
            raise
    return results


def _threads(execution: Execution) -> int:
    """Return how many values can be played side by side; 0 if each needs all that there is."""
    if execution.executor is not None:
        return 0
    devices, workers = execution.here()
    return workers if len(devices) == 1 and devices[0].platform == "cpu" else 0
