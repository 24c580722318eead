"""Search spaces: configurations on a grid or drawn at random, as a dictionary of columns."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

import jax
import numpy as np

from jaxbandit.base.arguments import Count
from jaxbandit.base.calls import checked
from jaxbandit.base.parameters import Arg
from jaxbandit.decide.tuning.configs import OBJECTS, objects
from jaxbandit.support.domains import INT32, integer, number
from jaxbandit.support.types import Key

Above = Annotated[float, Arg(lambda given: number(float(given["low"]), open_low=True), within="> low")]


class Distribution(NamedTuple):
    """The distribution of one hyperparameter, for `random_configs` and `search`."""

    draw: Callable[[Key, int], np.ndarray]  # (key, n) -> a column of n entries
    text: str
    suggest: Callable[[Any, str], Any]  # (trial, name) -> a value, by the methods of Optuna's trials
    static: bool = False  # whether its values are static

    def __repr__(self) -> str:
        return self.text


def static(values: Sequence[object]) -> np.ndarray:
    """Return a column of static values: Python objects that `train` receives unchanged, such as a width or a depth.

    Configurations with equal static values share a compilation, in which these values are constants. Use it for values
    that determine shapes, Python loops, or which function is called. Strings are static without it. Numbers that only
    enter arithmetic, such as a learning rate, are better left traced, because a new value then does not recompile.

    Args:
      values: Python objects, which are hashable or have a content, such as lists.

    Returns:
      A NumPy array of dtype object, for `grid` or `choice`, or for use as a leaf of the configurations.
    """
    return objects([value.item() if isinstance(value, np.generic) else value for value in values])


@checked
def grid(**columns: Any) -> dict[str, np.ndarray]:
    """Return all combinations of the values of hyperparameters; the last hyperparameter varies fastest.

    Args:
      **columns: a list or array of values for each hyperparameter. Numbers are traced. The values of `static` are
        static, and so is a list that holds a string, None or another object, whatever else it holds.

    Returns:
      Configurations, a dictionary of columns with one entry per combination: `grid(lr=[0.1, 1.0], momentum=[0.0, 0.9])`
      has 4.

    Raises:
      ValueError: there is no hyperparameter, one has no values, or its arrays have different shapes.
    """
    if not columns:
        raise ValueError("no hyperparameter given, must be at least one, such as grid(lr=[0.1, 0.01])")
    values = {name: _values(name, column) for name, column in columns.items()}
    places = np.array(list(itertools.product(*(range(len(column)) for column in values.values()))))
    return {name: column[places[:, i]] for i, (name, column) in enumerate(values.items())}


@checked
def random_configs(key: Key, n: Count, /, **distributions: Distribution) -> dict[str, np.ndarray]:
    """Return independent random configurations.

    Hyperparameter number i, in the order given, is drawn with fold_in(key, i), so that adding one at the end does not
    change the others.

    Args:
      key: a JAX PRNG key.
      n: number of configurations.
      **distributions: a distribution for each hyperparameter: `loguniform`, `space.uniform`, `uniform_int` or
        `choice`.

    Returns:
      Configurations, a dictionary of columns with n entries.

    Raises:
      ValueError: no hyperparameter is given, or one is not a distribution.
    """
    if not distributions:
        raise ValueError("no hyperparameter given, must be at least one, such as lr=loguniform(1e-4, 1)")
    columns = {}
    for i, (name, law) in enumerate(distributions.items()):
        if not isinstance(law, Distribution):
            remedy = "must be loguniform, uniform, uniform_int or choice of something"
            raise ValueError(f"{name} = {law!r}, {remedy}")
        columns[name] = law.draw(jax.random.fold_in(key, i), n)
    return columns


@checked
def loguniform(low: Annotated[float, Arg(number(0, open_low=True))], high: Above) -> Distribution:
    """Return the distribution of a number whose logarithm is uniform on [log(low), log(high)].

    Args:
      low: smallest value.
      high: largest value.
    """

    def draw(key: Key, n: int) -> np.ndarray:
        exponents = math.log(low) + _unit(key, n) * (math.log(high) - math.log(low))
        return np.clip(np.exp(exponents), low, high)

    return Distribution(
        draw, f"loguniform({low}, {high})", lambda trial, name: trial.suggest_float(name, low, high, log=True)
    )


@checked
def uniform(low: Annotated[float, Arg(number())], high: Above) -> Distribution:
    """Return the uniform distribution on [low, high).

    Args:
      low: smallest value.
      high: upper bound, exclusive.
    """
    return Distribution(
        lambda key, n: low + _unit(key, n) * (high - low),
        f"uniform({low}, {high})",
        lambda trial, name: trial.suggest_float(name, low, high),
    )


@checked
def uniform_int(
    low: Annotated[int, Arg(integer(-INT32 - 1))],
    high: Annotated[int, Arg(lambda given: integer(given["low"], INT32), within="an integer in [low, 2^31 - 1]")],
) -> Distribution:
    """Return the uniform distribution on the integers low, ..., high, both included, which are traced.

    Args:
      low: smallest value.
      high: largest value.
    """

    def draw(key: Key, n: int) -> np.ndarray:
        return low + np.floor(_unit(key, n) * (high - low + 1)).astype(np.int64)

    return Distribution(draw, f"uniform_int({low}, {high})", lambda trial, name: trial.suggest_int(name, low, high))


@checked
def choice(values: Sequence | np.ndarray | jax.Array) -> Distribution:
    """Return the uniform distribution on a list of values.

    Args:
      values: a list or array, as for `grid`.

    Raises:
      ValueError: there are no values, or they are arrays of different shapes.
    """
    column = _values("values", values)
    listed = column.tolist()
    plain = all(value is None or type(value) in (bool, int, float, str) for value in listed)

    def suggest(trial: Any, name: str) -> Any:
        if plain:
            return trial.suggest_categorical(name, listed)
        value = column[trial.suggest_categorical(name, list(range(len(column))))]  # Optuna takes only plain values
        return value.item() if isinstance(value, np.generic) else value

    return Distribution(
        lambda key, n: column[np.floor(_unit(key, n) * len(column)).astype(np.int64)],
        f"choice({listed})",
        suggest,
        static=column.dtype.kind in "OU",
    )


def _unit(key: Key, n: int) -> np.ndarray:
    """Uniform numbers in [0, 1) in float64, whether or not JAX's 64-bit mode is enabled."""
    with jax.enable_x64(True):
        return np.asarray(jax.random.uniform(key, (n,), np.float64))


def _values(name: str, values: Sequence | np.ndarray | jax.Array) -> np.ndarray:
    if isinstance(values, str | bytes) or not isinstance(values, Sequence | np.ndarray | jax.Array):
        raise ValueError(f"{name} = {values!r}, must be a list of values")
    # NumPy would turn the others into strings.
    mixed = isinstance(values, Sequence) and len({isinstance(value, str) for value in values}) == 2
    try:
        column = static(list(values)) if mixed else np.asarray(values)
    except ValueError:
        what = "values of one shape, or jb.space.static([...]) of what has none"
        raise ValueError(f"{name} = {values!r}, must be {what}") from None
    if not len(column):
        raise ValueError(f"{name} has no values, must have at least one")
    objects_in_lists = column.dtype.kind == "O" or (column.dtype.kind in OBJECTS and column.ndim > 1)
    return static(list(values)) if objects_in_lists else column
