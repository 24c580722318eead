"""Validation of arguments of Python functions, by the same domains as the keys of TOML files.

An error is one line that names the function, the argument, the value and what is allowed.

Only concrete values can be checked. A traced value passes; if it makes a run fail, the run's outcome code shows it.
"""

import math
from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jaxbandit.support import domains
from jaxbandit.support.refusals import python, refuse

_MOST = {"num_arms": 2**31 - 1}  # because actions are int32
_STARTS = domains.several(domains.integer(0, 2**31 - 1), "a list of rounds, one per segment", increasing=True)


def is_traced(value: object) -> bool:
    """Return whether a value is a tracer, so that it cannot be checked."""
    return isinstance(value, Tracer)


def untraced(where: str, instead: str) -> None:
    """Raise ValueError inside a function that JAX is tracing, which cannot drive the engine from the host."""
    if is_traced(jnp.zeros(())):
        raise ValueError(f"{where}: called inside a function that JAX traces (jit, scan, grad); use {instead} there")


def integer(where: str, name: str, value: object, low: int, high: int | None = None) -> int:
    """Return `value` as an int in [low, high]; raise ValueError otherwise. Without `high`, its type is the limit."""
    whole = _check(where, name, value, domains.integer(low, high))
    most = _MOST.get(name, 2**63 - 1)
    return whole if high is not None or whole <= most else _check(where, name, value, domains.integer(low, most))


def boolean(where: str, name: str, value: object) -> bool:
    """Return `value` as a bool; raise ValueError for anything else, also for an array of one."""
    return bool(_check(where, name, bool(value) if isinstance(value, np.bool_) else value, domains.BOOLEAN))


def only(where: str, record: Any, names: Iterable[str], what: str = "it") -> None:
    """Raise BadInput for a field of a record of options that is given, but has no meaning for the caller, `what`."""
    kind, default = type(record), type(record)()
    for name in kind.__annotations__:
        value, plain = getattr(record, name), getattr(default, name)
        if name not in names and value is not plain and not (type(value) is type(plain) and value == plain):
            given = f"{kind.__name__}({name}={python(value)})"
            refuse(where, f": {given} means nothing for {what}, which takes {', '.join(names)}; leave it out")


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
    _check(where, name, value, domains.number(low, high, open_low=open_low, open_high=open_high))
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
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"{where}: {name} = {python(value)}, must be numbers in {ndim} axes") from None
    if value.ndim != ndim:
        raise ValueError(f"{where}: {name} has shape {value.shape}, must have {ndim} axes")
    if value.shape[0] < min_size:
        raise ValueError(f"{where}: {name} has {value.shape[0]} entries, must have at least {min_size}")
    if isinstance(value, np.ndarray):
        good = np.isfinite(value) & (value > low if open_low else value >= low) & (value <= high)
        if not good.all():
            at = tuple(int(i) for i in np.argwhere(~good)[0])
            allowed = domains.interval(low, high, open_low)
            place = ", ".join(map(str, at))
            raise ValueError(f"{where}: {name}[{place}] = {float(value[at])!r}, must be in {allowed}")
    return value


def axes(value: Any) -> int:
    """Return the number of axes of what may be an array; 1 for rows of different lengths, which `array` refuses."""
    try:
        return np.ndim(value)
    except ValueError:
        return 1


def starts(where: str, value: Iterable[int] | np.ndarray) -> np.ndarray:
    """Return the number of rounds played before each segment, int32[segments].

    Raises:
      ValueError: the numbers do not begin with 0 or do not increase.
    """
    several = isinstance(value, Iterable) and not isinstance(value, str | bytes) and axes(value) > 0
    rounds = _check(where, "starts", list(value) if several else value, _STARTS)
    if rounds[0]:
        raise ValueError(f"{where}: starts[0] = {rounds[0]}, must be 0, because the first segment begins with the run")
    return np.array(rounds, np.int32)


def choice(where: str, name: str, value: object, allowed: tuple[str, ...]) -> Any:
    """Return `value` if it is one of `allowed`; otherwise raise a ValueError that suggests the nearest name."""
    return _check(where, name, value, domains.choice(allowed))


def precision(where: str, value: str | None, name: str, rounds: int) -> Any:
    """Return the precision of a run with a given number of rounds.

    Args:
      where: the function whose argument this is, used in the error message.
      value: "float32", "float64", or None for the default: float32 up to `domains.FLOAT32_COUNTS` rounds and float64
        beyond.
      name: the name of the argument that sets `rounds`, "horizon" or "max_rounds", used in the error message.
      rounds: the largest number of rounds that a run may have.

    Raises:
      ValueError: `value` is another string, or is "float32" for more rounds than that.
    """
    if value is None:
        return domains.default_precision(rounds)
    return _check(where, "precision", value, domains.precision(name, rounds))


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
    value = array(where, name, value, ndim=3 if axes(value) == 3 else 2)
    arms = np.full(value.shape[:-2], value.shape[-2])
    if mask is not None:
        try:
            mask = np.asarray(mask)
        except ValueError:  # rows of different lengths
            raise ValueError(f"{where}: mask = {python(mask)}, must be bool{list(value.shape[:-1])}") from None
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
    if not hasattr(family, "rank"):
        raise ValueError(f"{where}: decision_class = {python(family)}, must be a DecisionClass, such as top_k(...)")
    if (family.num_arms, family.rank) != (num_arms, k):
        sets = "different sizes" if family.rank is None else f"size {family.rank}"
        raise ValueError(
            f"{where}: decision_class = {family.name} has sets of {sets} among {family.num_arms} arms, must have sets "
            f"of size k = {k} among {num_arms}"
        )


def _check(where: str, name: str, value: object, domain: domains.Domain) -> Any:
    return domains.check(f"{where}: {name}", value, domain, written=python, error=ValueError)
