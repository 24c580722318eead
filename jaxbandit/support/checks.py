"""Validation of arguments of Python functions, by the same domains as the keys of TOML files.

An error is one line that names the function, the argument, the value and what is allowed. Only concrete values can be
checked; a traced value passes.
"""

import math
from collections.abc import Iterable
from typing import Any, NoReturn

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jaxbandit.support import domains, refusals
from jaxbandit.support.refusals import python

_ROUNDS = domains.several(domains.integer(0, domains.INT32), "a list of rounds, one per segment", increasing=True)


def is_traced(value: object) -> bool:
    """Return whether a value is a tracer, so that it cannot be checked."""
    return isinstance(value, Tracer)


def untraced(instead: str) -> None:
    """Raise ValueError inside a function that JAX is tracing, which cannot drive the engine from the host."""
    if is_traced(jnp.zeros(())):
        raise ValueError(f"called inside a function that JAX traces (jit, scan, grad); use {instead} there")


def only(record: Any, names: Iterable[str], what: str) -> None:
    """Raise a ValueError for a field of a record of options that is given, but means nothing for `what`."""
    kind, default = type(record), type(record)()
    for name in kind.__annotations__:
        value, plain = getattr(record, name), getattr(default, name)
        if name not in names and value is not plain and not (type(value) is type(plain) and value == plain):
            given = f"{kind.__name__}({name}={python(value)})"
            raise ValueError(f"{given} means nothing for {what}, which takes {', '.join(names)}; leave it out")


def scalars(domain: domains.Domain) -> domains.Domain:
    """Return the numbers of a domain as they are given, and all traced scalars, which cannot be checked."""

    def take(value: Any) -> Any:
        if not is_traced(value):
            domain.take(value)
        elif value.ndim:
            raise domains.Outside(value, "shape ()", has=f"shape {value.shape}")
        return value

    return domains.Domain(domain.allowed, take)


def arrays(
    *,
    ndim: int = 1,
    min_size: int = 1,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
) -> domains.Domain:
    """Return the arrays of `ndim` axes, at least `min_size` rows, and entries in [low, high], which may be traced.

    A concrete value is taken as float64 NumPy, so that a closure over it can be cast to either precision.
    """
    bounded = low > -math.inf or high < math.inf
    allowed = f"in {domains.interval(low, high, open_low)}"

    def take(value: Any) -> Any:
        if not is_traced(value):
            try:
                value = np.asarray(value, dtype=np.float64)
            except (TypeError, ValueError, OverflowError):
                raise domains.Outside(value, f"numbers in {ndim} axes") from None
        if value.ndim != ndim:
            raise domains.Outside(value, f"{ndim} axes", has=f"shape {value.shape}")
        if value.shape[0] < min_size:
            raise domains.Outside(value, f"at least {min_size}", has=f"{value.shape[0]} entries")
        if isinstance(value, np.ndarray):
            good = np.isfinite(value) & (value > low if open_low else value >= low) & (value <= high)
            if not good.all():
                at = tuple(int(i) for i in np.argwhere(~good)[0])
                raise domains.Outside(float(value[at]), allowed, f"[{', '.join(map(str, at))}]")
        return value

    return domains.Domain(f"entries {allowed}" if bounded else "finite", take)


def one_or_each(count: int, **limits: Any) -> domains.Domain:
    """Return the numbers within limits as of `arrays`, and the arrays of `count` of them."""
    one, several = scalars(domains.number(**limits)), arrays(**limits)

    def take(value: Any) -> Any:
        if axes(value) == 0:
            return one.take(value)
        value = several.take(value)
        if len(value) != count:
            raise domains.Outside(value, f"{count}, one per arm, or be a number", has=f"{len(value)} entries")
        return value

    return domains.Domain(f"{one.allowed}, or one per arm", take)


def axes(value: Any) -> int:
    """Return the number of axes of what may be an array; 1 for rows of different lengths, which `array` refuses."""
    try:
        return np.ndim(value)
    except ValueError:
        return 1


