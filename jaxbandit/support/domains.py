"""Domains: the values that an argument or a key may have, and the words in which errors state them.

Arguments of Python functions (`checks`) and keys of TOML files (`lab.specs`) are judged by the same domains. This
module imports neither JAX nor NumPy.
"""

import functools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from jaxbandit.support.refusals import BadInput, nearest, refuse, show, wrong

INT32 = 2**31 - 1  # the largest int32, which counts arms, runs and rounds
UINT32 = 2**32 - 1  # the largest word of a seed or a key
MOST_ROUNDS = INT32 - 128  # counts of rounds are int32, and a block of rounds must fit on top
MOST_PULLS = 10**15  # of a run that pulls in batches, or has a budget: float64 and 64-bit counts hold it exactly
MAX_ROUNDS = 10_000_000  # after which a run is censored by default
FLOAT32_COUNTS = 2**24  # float32 has no larger odd number, and adding one to a count no longer changes it
NAME_BYTES = 100  # so that two names and that of an argument fit into a file name of 255 bytes


class Outside(Exception):
    """A value is outside its domain: the value, or an entry of it; what it must be; and the place of the entry.

    `has` says what is wrong of a value that need not be shown, such as an array's shape.
    """

    def __init__(self, value: object, allowed: str, place: str = "", has: str = ""):
        super().__init__(value, allowed, place, has)
        self.value, self.allowed, self.place, self.has = value, allowed, place, has


class Domain(NamedTuple):
    """A set of values."""

    allowed: str  # what a value must be, in words that follow "must be"
    take: Callable[[Any], Any]  # returns a value of the domain in the form that is used; raises Outside for another


def check(
    where: str,
    value: object,
    domain: Domain,
    *,
    written: Callable[[object], str] = show,
    error: type[ValueError] = BadInput,
) -> Any:
    """Return a value of a domain in the form that is used, or raise a BadInput of one line, or an `error`.

    `where` is the place of the value: file and key, or function and argument. `written` shows a wrong value.
    """
    try:
        return domain.take(value)
    except Outside as exception:
        outside = exception
    if outside.has:
        refuse(f"{where}{outside.place}", f" has {outside.has}, must have {outside.allowed}", error)
    return wrong(f"{where}{outside.place}", outside.value, outside.allowed, written=written, error=error)


def values(
    allowed: str,
    belongs: Callable[[Any], Any],
    convert: Callable[[Any], Any] = lambda value: value,
    names: Iterable[Any] = (),
) -> Domain:
    """Return the domain of the values that belong to it once they are converted.

    `allowed` is said after "must be". A TypeError, ValueError or OverflowError of `convert` means that a value does not
    belong. The nearest of `names` is suggested in place of a wrong one.
    """

    def take(value: Any) -> Any:
        try:
            converted = convert(value)
            good = belongs(converted)
        except (TypeError, ValueError, OverflowError):
            good, converted = False, None
        if not good:
            raise Outside(value, allowed + (nearest(value, names) if names else ""))
        return converted

    return Domain(allowed, take)


@functools.lru_cache(maxsize=256, typed=True)  # because limits that depend on other arguments are made at each call
def integer(low: int, high: int | None = None, *, most: int = 2**63 - 1) -> Domain:
    """Return the integers in [low, high]; without `high` those >= low, of which `most` is as many as there may be."""
    if high is None:
        below, above = integer(low, most), _integers(f"an integer >= {low}", lambda x: low <= x)
        return Domain(above.allowed, lambda value: below.take(above.take(value)))
    allowed = f"an integer in [{low}, {high}]"
    if high < low:
        allowed = f"at least {low}, and here at most {high}: the problem is too small"
    return _integers(allowed, lambda x: low <= x <= high)


def _integers(allowed: str, belongs: Callable[[int], bool]) -> Domain:
    """Return the domain of some integers, which says of a float such as 1e4 how it is written."""
    whole = values(allowed, belongs, _whole)

    def take(value: Any) -> int:
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 and belongs(int(value)):
            raise Outside(value, f"{allowed}; write {int(value):_}")
        return whole.take(value)

    return Domain(allowed, take)


