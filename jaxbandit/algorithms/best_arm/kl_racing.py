"""KL-Racing (Kaufmann, Kalyanakrishnan 2013) and Successive Elimination (Even-Dar, Mannor, Mansour 2006).

Both pull all survivors once a round, and drop those whose interval lies below that of the empirical best. They differ
in the interval: by the family's divergence and a level of choice, or the sub-Gaussian one of a union over all rounds.
KL-Racing is published for the m best arms and a tolerance epsilon; here are m = 1 and epsilon = 0.
"""

import math

import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.algorithms.best_arm.levels import LevelName, arm_level
from jaxbandit.algorithms.best_arm.racing import Drop, Look, kept, race
from jaxbandit.algorithms.best_arm.thresholds import rewards_of
from jaxbandit.base import Algorithm, Promise, Rewards
from jaxbandit.numerics import as_float, log
from jaxbandit.solvers.families import FamilyName
from jaxbandit.solvers.families import family as family_of
from jaxbandit.types import Array, Scalar

EXPONENT = 1.1  # alpha of the paper's level, as in its experiments
FACTOR = 11.1  # k_1 of the paper's level, above 1 + 1 / (alpha - 1)


def kl_racing(
    num_arms: int,
    *,
    family: FamilyName = "bernoulli",
    threshold: LevelName = "kt",
    drop: Drop = "worst",
    delta: Scalar = 0.05,
    sigma: Scalar = 1.0,
    grid: Scalar = 1.0,
) -> Algorithm:
    """Return KL-Racing, which finds the best arm of a one-parameter family by intervals of its divergence.

    With L the level and r the pulls of each survivor, the worst survivor is dropped once its upper bound, the largest y
    with r d(mean, y) <= L, is below the lower bound of the empirical best.

    Proved, for all thresholds but "heuristic", P(the last survivor is not the best arm) <= delta: while every arm's
    mean is in its interval, an arm whose interval lies below another's is not the best. So it holds whether one arm is
    dropped a round or several, and after whichever rounds one looks.

    Args:
      num_arms: number of arms, >= 2, static.
      family: of the rewards, "bernoulli", "gaussian", "poisson" or "exponential"; static. Rewards in [0, 1] may be
        played as "bernoulli" ones, sub-Gaussian ones as "gaussian".
      threshold: the level: "heuristic" (not proved), "theory" (the paper's, log(k K r^1.1 / delta) with k = 11.1: a
        union of Chernoff's bounds over rounds and arms), "kk", "gauss" (of gaussian rewards) or "kt" (of bernoulli
        ones), see `arm_level`; static.
      drop: at most the "worst" survivor a round, as published, or "all" whose intervals are below; static.
      delta: allowed error rate, in (0, 1), traced.
      sigma: scale of gaussian rewards, > 0, traced; the other families do not read it.
      grid: ratio of two numbers of rounds after which survivors are compared, >= 1, traced. 1, as published, compares
        after every round from the second on; more takes fewer batches, and some more pulls.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[1].

    Raises:
      ValueError: an argument is out of range, or the threshold is not one of the family.

    Source: Kaufmann, Kalyanakrishnan (2013), Information complexity in bandit subset selection, COLT, Algorithm 1 and
    Theorem 1.
    """
    where = "kl_racing"
    num_arms = checks.integer(where, "num_arms", num_arms, 2)
    checks.choice(where, "drop", drop, ("worst", "all"))
    law = family_of(family, sigma, where=where)

    def theory(log_union: Array, n: Array, t: Array) -> Array:
        return math.log(FACTOR) + log_union + EXPONENT * log(as_float(n))

    level = arm_level(threshold, num_arms, delta, law, theory, where=where)

    def keep(statistic: None, look: Look) -> Array:
        allowed = level.level(look.rounds, look.pulls) / look.rounds

        def beats(leader: Array, other: Array) -> Array:
            share = jnp.broadcast_to(allowed, other.shape)
            return law.lower(leader, share) > law.upper(other, share)

        return kept(look, drop, beats)

    return race(
        where,
        num_arms,
        keep,
        promise=Promise(delta, proved=level.proved),
        rewards=rewards_of(law),
        first=2,
        grid=grid,
    )


def successive_elimination(
    num_arms: int, *, delta: Scalar = 0.05, sigma: Scalar = 1.0, grid: Scalar = 1.0
) -> Algorithm:
    """Return Successive Elimination, which finds the best arm for any sub-Gaussian rewards.

    After r rounds it drops every survivor whose mean is 2 c or more below the largest one, with
    c = sqrt(2 sigma^2 log(4 K r^2 / delta) / r). The paper has rewards in [0, 1], of sigma 1/2, and
    c = sqrt(log(4 K r^2 / delta) / r): sqrt(2) times as wide as Hoeffding's bound asks for.

    Proved: P(the last survivor is not the best arm) <= delta, since one of K means leaves an interval in one of the
    rounds with probability at most the sum over r of 2 delta / (4 r^2), which is 0.83 delta.

    Args:
      num_arms: number of arms, >= 2, static.
      delta: allowed error rate, in (0, 1), traced.
      sigma: sub-Gaussian scale of the rewards, > 0, traced.
      grid: ratio of two numbers of rounds after which survivors are compared, >= 1, traced; 1: after every round.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[1].

    Raises:
      ValueError: an argument is out of range.

    Source: Even-Dar, Mannor, Mansour (2006), Action elimination and stopping conditions for the multi-armed bandit and
    reinforcement learning problems, JMLR, Algorithm 3 and Theorem 8.
    """
    where = "successive_elimination"
    num_arms = checks.integer(where, "num_arms", num_arms, 2)
    checks.number(where, "delta", delta, low=0.0, high=1.0, open_low=True, open_high=True)
    checks.number(where, "sigma", sigma, low=0.0, open_low=True)

    def keep(statistic: None, look: Look) -> Array:
        level = math.log(4 * num_arms) + 2 * log(look.rounds) - log(as_float(delta))
        width = as_float(sigma) * jnp.sqrt(2 * level / look.rounds)
        return kept(look, "all", lambda leader, other: leader - other >= 2 * width)

    return race(where, num_arms, keep, promise=Promise(delta), rewards=Rewards(sigma=sigma), grid=grid)
