"""Paired Student race: arms are dropped by confidence sequences for the mean differences of rewards of one round.

Ours. It takes the t-test's martingale (Lai 1976; Wang, Ramdas 2023) to the differences of pairs of arms, as Kim and
Nelson (2001) do with fixed samples: common random numbers shrink the differences, and the arms' own variances, which
may be unequal, do not matter.
"""

import math

import jax.numpy as jnp
from jax import lax

from jaxbandit import checks
from jaxbandit.algorithms.best_arm.pairs import few_arms, more_squares
from jaxbandit.algorithms.best_arm.racing import Look, best, race
from jaxbandit.base import Algorithm, Promise, Rewards
from jaxbandit.numerics import as_float, get_at
from jaxbandit.solvers import student
from jaxbandit.types import Array, Scalar


def paired_race(num_arms: int, *, delta: Scalar = 0.05, epsilon: Scalar = 0.0) -> Algorithm:
    """Return the paired Student race, which finds the best arm for rewards of unknown variances.

    Each round pulls every survivor once. After n rounds the difference D = X_l - X_i of two survivors has the
    empirical mean d and the variance v, with divisor n, and the lower bound d - sqrt(v R_n) on its mean; R_n is that
    of `student.squared_radius`, one-sided at level delta / (K - 1), and inf where v = 0. Arm i is dropped once the
    bound for some survivor l is above 0. With epsilon > 0 the race also ends, recommending the best survivor b, once
    every other survivor l has a bound for X_b - X_l above -epsilon.

    Proved, if the rounds are independent draws of one law and the differences Gaussian, with any variances and any
    correlation between arms: P(the recommended arm is more than epsilon short of the best) <= delta, whatever the
    gaps. Let a* be a best arm. A drop of a* by l takes a bound for X_l - X_{a*} above 0, though its mean is at most 0.
    An end with b, more than epsilon short of a*, takes a bound for X_b - X_{a*} above -epsilon, though its mean is
    below that; or a* was dropped before. In either case one of the K - 1 differences X_l - X_{a*} has an empirical
    mean that exceeds its true mean by the radius. The rounds of a pair are one independent sequence, its bound holds
    for all n at once with probability 1 - delta / (K - 1), and so it does wherever the sequence is cut off, however
    other pairs decide that. The union over K - 1 pairs gives delta.

    No smaller union of pairs than these K - 1 was found: which of them matters depends on who survives, that on the
    same rewards, and so levels may not be passed on from dropped arms to survivors. But only one side of each pair
    matters, which halves what the two-sided intervals of the same martingale pay for: those at delta are these at
    about delta / 2, and need a tenth more pulls. To add up the K - 1 martingales of an arm in place of taking the
    largest is proved too, and saves another hundredth or two; it has no bound that can be read off, and is not done.

    For differences that are not Gaussian nothing is proved. Differences of arms of one shape are nearly symmetric, and
    kept delta = 0.05 wherever it was measured (2,000 runs of three arms: errors of 0.002 and less with exponential,
    log-normal and Bernoulli arms and with t laws of 2 and 3 degrees of freedom). A best arm that alone is skewed, so
    that it owes its mean to rare large rewards, breaks it: 0.35 with log(reward) of standard deviation 1.5 against
    normal arms, more with rarer rewards. Bounded rewards have `betting_race`, which holds for every law.

    Rewards of a round with chance in common, such as scores of models on the same data, halve the pulls: on the scores
    of `fiesta` 556 +- 6 with independent rows and 272 +- 3 with common ones (standard errors; delta = 0.05, epsilon =
    0).

    With constant differences it never decides. Pair variances are num_arms^2 numbers. It plays in float64 only: it
    cannot verify runs of float32.

    Args:
      num_arms: number of arms, in [2, 5000], static; for more, `student_race`.
      delta: allowed error rate, in (0, 1), traced.
      epsilon: tolerated shortfall of a mean, >= 0, traced.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[1].

    Raises:
      ValueError: an argument is out of range.

    Source: the martingale: Wang, Ramdas (2023), Anytime-valid t-tests and confidence sequences for Gaussian means with
    unknown variance; its one-sided form and the race: `jaxbandit.solvers.student` and here.
    """
    where = "paired_race"
    num_arms = few_arms(where, num_arms, "student_race")
    checks.number(where, "delta", delta, low=0.0, high=1.0, open_low=True, open_high=True)
    checks.number(where, "epsilon", epsilon, low=0.0)

    def begin() -> Array:
        return jnp.zeros((num_arms, num_arms))

    def keep(squares: Array, look: Look) -> Array:
        n, means = look.rounds, look.means
        log_alpha = jnp.log(as_float(delta)) - math.log(max(num_arms - 1, 1))
        c2 = student.default_c2(log_alpha)
        radius = student.squared_radius(n, student.one_sided(n, log_alpha, c2), c2)

        def above(one: Array, other: Array, squares: Array, bound: Array) -> Array:
            """Whether the lower bound for a difference of means is above `bound`."""
            excess = one - other - bound
            varies = student.varies(squares, n, jnp.abs(one) + jnp.abs(other))
            return (excess > 0) & varies & (excess * excess > jnp.where(varies, squares / n, 1.0) * radius)

        beaten = above(means[:, None], means[None], squares, jnp.zeros(())) & look.survivors[:, None]
        kept = look.survivors & ~jnp.any(beaten, 0)
        leader = best(means, kept)
        only = jnp.arange(num_arms, dtype=jnp.int32) == leader
        row = lax.dynamic_index_in_dim(squares, leader, 0, keepdims=False)
        close = above(get_at(means, leader), means, row, -as_float(epsilon))
        return jnp.where(jnp.all(close | only | ~kept), only, kept)

    return race(
        where,
        num_arms,
        keep,
        promise=Promise(delta, epsilon),
        rewards=Rewards(),
        begin=begin,
        observe=more_squares,
    )