def of_list(domain: domains.Domain) -> domains.Domain:
    """Return the domain of a list of values, of which any array or other iterable is taken as one."""

    def take(value: Any) -> Any:
        several = isinstance(value, Iterable) and not isinstance(value, str | bytes) and axes(value) > 0
        return domain.take(list(value) if several else value)

    return domains.Domain(domain.allowed, take)


def _starts(value: Any) -> np.ndarray:
    rounds = of_list(_ROUNDS).take(value)
    if rounds[0]:
        raise domains.Outside(rounds[0], "0, because the first segment begins with the run", "[0]")
    return np.array(rounds, np.int32)


STARTS = domains.Domain(_ROUNDS.allowed, _starts)  # number of rounds played before each segment, int32[segments]


def precision(value: str | None, name: str, rounds: int) -> Any:
    """Return the precision of a run with a given number of rounds.

    None is float32 up to `domains.FLOAT32_COUNTS` rounds and float64 beyond, where "float32" is refused. `name` is the
    argument that sets `rounds`, "horizon" or "max_rounds".
    """
    if value is None:
        return domains.default_precision(rounds)
    return take("precision", value, domains.precision(name, rounds))


def action_sets(name: str, value: Any, mask: Any) -> tuple[Any, np.ndarray | None]:
    """Return checked action sets, and the mask of their real arms or None if there is no padding.

    Args:
      value: float[contexts, arms, dim], or float[arms, dim] for a single set. At least one has two arms.
      mask: concrete bool[contexts, arms] or bool[arms], False where a row is padding of a shorter set; or None.
    """
    value = take(name, value, arrays(ndim=3 if axes(value) == 3 else 2))
    arms = np.full(value.shape[:-2], value.shape[-2])
    if mask is not None:
        try:
            mask = np.asarray(mask)
        except ValueError:  # rows of different lengths
            raise ValueError(f"mask = {python(mask)}, must be bool{list(value.shape[:-1])}") from None
        if mask.dtype != bool or mask.shape != value.shape[:-1]:
            got = f"{mask.dtype}{list(mask.shape)}"
            raise ValueError(f"mask is {got}, must be bool{list(value.shape[:-1])}, one per arm of {name}")
        arms = mask.sum(axis=-1)
        if not arms.all():
            raise ValueError(f"mask[{int(np.argmin(arms))}] is all False, must leave an arm in every set")
    if arms.max(initial=0) < 2:
        raise ValueError(f"{name} has one arm per set, must have at least 2 in one of them")
    return value, None if mask is None or mask.all() else mask


def same_dimension(candidates: Any, features: Any) -> None:
    """Raise ValueError unless the candidates, a matrix or None, have as many columns as the features."""
    if candidates is not None and candidates.shape[1] != features.shape[1]:
        given, dim = candidates.shape[1], features.shape[1]
        raise ValueError(f"candidates has rows of {given} numbers, must have {dim}, as rows of features")


def decision_class(family: Any, num_arms: int, k: int) -> None:
    """Raise a ValueError unless the sets of a decision class all have k of `num_arms` arms."""
    if not hasattr(family, "rank"):
        wrong("decision_class", family, "a DecisionClass, such as top_k(...)")
    if (family.num_arms, family.rank) != (num_arms, k):
        sets = "different sizes" if family.rank is None else f"size {family.rank}"
        raise ValueError(
            f"decision_class = {family.name} has sets of {sets} among {family.num_arms} arms, must have sets of size "
            f"k = {k} among {num_arms}"
        )


def wrong(name: str, value: object, allowed: str) -> NoReturn:
    """Raise a ValueError of one line for the value of an argument; `allowed` is said after "must be"."""
    refusals.wrong(name, value, allowed, written=python, error=ValueError)


def take(name: str, value: object, domain: domains.Domain) -> Any:
    """Return a value of a domain in the form that is used; raise a ValueError that begins with its name otherwise."""
    return domains.check(name, value, domain, written=python, error=ValueError)
