"""A race for bounded rewards that bets on the differences between pairs of arms.

The bets are those of Waudby-Smith and Ramdas (2024), Section 4; the use of pairs is original to this library.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from jaxbandit.algorithms.best_arm.race_statistics import check_range, few_arms
from jaxbandit.algorithms.best_arm.racing import Look, best, race
from jaxbandit.base.arguments import Delta, Epsilon, Finite, SeveralArms
from jaxbandit.base.contract import Algorithm, Promise, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support import checks
from jaxbandit.support.numerics import as_float, log
from jaxbandit.support.types import Array, Scalar


class BettingStatistic(NamedTuple):
    """What is known about each pair; [l, i] is about D, the reward of l minus that of i, divided by the range."""

    log_wealth: Array  # float[num_arms, num_arms], log wealth of the bets that the mean of D is above 0
    squares: Array  # float[num_arms, num_arms], sum of (D_t - q_t)^2, q is the regularized mean
    log_close: Array | None  # float[num_arms, num_arms], as `log_wealth` for D + epsilon; None for an epsilon of 0


@declare(
    question="confidence",
    rewards="in a known range [low, high], any law",
    cost="O(K^2) a batch of one pull of each survivor",
    memory="O(K^2)",
    tries={"low": (0.0, -1.0), "high": (1.0, 2.0)},
)
def betting_race(
    num_arms: SeveralArms, *, delta: Delta = 0.05, epsilon: Epsilon = 0.0, low: Finite = 0.0, high: Finite = 1.0
) -> Algorithm:
    """Eliminates arms with bounded rewards by betting, after Waudby-Smith and Ramdas 2024.

    Each round pulls every surviving arm once. For survivors l and i, let D in [-1, 1] be the difference between their
    rewards divided by high - low. The wealth of l against i is the product of 1 + lambda_t D_t with stakes lambda_t = q
    / (s + q^2) clipped to [0, 1/2], where q and s are the regularized mean and variance of D before the round. Arm i is
    eliminated once the wealth against it of some survivor l reaches (K - 1) / delta.

    With epsilon > 0, a second bettor does the same for D + e, where e is epsilon divided by high - low; its stake is
    that of q + e in place of q. Arm i is then eliminated once both wealths of some survivor l are that large, and the
    race also ends, recommending the survivor b with the largest mean, once the second bettor's wealth of b against
    every other survivor is.

    Guarantee: The error rate is at most delta, also with common random numbers.

    In detail, if the rewards are in [low, high] and independent between rounds, with any dependence between arms, the
    recommended arm is more than epsilon below the best with probability at most delta: each of the K - 1 wealths
    against the best arm is a nonnegative supermartingale, which reaches (K - 1) / delta with probability at most delta
    / (K - 1). Give the tightest known range.

    The state of a run holds 2 num_arms^2 numbers, and 3 num_arms^2 with epsilon > 0. With epsilon = 0 two arms of equal
    means are compared forever. Ending by epsilon needs about 2 log(K / delta) / e rounds, however small the variances
    are.

    Args:
      num_arms: number of arms K. For more arms use `bernstein_race`.
      low: smallest possible reward.
      high: largest possible reward, above low.

    Source:
      Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by betting, JRSS B 86, Section 4.
    """
    num_arms = few_arms(num_arms, "bernstein_race")
    check_range(low, high)
    exact = not checks.is_traced(epsilon) and float(epsilon) == 0

    def begin() -> BettingStatistic:
        nothing = jnp.zeros((num_arms, num_arms))
        return BettingStatistic(nothing, nothing, None if exact else nothing)

    def observe(statistic: BettingStatistic, look: Look) -> BettingStatistic:
        n = look.rounds
        scale = 1 / (as_float(high) - as_float(low))
        difference = _apart(look.rewards, look.survivors) * scale
        mean = _apart(look.before, look.survivors) * (scale * (n - 1) / n)
        spread = (0.25 + statistic.squares) / n

        def bet(log_wealth: Array, margin: Scalar) -> Array:
            above = mean + margin
            stake = jnp.clip(above / (spread + above * above), 0.0, 0.5)
            return log_wealth + log(1 + stake * (difference + margin))

        rest = difference - _apart(look.means, look.survivors) * (scale * n / (n + 1))
        return BettingStatistic(
            bet(statistic.log_wealth, 0.0),
            statistic.squares + rest * rest,
            None if statistic.log_close is None else bet(statistic.log_close, as_float(epsilon) * scale),
        )

    def keep(statistic: BettingStatistic, look: Look) -> Array:
        enough = math.log(num_arms - 1) - jnp.log(as_float(delta))
        beaten = (statistic.log_wealth >= enough) & look.survivors[:, None]
        if statistic.log_close is None:
            return ~jnp.any(beaten, 0)
        survivors = look.survivors & ~jnp.any(beaten & (statistic.log_close >= enough), 0)
        leader = best(look.means, survivors)  # arms may eliminate each other, so that no survivor is left
        only = survivors & (jnp.arange(num_arms, dtype=jnp.int32) == leader)
        close = lax.dynamic_index_in_dim(statistic.log_close, leader, 0, keepdims=False) >= enough
        return jnp.where(jnp.all(close | only | ~survivors), only, survivors)

    return race(
        num_arms, keep, promise=Promise(delta, epsilon), rewards=Rewards(low, high), begin=begin, observe=observe
    )


def _apart(x: Array, survivors: Array) -> Array:
    """Return x_l - x_i at [l, i], or 0 if one of the two arms has been eliminated."""
    pairs = survivors[:, None] & survivors[None]
    return jnp.where(pairs, x[:, None] - x[None], 0.0)
