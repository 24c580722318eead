"""Validation of arguments. An error is one line that names the place, the argument, the value and what is allowed.

Only concrete values can be checked. A traced value passes; if it makes a run fail, the run's outcome code shows it.
"""

import math
import operator
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

FLOAT32_COUNTS = 2**24  # float32 has no larger odd number, and adding one more reward no longer changes a mean


def is_traced(value: Any) -> bool:
    """Return whether a value is a tracer, so that it cannot be checked."""
    return isinstance(value, Tracer)


def untraced(where: str, instead: str) -> None:
    """Raise ValueError inside a function that JAX is tracing, which cannot drive the engine from the host."""
    if is_traced(jnp.zeros(())):
        raise ValueError(f"{where}: called inside a function that JAX traces (jit, scan, grad); use {instead} there")


def integer(where: str, name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return `value` as an int in [low, high]; raise ValueError otherwise."""
    allowed = f"an integer >= {low}" if high is None else f"an integer in [{low}, {high}]"
    if high is not None and high < low:
        allowed = f"at least {low}, and here at most {high}: the problem is too small"
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        result = operator.index(value)
    except TypeError:
        raise ValueError(f"{where}: {name} = {value!r}, must be {allowed}") from None
    if result < low or (high is not None and result > high):
        raise ValueError(f"{where}: {name} = {value!r}, must be {allowed}")
    return result


def number(
    where: str,
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    open_high: bool = False,
) -> Any:
    """Return the scalar `value` unchanged; raise ValueError unless it is finite and between `low` and `high`."""
    if is_traced(value):
        if value.ndim:
            raise ValueError(f"{where}: {name} has shape {value.shape}, must be a scalar")
        return value
    left, right = ("(" if open_low or low == -math.inf else "["), (")" if open_high or high == math.inf else "]")
    allowed = f"a number in {left}{low:g}, {high:g}{right}"
    if isinstance(value, str | bytes | bool | type(None)) or np.ndim(value):
        raise ValueError(f"{where}: {name} = {value!r}, must be {allowed}")
    try:
        x = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{where}: {name} = {value!r}, must be {allowed}") from None
    inside = (x > low if open_low else x >= low) and (x < high if open_high else x <= high)
    if not (math.isfinite(x) and inside):
        raise ValueError(f"{where}: {name} = {value!r}, must be {allowed}")
    return value


def array(
    where: str,
    name: str,
    value: Any,
    *,
    ndim: int = 1,
    min_size: int = 1,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
) -> Any:
    """Return `value` as an array of `ndim` axes with entries in [low, high]; raise ValueError otherwise.

    A concrete value comes back as float64 NumPy, so that a closure over it can be cast to either precision.
    """
    if not is_traced(value):
        try:
            value = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{where}: {name} = {value!r}, must be numbers in {ndim} axes") from None
    if value.ndim != ndim:
        raise ValueError(f"{where}: {name} has shape {value.shape}, must have {ndim} axes")
    if value.shape[0] < min_size:
        raise ValueError(f"{where}: {name} has {value.shape[0]} entries, must have at least {min_size}")
    if isinstance(value, np.ndarray):
        good = np.isfinite(value) & (value > low if open_low else value >= low) & (value <= high)
        if not good.all():
            at = tuple(int(i) for i in np.argwhere(~good)[0])
            left = "(" if open_low or low == -math.inf else "["
            right = ")" if high == math.inf else "]"
            place = ", ".join(map(str, at))
            raise ValueError(
                f"{where}: {name}[{place}] = {float(value[at])!r}, must be in {left}{low:g}, {high:g}{right}"
            )
    return value


def starts(where: str, value: Any) -> np.ndarray:
    """Return the number of rounds played before each segment, int32[segments].

    Raises:
      ValueError: the numbers do not begin with 0 or do not increase.
    """
    if isinstance(value, str | bytes) or np.ndim(value) != 1 or not len(value):
        raise ValueError(f"{where}: starts = {value!r}, must be a list of rounds, one per segment")
    found = [integer(where, f"starts[{i}]", start, 0, 2**31 - 1) for i, start in enumerate(value)]
    if found[0]:
        raise ValueError(f"{where}: starts[0] = {found[0]}, must be 0, because the first segment begins with the run")
    for i in range(1, len(found)):
        if found[i] <= found[i - 1]:
            raise ValueError(f"{where}: starts[{i}] = {found[i]}, must be greater than {found[i - 1]}, the one before")
    return np.array(found, np.int32)


def choice(where: str, name: str, value: Any, allowed: tuple[str, ...]) -> Any:
    """Return `value` if it is one of `allowed`; otherwise raise a ValueError that suggests the nearest name."""
    if value not in allowed:
        raise ValueError(f"{where}: {name} = {value!r}, must be one of {', '.join(allowed)}{nearest(value, allowed)}")
    return value


def precision(where: str, value: str | None, name: str, rounds: int) -> Any:
    """Return the precision of a run with a given number of rounds.

    Args:
      where: the function whose argument this is, used in the error message.
      value: "float32", "float64", or None for the default: float32 up to FLOAT32_COUNTS rounds and float64 beyond.
      name: the name of the argument that sets `rounds`, "horizon" or "max_rounds", used in the error message.
      rounds: the largest number of rounds that a run may have.

    Raises:
      ValueError: `value` is another string, or is "float32" for more than FLOAT32_COUNTS rounds.
    """
    if value is None:
        return "float32" if rounds <= FLOAT32_COUNTS else "float64"
    if choice(where, "precision", value, ("float32", "float64")) == "float32" and rounds > FLOAT32_COUNTS:
        raise ValueError(
            f"{where}: {name} = {rounds}, must be at most {FLOAT32_COUNTS} in float32, in which further rewards no "
            'longer change a mean; give precision = "float64"'
        )
    return value


def nearest(value: Any, allowed: Any) -> str:
    """Return '; did you mean X?' for a misspelled name, or '' if no allowed name is similar."""
    import difflib  # only needed for an error message

    names = {str(a).casefold(): str(a) for a in allowed}
    close = difflib.get_close_matches(str(value).casefold(), names, n=1)
    return f"; did you mean {names[close[0]]!r}?" if close else ""


def action_sets(where: str, name: str, value: Any, mask: Any) -> tuple[Any, np.ndarray | None]:
    """Return checked action sets, and the mask of their real arms or None if there is no padding.

    Args:
      where: the function whose argument this is, used in error messages.
      name: the name of the argument, used in error messages.
      value: float[contexts, arms, dim], or float[arms, dim] for a single set.
      mask: concrete bool[contexts, arms] or bool[arms], False where a row is padding of a shorter set. None if there
        is no padding.

    Raises:
      ValueError: the shapes are wrong, a set is empty, or no set has two arms to choose from.
    """
    value = array(where, name, value, ndim=3 if np.ndim(value) == 3 else 2)
    arms = np.full(value.shape[:-2], value.shape[-2])
    if mask is not None:
        mask = np.asarray(mask)
        if mask.dtype != bool or mask.shape != value.shape[:-1]:
            got = f"{mask.dtype}{list(mask.shape)}"
            raise ValueError(f"{where}: mask is {got}, must be bool{list(value.shape[:-1])}, one per arm of {name}")
        arms = mask.sum(axis=-1)
        if not arms.all():
            raise ValueError(f"{where}: mask[{int(np.argmin(arms))}] is all False, must leave an arm in every set")
    if arms.max(initial=0) < 2:
        raise ValueError(f"{where}: {name} has one arm per set, must have at least 2 in one of them")
    return value, None if mask is None or mask.all() else mask


def decision_class(where: str, family: Any, num_arms: int, k: int) -> None:
    """Raise a ValueError unless the sets of a decision class all have k of `num_arms` arms."""
    if (family.num_arms, family.rank) != (num_arms, k):
        sets = "different sizes" if family.rank is None else f"size {family.rank}"
        raise ValueError(
            f"{where}: decision_class = {family.name} has sets of {sets} among {family.num_arms} arms, must have sets "
            f"of size k = {k} among {num_arms}"
        )
