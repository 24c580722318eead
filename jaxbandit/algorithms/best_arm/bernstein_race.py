"""Races for bounded rewards with empirical Bernstein bounds.

Differences from Mnih, Szepesvari and Audibert (2008) and Waudby-Smith and Ramdas (2024): intervals are intersected over
the rounds, and the plug-in bounds have log(K / delta) in place of log(2 K / delta): a race uses one side of each.
"""

import math
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.best_arm.race_statistics import Interval, check_range, narrowed, unbounded, undominated
from jaxbandit.algorithms.best_arm.racing import Look, race
from jaxbandit.base.arguments import Delta, Finite, SeveralArms
from jaxbandit.base.contract import Algorithm, Promise, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array

EXPONENT = 1.1  # p in the union bound over rounds, delta (p - 1) / (p n^p), with the value of Mnih et al.


class BernsteinStatistic(NamedTuple):
    """What is known about each arm besides its mean."""

    parts: Any  # float[num_arms], squared deviations from the mean; or PlugIn
    interval: Interval


class PlugIn(NamedTuple):
    """Running sums of the predictable plug-in bound over the rounds t, for rewards rescaled to [0, 1]."""

    rewards: Array  # float[num_arms], of lambda_t X_t
    weights: Array  # float[num_arms], of lambda_t
    deviations: Array  # float[num_arms], of (X_t - q_{t-1})^2 psi(lambda_t), q is the regularized mean
    squares: Array  # float[num_arms], of (X_t - q_t)^2


@declare(
    question="confidence",
    rewards="in a known range [low, high], any law",
    cost="O(K) a batch of one pull of each survivor",
    memory="O(K)",
    tries={"low": (0.0, -1.0), "high": (1.0, 2.0)},
)
def bernstein_race(
    num_arms: SeveralArms,
    *,
    bound: Literal["bernstein", "plug_in"] = "bernstein",
    delta: Delta = 0.05,
    low: Finite = 0.0,
    high: Finite = 1.0,
) -> Algorithm:
    """Eliminates arms with bounded rewards by empirical Bernstein intervals, Mnih et al. 2008.

    Each round pulls every surviving arm once. An arm is eliminated once its confidence interval lies below that of
    another survivor. After n rounds, the interval of "bernstein" is mean +- (sqrt(2 v x / n) + 3 (high - low) x / n),
    where v is the empirical variance with divisor n and x = log(3 K p n^p / (delta (p - 1))) with p = 1.1. For rewards
    rescaled to [0, 1], "plug_in" weights the reward X_t by lambda_t = min(1/2, sqrt(2 log(K / delta) / (s_{t-1} t log(1
    + t)))), where s is the regularized variance, and its interval is (sum lambda X) / (sum lambda) +- (log(K / delta) +
    sum (X - q)^2 psi(lambda)) / (sum lambda), where q is the regularized mean and psi(lambda) = -log(1 - lambda) -
    lambda. It is narrower in nearly all cases.

    Guarantee: The error rate is at most delta.

    In detail, this is for independent rewards of each arm in [low, high], with any dependence between arms. Give the
    tightest known range, because the number of pulls also grows with (high - low) / gap.

    Args:
      bound: "bernstein", or "plug_in" for the predictable plug-in bound.
      low: smallest possible reward.
      high: largest possible reward, above low.

    Source:
      Mnih, Szepesvari and Audibert (2008), Empirical Bernstein stopping, ICML; Audibert, Munos and Szepesvari (2009),
      Exploration-exploitation tradeoff using variance estimates in multi-armed bandits, Theoretical Computer Science
      410, Theorem 1; Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by betting, JRSS B
      86, Theorem 2.
    """
    check_range(low, high)

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
            center, radius = look.means, jnp.sqrt(2 * jnp.maximum(parts, 0.0) * x) / n + 3 * width * x / n
        else:
            parts = _played(statistic.parts, look, log_union, least, width)
            center = least + width * parts.rewards / parts.weights
            radius = width * (log_union + parts.deviations) / parts.weights
        return BernsteinStatistic(parts, narrowed(statistic.interval, look, center, radius))

    def keep(statistic: BernsteinStatistic, look: Look) -> Array:
        return undominated(statistic.interval, look)

    return race(num_arms, keep, promise=Promise(delta), rewards=Rewards(low, high), begin=begin, observe=observe)


def _played(parts: PlugIn, look: Look, log_union: Array, least: Array, width: Array) -> PlugIn:
    """Return the sums after one more round of rewards."""
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
