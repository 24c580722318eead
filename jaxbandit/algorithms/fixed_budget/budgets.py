"""Checks of the budget of pulls that a rule is given, and whether it is spent."""

from jaxbandit.support import checks
from jaxbandit.support.domains import MOST_PULLS, number
from jaxbandit.support.numerics import as_float
from jaxbandit.support.refusals import python
from jaxbandit.support.types import Array, Scalar


def check(budget: Scalar, least: int, reason: str) -> None:
    """Raise ValueError unless the budget is a whole number of at least `least` pulls; `reason` explains the minimum."""
    if checks.is_traced(budget):
        checks.take("budget", budget, checks.scalars(number()))
        return
    try:
        value = float("nan" if isinstance(budget, bool | str | bytes) else budget)
    except (TypeError, ValueError, OverflowError):
        value = float("nan")
    if not (value.is_integer() and least <= value <= MOST_PULLS):
        raise ValueError(
            f"budget = {python(budget)}, must be a whole number of pulls in [{least}, {MOST_PULLS}]: {reason}"
        )


def whole(budget: Scalar) -> Array:
    """Return the budget as an integer, int[]."""
    return as_float(budget).astype(int)


def spent(pulls: Array, budget: Scalar) -> Array:
    """Return whether this number of pulls uses up the budget, bool[]."""
    return as_float(pulls) >= as_float(budget)
