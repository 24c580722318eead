"""Races for bounded rewards by empirical Bernstein bounds: Mnih, Szepesvari, Audibert (2008), Section 2, and Audibert,
Munos, Szepesvari (2009); or by the predictable plug-in bounds of Waudby-Smith and Ramdas (2024), Theorem 2.

Differs: intervals are intersected over rounds, and the plug-in ones have log(K / delta) in place of log(2 K / delta),
since a race needs one side of each.
"""

import math
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.algorithms.best_arm.intervals import Interval, check_range, narrowed, unbounded, undominated
from jaxbandit.algorithms.best_arm.racing import Look, race
from jaxbandit.base import Algorithm, Promise, Rewards
from jaxbandit.numerics import as_float
from jaxbandit.types import Array, Scalar

EXPONENT = 1.1  # p of the union over rounds, delta (p - 1) / (p n^p), as Mnih et al. take it


class BernsteinStatistic(NamedTuple):
    """What is known of each arm besides its mean."""

    parts: Any  # float[num_arms], squared deviations from the mean; or PlugIn
    interval: Interval


class PlugIn(NamedTuple):
    """Sums of the predictable plug-in bound, of rewards in the unit of their range; the paper's are over rounds t."""

    rewards: Array  # float[num_arms], of lambda_t X_t
    weights: Array  # float[num_arms], of lambda_t
    deviations: Array  # float[num_arms], of (X_t - q_{t-1})^2 psi(lambda_t), q the regularised mean
    squares: Array  # float[num_arms], of (X_t - q_t)^2


def bernstein_race(
    num_arms: int,
    *,
    bound: Literal["bernstein", "plug_in"] = "bernstein",
    delta: Scalar = 0.05,
    low: Scalar = 0.0,
    high: Scalar = 1.0,
) -> Algorithm:
    """Return the empirical-Bernstein race, which finds the best arm for bounded rewards, whatever their law.

    Each round pulls every survivor once, and an arm is dropped once its interval is below that of a survivor. After n
    rounds "bernstein" has mean +- (sqrt(2 v x / n) + 3 (high - low) x / n), where v is the variance with divisor n and
    x = log(3 K p n^p / (delta (p - 1))), p = 1.1. "plug_in" bets on each reward with lambda_t = min(1/2, sqrt(2 log(K
    / delta) / (s_{t-1} t log(1 + t)))), s the regularised variance, and has sum lambda X / sum lambda +- (log(K /
    delta) + sum (X - q)^2 psi(lambda)) / sum lambda; it is narrower nearly always.

    Proved, for independent rewards of each arm in [low, high], and any dependence between arms: P(the last survivor is
    not the best arm) <= delta. A drop of the best arm takes its mean above its own upper bound, or another arm's below
    its lower one, K events in all. Give the tightest range that is known: the price grows with (high - low) / gap too.

    Args:
      num_arms: number of arms, >= 2, static.
      bound: "bernstein" or "plug_in", the predictable plug-in; static.
      delta: allowed error rate, in (0, 1), traced.
      low: the least possible reward, traced.
      high: the largest one, above low, traced.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] in [low, high] and recommendations int32[1].

    Raises:
      ValueError: an argument is out of range.

    Source: Mnih, Szepesvari, Audibert (2008), Empirical Bernstein stopping, ICML; Audibert, Munos, Szepesvari (2009),
    Exploration-exploitation tradeoff using variance estimates in multi-armed bandits, TCS, Theorem 1; Waudby-Smith,
    Ramdas (2024), Estimating means of bounded random variables by betting, JRSS B, Theorem 2.
    """
    where = "bernstein_race"
    num_arms = checks.integer(where, "num_arms", num_arms, 2)
    checks.choice(where, "bound", bound, ("bernstein", "plug_in"))
    checks.number(where, "delta", delta, low=0.0, high=1.0, open_low=True, open_high=True)
    check_range(where, low, high)

    def begin() -> BernsteinStatistic:
        nothing = jnp.zeros(num_arms)
        parts = nothing if bound == "bernstein" else PlugIn(nothing, nothing, nothing, nothing)
        return BernsteinStatistic(parts, unbounded(num_arms))

    def observe(statistic: BernsteinStatistic, look: Look) -> BernsteinStatistic:
        log_union = math.log(num_arms) - jnp.log(as_float(delta))
        least, width = as_float(low), as_float(high) - as_float(low)
        if bound == "bernstein":
            n = look.rounds
            parts = statistic.parts + (look.rewards - look.before) * (look.rewards - look.means)
            x = log_union + math.log(3 * EXPONENT / (EXPONENT - 1)) + EXPONENT * jnp.log(n)
            centre, radius = look.means, jnp.sqrt(2 * jnp.maximum(parts, 0.0) * x) / n + 3 * width * x / n
        else:
            parts = _played(statistic.parts, look, log_union, least, width)
            centre = least + width * parts.rewards / parts.weights
            radius = width * (log_union + parts.deviations) / parts.weights
        return BernsteinStatistic(parts, narrowed(statistic.interval, look, centre, radius))

    def keep(statistic: BernsteinStatistic, look: Look) -> Array:
        return undominated(statistic.interval, look)

    return race(where, num_arms, keep, promise=Promise(delta), rewards=Rewards(low, high), begin=begin, observe=observe)


def _played(parts: PlugIn, look: Look, log_union: Array, least: Array, width: Array) -> PlugIn:
    """The sums with the rewards of one round more."""
    n = look.rounds
    x, before, mean = ((y - least) / width for y in (look.rewards, look.before, look.means))
    stake = jnp.minimum(jnp.sqrt(2 * log_union * n / ((0.25 + parts.squares) * (n * jnp.log1p(n)))), 0.5)
    expected = (0.5 + (n - 1) * before) / n
    apart = x - (0.5 + n * mean) / (n + 1)
    return PlugIn(
        parts.rewards + stake * x,
        parts.weights + stake,
        parts.deviations + (x - expected) ** 2 * (-jnp.log1p(-stake) - stake),
        parts.squares + apart * apart,
    )
