"""The function `sweep`: an algorithm or an instance at each of several values, in one compilation."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit.base import checks
from jaxbandit.base.contract import Environment
from jaxbandit.base.refusals import BadInput
from jaxbandit.engine.driver.execution import DEFAULT, Execution
from jaxbandit.running.cell import run_identify, run_simulate
from jaxbandit.running.factories import Pair, built, swept


def sweep(
    factory: Callable[..., Any],
    environment: Environment | None,
    values: Mapping[str, Sequence[float]],
    *,
    workers: int | None = None,
    devices: Sequence[Any] | None = None,
    executor: Any = None,
    checkpoint_dir: str | Path | None = None,
    progress: bool | None = None,
    execution: Execution = DEFAULT,
    **options: Any,
) -> list[Any]:
    """Run an algorithm or an instance at each of several values of its hyperparameters, in one compilation.

    Args:
      factory: a function that takes the swept hyperparameters by keyword, all of them traced, such as
        `functools.partial(kl_ucb, 9)`.
      environment: an Environment, as for `simulate`. With None, the factory returns the pair
        (algorithm, environment), so that an instance can be swept as well.
      values: dictionary of hyperparameter -> list of values. Several lists must have equal length, and result i uses
        value i of each; for all combinations, give the columns of their product.
      workers: number of threads, as for `simulate`; and so are the other arguments of how the runs are played.
      devices: JAX devices among which the runs are divided.
      executor: a PEP 3148 executor. `factory` and `environment` must then be functools.partial of factories.
      checkpoint_dir: directory of the states of interrupted runs, with one folder per value.
      progress: whether to show a progress bar on stderr. Default: only on a terminal, if tqdm is installed.
      execution: an `Execution`, with all that can be chosen about how the runs are played.
      **options: as for `simulate` if `horizon` is among them, otherwise as for `identify`.

    Returns:
      One Result per value; its `params` holds the values.

    Raises:
      ValueError: there are no values, the lists have unequal lengths, or the factory does not take a name.
    """
    for name, column in values.items():
        if isinstance(column, str) or not np.ndim(column) == 1:
            raise BadInput(f"sweep: values of {name} = {column!r}, must be a list of numbers")
    lengths = {name: len(column) for name, column in values.items()}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        raise BadInput(f"sweep: values have lengths {lengths}, must have the same length >= 1")
    try:
        inspect.signature(factory).bind(**values)
    except TypeError as error:
        known = ", ".join(inspect.signature(factory).parameters)
        raise BadInput(f"sweep: {error}, must be arguments of the factory: {known}") from None
    precision = options.get("precision")
    if "horizon" in options:
        horizon = checks.integer("sweep", "horizon", options["horizon"], 1)
        run, precision = run_simulate, checks.precision("sweep", precision, "horizon", horizon)
    else:
        run, precision = run_identify, precision or "float64"
    execution = execution.updated(
        workers=workers, devices=devices, executor=executor, checkpoint_dir=checkpoint_dir, progress=progress
    )
    world = built(environment)
    make, given = swept(factory, world), (factory, environment)
    number = np.float64 if precision == "float64" else np.float32
    results, number_of_values = [], next(iter(lengths.values()))
    for i in range(number_of_values):
        params = {name: float(column[i]) for name, column in values.items()}
        folder = None if execution.checkpoint_dir is None else Path(execution.checkpoint_dir) / f"{i:03d}"
        arguments = {name: number(value) for name, value in params.items()}
        pair = Pair(make, arguments, *make(params), given, params)
        results.append(run(pair, execution._replace(checkpoint_dir=folder), results=number_of_values, **options))
    return results
