"""What races compare: confidence intervals, intersected over the rounds, or squared deviations of all pairs of arms."""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.best_arm.racing import Look
from jaxbandit.support import checks
from jaxbandit.support.domains import number
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, Scalar

MOST_ARMS = 5000  # that are compared pair by pair: num_arms^2 numbers per run, 200 MB in float64


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


def check_range(low: Scalar, high: Scalar) -> None:
    """Raise ValueError if the range of rewards is empty."""

    if not checks.is_traced(low):
        checks.take("high", high, checks.scalars(number(float(low), open_low=True)))


def few_arms(num_arms: int, instead: str) -> int:
    """Return num_arms; raise ValueError unless the pairs of arms fit into memory."""
    if num_arms > MOST_ARMS:
        raise ValueError(
            f"num_arms = {num_arms}, must be at most {MOST_ARMS}, because all pairs of arms are "
            f"kept; {instead} keeps one interval per arm"
        )
    return num_arms


def more_squares(squares: Array, look: Look) -> Array:
    """Return the sums of squared deviations of X_l - X_i, float[num_arms, num_arms], after one more round.

    Welford's update for a pair is (n - 1)/n (z_l - z_i)^2, where z is a reward minus the arm's mean over the earlier
    rounds: nothing cancels, and a shift common to all arms has no effect. In a race on deviations, differences that are
    all equal have the sum 0.
    """
    apart = jnp.where(look.survivors, look.rewards - look.before, 0.0)
    return squares + (apart[:, None] - apart[None]) ** 2 * ((look.rounds - 1) / look.rounds)
