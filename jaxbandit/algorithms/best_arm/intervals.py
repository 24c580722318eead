"""Confidence intervals of arms in a race, intersected over its rounds, and the range of bounded rewards."""

import math
from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.algorithms.best_arm.racing import Look
from jaxbandit.numerics import as_float
from jaxbandit.types import Array, Scalar


class Interval(NamedTuple):
    """What contains each arm's mean at all times."""

    low: Array  # float[num_arms]
    high: Array  # float[num_arms]


def unbounded(num_arms: int) -> Interval:
    """Nothing is known."""
    wide = jnp.full(num_arms, as_float(jnp.inf))
    return Interval(-wide, wide)


def narrowed(interval: Interval, look: Look, centre: Array, radius: Array) -> Interval:
    """The intersection with centre +- radius, of survivors; what is known of others stays."""
    low = jnp.where(look.survivors, jnp.maximum(interval.low, centre - radius), interval.low)
    high = jnp.where(look.survivors, jnp.minimum(interval.high, centre + radius), interval.high)
    return Interval(low, high)


def undominated(interval: Interval, look: Look) -> Array:
    """Which arms' intervals are not below that of some survivor, bool[num_arms]."""
    return interval.high >= jnp.max(jnp.where(look.survivors, interval.low, -jnp.inf))


def check_range(where: str, low: Scalar, high: Scalar) -> None:
    """Refuse a range of rewards that is empty, or a bound that is not finite."""
    checks.number(where, "low", low)
    checks.number(where, "high", high, low=-math.inf if checks.is_traced(low) else float(low), open_low=True)