def number(
    low: float = -math.inf, high: float = math.inf, *, open_low: bool = False, open_high: bool = False
) -> Domain:
    """Return the finite numbers between two bounds, which belong to them unless they are open. Taken as a float."""
    bounded = low > -math.inf or high < math.inf

    def inside(x: float) -> bool:
        return math.isfinite(x) and (x > low if open_low else x >= low) and (x < high if open_high else x <= high)

    allowed = f"a number in {interval(low, high, open_low, open_high)}" if bounded else "a finite number"
    return values(allowed, inside, _real)


def _whole(value: Any) -> int:
    if isinstance(value, bool):  # an integer for Python
        raise TypeError
    return operator.index(value)


def _real(value: Any) -> float:
    if isinstance(value, str | bytes | bool) or getattr(value, "ndim", 0):
        raise TypeError
    return float(value)


def _truth(value: Any) -> Any:
    """Return a bool of NumPy, which is no bool for Python, as one; an array of one remains an array."""
    return bool(value) if type(value).__name__ in ("bool_", "bool") else value


def interval(low: float, high: float, open_low: bool = False, open_high: bool = False) -> str:
    """Return an interval as text; an infinite bound is open."""
    left, right = "(" if open_low or low == -math.inf else "[", ")" if open_high or high == math.inf else "]"
    return f"{left}{low:g}, {high:g}{right}"


def choice(names: Iterable[Any]) -> Domain:
    """Return a set of names, or of other constants; the error for another one suggests the nearest."""
    names = tuple(names)
    return values(f"one of {', '.join(map(str, names))}", lambda value: value in names, names=names)


def precision(name: str, rounds: int) -> Domain:
    """Return the precisions of a run whose argument `name` allows up to `rounds` rounds."""
    if rounds <= FLOAT32_COUNTS:
        return choice(("float32", "float64"))
    why = f"in float32 counts are not exact beyond {FLOAT32_COUNTS}"
    return values(f'"float64" for {name} = {rounds}, because {why}', lambda value: value == "float64")


def default_precision(rounds: int) -> str:
    """Return float32 up to FLOAT32_COUNTS rounds and float64 beyond."""
    return "float32" if rounds <= FLOAT32_COUNTS else "float64"


def several(
    item: Domain, allowed: str, *, distinct: bool = False, increasing: bool = False, empty: bool = False
) -> Domain:
    """Return the lists of entries of a domain, taken as a tuple; `allowed` is said after "must be".

    `distinct`: no two entries may be equal; `increasing`: each is greater than the one before; `empty`: there may be
    none.
    """

    def take(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list) or not (value or empty):
            raise Outside(value, allowed)
        entries: list[Any] = []
        places: dict[Any, int] = {}
        for i, each in enumerate(value):
            try:
                entry = item.take(each)
            except Outside as exception:
                raise Outside(exception.value, exception.allowed, f"[{i}]{exception.place}") from None
            if distinct and entry in places:
                raise Outside(each, f"different from the entry [{places[entry]}]", f"[{i}]")
            if increasing and entries and entry <= entries[-1]:
                raise Outside(each, f"greater than {entries[-1]}, the one before", f"[{i}]")
            entries.append(entry)
            places[entry] = i
        return tuple(entries)

    return Domain(allowed, take)


def one_or_several(item: Domain, allowed: str, **how: bool) -> Domain:
    """Return a domain's entries and, as by `several`, the lists of them. Both are taken as a tuple."""
    lists = several(item, allowed, **how)
    return Domain(allowed, lambda value: lists.take(value) if isinstance(value, list) else (item.take(value),))


BOOLEAN = values("true or false", lambda value: isinstance(value, bool), _truth)
RANGE = values(
    "two finite numbers (low, high) with low < high",
    lambda ends: len(ends) == 2 and -math.inf < ends[0] < ends[1] < math.inf,
    lambda value: tuple(map(_real, value)),
)
NAME = values(
    f"a non-empty string of one line, of at most {NAME_BYTES} bytes, because file names contain it",
    lambda value: (
        isinstance(value, str) and value.strip() and value.isprintable() and len(value.encode()) <= NAME_BYTES
    ),
)
