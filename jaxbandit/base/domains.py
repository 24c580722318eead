"""Domains: the values that an argument or a key may have, and the words in which errors state them.

Arguments of Python functions (`checks`) and keys of TOML files (`lab.specs`) are judged by the same domains. Their
errors differ only in the class of the error and in how a value is written. This module imports neither JAX nor NumPy.
"""

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, NoReturn

from jaxbandit.base.refusals import BadInput, nearest, show, wrong

FLOAT32_COUNTS = 2**24  # float32 has no larger odd number, and adding one more reward no longer changes a mean
NAME_BYTES = 100  # so that two names and that of an argument fit into a file name of 255 bytes


class Outside(Exception):
    """A value is outside its domain.

    Attributes:
      value: the wrong value, which may be an entry of the one that was judged.
      allowed: what it must be, in words that follow "must be".
      place: where it is in the judged value, for instance "[2]", or "".
    """

    def __init__(self, value: object, allowed: str, place: str = ""):
        super().__init__(value, allowed, place)
        self.value, self.allowed, self.place = value, allowed, place


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
    """Return a value of a domain in the form that is used.

    Args:
      where: place of the value, for the error message: file and key, or function and argument.
      value: the value.
      domain: the domain.
      written: returns a wrong value as text.
      error: class of the error.

    Raises:
      BadInput: the value is outside the domain; another class if `error` is given. The message is one line.
    """
    try:
        return domain.take(value)
    except Outside as exception:
        outside = exception
    return wrong(f"{where}{outside.place}", outside.value, outside.allowed, written=written, error=error)


def integer(low: int, high: int | None = None) -> Domain:
    """Return the integers in [low, high], or those >= low."""
    allowed = f"an integer >= {low}" if high is None else f"an integer in [{low}, {high}]"
    if high is not None and high < low:
        allowed = f"at least {low}, and here at most {high}: the problem is too small"

    def take(value: Any) -> int:
        try:
            number = low - 1 if isinstance(value, bool) else operator.index(value)
        except TypeError:
            number = low - 1
        if number < low or (high is not None and number > high):
            raise Outside(value, allowed)
        return number

    return Domain(allowed, take)


def number(
    low: float = -math.inf, high: float = math.inf, *, open_low: bool = False, open_high: bool = False
) -> Domain:
    """Return the finite numbers between two bounds, which belong to them unless they are open. Taken as a float."""
    bounded = low > -math.inf or high < math.inf
    allowed = f"a number in {interval(low, high, open_low, open_high)}" if bounded else "a finite number"

    def take(value: Any) -> float:
        try:
            text_or_array = isinstance(value, str | bytes | bool) or getattr(value, "ndim", 0)
            x = math.nan if text_or_array else float(value)
        except (TypeError, ValueError, OverflowError):  # of another type, or an integer beyond the largest float
            x = math.nan
        inside = (x > low if open_low else x >= low) and (x < high if open_high else x <= high)
        if not (math.isfinite(x) and inside):
            raise Outside(value, allowed)
        return x

    return Domain(allowed, take)


def interval(low: float, high: float, open_low: bool = False, open_high: bool = False) -> str:
    """Return an interval as text; an infinite bound is open."""
    left, right = "(" if open_low or low == -math.inf else "[", ")" if open_high or high == math.inf else "]"
    return f"{left}{low:g}, {high:g}{right}"


def choice(names: Iterable[str]) -> Domain:
    """Return a set of names; the error for another one suggests the nearest."""
    names = tuple(names)
    allowed = f"one of {', '.join(names)}"

    def take(value: Any) -> str:
        if value not in names:
            raise Outside(value, allowed + nearest(value, names))
        return value

    return Domain(allowed, take)


def precision(name: str, rounds: int) -> Domain:
    """Return the precisions of a run whose argument `name` allows up to `rounds` rounds."""
    names = choice(("float32", "float64"))
    if rounds <= FLOAT32_COUNTS:
        return names
    allowed = (
        f'"float64" for {name} = {rounds}, because in float32 further rewards no longer change a mean after '
        f"{FLOAT32_COUNTS} rounds"
    )

    def take(value: Any) -> str:
        if names.take(value) == "float32":
            raise Outside(value, allowed)
        return value

    return Domain(allowed, take)


def default_precision(rounds: int) -> str:
    """Return float32 up to FLOAT32_COUNTS rounds and float64 beyond."""
    return "float32" if rounds <= FLOAT32_COUNTS else "float64"


def nothing(allowed: str) -> Domain:
    """Return the empty domain."""

    def take(value: object) -> NoReturn:
        raise Outside(value, allowed)

    return Domain(allowed, take)


def several(
    item: Domain, allowed: str, *, distinct: bool = False, increasing: bool = False, empty: bool = False
) -> Domain:
    """Return the lists of entries of a domain. Taken as a tuple.

    Args:
      item: domain of each entry.
      allowed: what the list must be, in words that follow "must be".
      distinct: whether no two entries may be equal.
      increasing: whether each entry must be greater than the one before.
      empty: whether the list may be empty.
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


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise Outside(value, BOOLEAN.allowed)
    return value


def _name(value: Any) -> str:
    printable = isinstance(value, str) and value.strip() and value.isprintable()
    if not printable or len(value.encode()) > NAME_BYTES:
        raise Outside(value, NAME.allowed)
    return value


BOOLEAN = Domain("true or false", _boolean)
NAME = Domain(
    f"a non-empty string of one line, of at most {NAME_BYTES} bytes, because file names contain it",
    _name,
)
