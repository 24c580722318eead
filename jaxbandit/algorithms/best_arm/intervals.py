"""Confidence intervals of the arms in a race, intersected over its rounds, and the range of bounded rewards."""

import math
from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.best_arm.racing import Look
from jaxbandit.base import checks
from jaxbandit.base.numerics import as_float
from jaxbandit.base.types import Array, Scalar


class Interval(NamedTuple):
    """An interval that contains each arm's mean at all times, with the probability that the race guarantees."""

    low: Array  # float[num_arms]
    high: Array  # float[num_arms]


def unbounded(num_arms: int) -> Interval:
    """Return the whole real line for each arm."""
    wide = jnp.full(num_arms, as_float(jnp.inf))
    return Interval(-wide, wide)


def narrowed(interval: Interval, look: Look, center: Array, radius: Array) -> Interval:
    """Return the intersection with center +- radius for the survivors; other intervals stay as they are."""
    low = jnp.where(look.survivors, jnp.maximum(interval.low, center - radius), interval.low)
    high = jnp.where(look.survivors, jnp.minimum(interval.high, center + radius), interval.high)
    return Interval(low, high)


def undominated(interval: Interval, look: Look) -> Array:
    """Return which arms' intervals are not below that of any survivor, bool[num_arms]."""
    return interval.high >= jnp.max(jnp.where(look.survivors, interval.low, -jnp.inf))


def check_range(where: str, low: Scalar, high: Scalar) -> None:
    """Raise ValueError if the range of rewards is empty or a bound is not finite."""
    checks.number(where, "low", low)
    checks.number(where, "high", high, low=-math.inf if checks.is_traced(low) else float(low), open_low=True)
