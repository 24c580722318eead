"""sweep: an algorithm, or an instance, at each of several values, in one compilation."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit import checks
from jaxbandit.base import Environment
from jaxbandit.refusals import BadInput
from jaxbandit.running.cell import run_identify, run_simulate, swept


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
      **options: as for `simulate` if `horizon` is one of them, else as for `identify`; `checkpoint_dir` holds one
        folder a value.

    Returns:
      One Result a value, its `params` saying which.

    Raises:
      ValueError: no values, columns of unequal length, or a name that the factory does not take.
    """
    for name, column in values.items():
        if isinstance(column, str) or not np.ndim(column) == 1:
            raise BadInput(f"sweep: values of {name} = {column!r}, must be a list of numbers")
    lengths = {name: len(column) for name, column in values.items()}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        raise BadInput(f"sweep: values have lengths {lengths}, must be one length, at least 1")
    try:
        inspect.signature(factory).bind(**values)
    except TypeError as error:
        known = ", ".join(inspect.signature(factory).parameters)
        raise BadInput(f"sweep: {error}, must be what the factory takes: {known}") from None
    precision = options.get("precision")
    if "horizon" in options:
        horizon = checks.integer("sweep", "horizon", options["horizon"], 1)
        run, precision = run_simulate, checks.precision("sweep", precision, "horizon", horizon)
    else:
        run, precision = run_identify, precision or "float64"
    make = swept(factory, environment)
    number = np.float64 if precision == "float64" else np.float32
    base = options.pop("checkpoint_dir", None)
    results = []
    for i in range(next(iter(lengths.values()))):
        params = {name: float(column[i]) for name, column in values.items()}
        folder = None if base is None else Path(base) / f"{i:03d}"
        arguments = {name: number(value) for name, value in params.items()}
        results.append(run(make, arguments, make(params), params, checkpoint_dir=folder, **options))
    return results
