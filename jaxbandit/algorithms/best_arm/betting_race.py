"""Race for bounded rewards by betting on the differences of pairs of arms.

The bets are those of Waudby-Smith and Ramdas (2024), Section 4, against the hypothesis that the difference of two arms'
rewards has a mean of at most 0, with a stake from its regularised mean and variance. The pairs are ours.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.algorithms.best_arm.intervals import check_range
from jaxbandit.algorithms.best_arm.pairs import few_arms
from jaxbandit.algorithms.best_arm.racing import Look, race
from jaxbandit.base import Algorithm, Promise, Rewards
from jaxbandit.numerics import as_float, log
from jaxbandit.types import Array, Scalar


class BettingStatistic(NamedTuple):
    """What is known of each pair of arms; [l, i] is about D, the reward of arm l less that of arm i, over the range."""

    log_wealth: Array  # float[num_arms, num_arms], of bets that the mean of D is above 0
    squares: Array  # float[num_arms, num_arms], sum of (D_t - q_t)^2, q the regularised mean


def betting_race(num_arms: int, *, delta: Scalar = 0.05, low: Scalar = 0.0, high: Scalar = 1.0) -> Algorithm:
    """Return the betting race, which finds the best arm for bounded rewards by comparing those of one round.

    Each round pulls every survivor once. For survivors l and i, D in [-1, 1] is the difference of their rewards over
    high - low, and a bettor who starts with 1 stakes lambda_t in [0, 1/2] on D_t > 0, so that the wealth is the
    product of 1 + lambda_t D_t. The stake is chosen before the round, q / (s + q^2) cut to [0, 1/2], with q and s the
    regularised mean and second moment of D so far. Arm i is dropped once some l has a wealth of (K - 1) / delta.

    Proved, for rewards in [low, high] that are independent between rounds, with any dependence between arms, common
    random numbers included: P(the last survivor is not the best arm) <= delta. Against the best arm D has a mean of at
    most 0, so each of K - 1 wealths is a supermartingale and reaches (K - 1) / delta with probability delta / (K - 1)
    at most (Ville). It is enough that each round's D has a mean of at most 0 given the past.

    Pair statistics are 2 num_arms^2 numbers. Give the tightest range that is known.

    Args:
      num_arms: number of arms, in [2, 5000], static; for more, `bernstein_race`.
      delta: allowed error rate, in (0, 1), traced.
      low: the least possible reward, traced.
      high: the largest one, above low, traced.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] in [low, high] and recommendations int32[1].

    Raises:
      ValueError: an argument is out of range.

    Source: Waudby-Smith, Ramdas (2024), Estimating means of bounded random variables by betting, JRSS B.
    """
    where = "betting_race"
    num_arms = few_arms(where, num_arms, "bernstein_race")
    checks.number(where, "delta", delta, low=0.0, high=1.0, open_low=True, open_high=True)
    check_range(where, low, high)

    def begin() -> BettingStatistic:
        nothing = jnp.zeros((num_arms, num_arms))
        return BettingStatistic(nothing, nothing)

    def observe(statistic: BettingStatistic, look: Look) -> BettingStatistic:
        n = look.rounds
        scale = 1 / (as_float(high) - as_float(low))
        difference = _apart(look.rewards, look.survivors) * scale
        mean = _apart(look.before, look.survivors) * (scale * (n - 1) / n)
        spread = (0.25 + statistic.squares) / n
        stake = jnp.clip(mean / (spread + mean * mean), 0.0, 0.5)
        rest = difference - _apart(look.means, look.survivors) * (scale * n / (n + 1))
        return BettingStatistic(
            statistic.log_wealth + log(1 + stake * difference),
            statistic.squares + rest * rest,
        )

    def keep(statistic: BettingStatistic, look: Look) -> Array:
        enough = math.log(max(num_arms - 1, 1)) - jnp.log(as_float(delta))
        return ~jnp.any((statistic.log_wealth >= enough) & look.survivors[:, None], 0)

    return race(where, num_arms, keep, promise=Promise(delta), rewards=Rewards(low, high), begin=begin, observe=observe)


def _apart(x: Array, survivors: Array) -> Array:
    """x_l - x_i at [l, i], 0 where one of the two was dropped."""
    pairs = survivors[:, None] & survivors[None]
    return jnp.where(pairs, x[:, None] - x[None], 0.0)
