"""Paired Student race: eliminate arms with confidence sequences for the mean differences between rewards of one round.

This algorithm is original to this library. It applies the t-test martingale (Lai 1976; Wang and Ramdas 2023) to the
differences between pairs of arms, as Kim and Nelson (2001) do with fixed sample sizes. Common random numbers shrink the
differences, and the variances of the single arms, which may be unequal, do not matter.
"""

import math

import jax.numpy as jnp
from jax import lax

from jaxbandit.algorithms.best_arm.race_statistics import few_arms, more_squares
from jaxbandit.algorithms.best_arm.racing import Look, best, race
from jaxbandit.base import checks
from jaxbandit.base.contract import Algorithm, Promise, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.numerics import as_float, get_at
from jaxbandit.base.types import Array, Scalar
from jaxbandit.theory.solvers import student

ASSUMPTION = (
    "the differences between two arms' rewards with the same index are normal; the guarantee fails for rare events in "
    "either direction: if a rival has rare failures, which have not occurred when it is compared (error rates of 0.71, "
    "0.54 and 0.27 were measured at delta = 0.1 for failures in 6, 10 and 20 % of its pulls), and if the best arm owes "
    "its mean to rare large rewards (0.35 at delta = 0.05)"
)


@declare(
    question="confidence",
    setting="arms",
    rewards="Gaussian, variances unknown",
    finds="1",
    cost="O(K^2) a batch of one pull of each survivor",
    memory="O(K^2)",
    tries={"delta": (0.05, 0.5), "epsilon": (0.1, 0.0, 1.0)},
)
def paired_race(num_arms: int, *, delta: Scalar = 0.05, epsilon: Scalar = 0.0) -> Algorithm:
    """Eliminates arms by paired differences of rewards, Gaussian with unknown variances, original to jaxbandit.

    Return the paired Student race, which finds the best arm for rewards of unknown variances.

    Each round pulls every surviving arm once. After n rounds the difference D = X_l - X_i between two survivors has the
    empirical mean d and the variance v (with divisor n), and the lower confidence bound d - sqrt(v R_n) on its mean,
    where R_n is `student.squared_radius`, one-sided at level delta / (K - 1); the bound is -inf if v = 0. Arm i is
    eliminated once the bound for some survivor l is above 0. With epsilon > 0 the race also ends, recommending the best
    survivor b, once the bound for X_b - X_l is above -epsilon for every other survivor l.

    Guarantee: The error rate is at most delta, also with common random numbers.

    In detail, if the rounds are independent draws from one distribution and the differences are Gaussian, with any
    variances and any correlation between arms, then P(the recommended arm is more than epsilon below the best) <=
    delta, whatever the gaps. Proof: let a be a best arm. If arm l eliminates a, the bound for X_l - X_a is above 0
    although its mean is at most 0. If the race ends with an arm b that is more than epsilon below a, then either the
    bound for X_b - X_a is above -epsilon although its mean is below that, or a has been eliminated before. In each case
    the empirical mean of one of the K - 1 differences X_l - X_a exceeds its true mean by the radius. The rounds of a
    pair are one independent sequence, and its bound holds for all n simultaneously with probability 1 - delta / (K -
    1), hence also wherever the sequence is cut off by decisions about other pairs. A union bound over K - 1 pairs gives
    delta.

    No smaller union was found, because which pairs matter depends on who survives, which depends on the same rewards;
    so the error probability of eliminated arms may not be passed on to survivors. Only one side of each pair matters,
    however, which saves half of delta: the two-sided intervals of the same martingale at delta are these intervals at
    about delta / 2, and they need about a tenth more pulls. Adding up the K - 1 martingales of an arm instead of taking
    the largest is also proved and saves another one or two percent, but it gives no explicit bound and is not
    implemented.

    Nothing is proved for differences that are not Gaussian. Differences between arms of the same shape are nearly
    symmetric, and delta = 0.05 was kept where they were (2,000 runs of three arms: error rates of at most 0.002 for
    exponential, log-normal and Bernoulli arms and for t distributions with 2 and 3 degrees of freedom). Rare events of
    one arm are different, in both directions. If only the best arm is skewed, so that it owes its mean to rare large
    rewards, the error rate was 0.35 with a standard deviation of 1.5 of log(reward) against normal arms, and is higher
    for rarer rewards. If a rival has rare failures, the race is over before one has occurred: with a best arm of 0.88
    +- 0.002 and a rival of 0.90 +- 0.002 whose pulls are 0.40 in a share of 6, 10 or 20 %, 0.71, 0.54 and 0.27 of 2,000
    runs were wrong at delta = 0.1 (`jaxbandit audit audit_rivals`), about the probability that six pulls show no
    failure. For bounded rewards use `betting_race`, which is valid for every distribution and made no error.

    Positively correlated rewards within a round, such as scores of models on the same data, halve the number of pulls.
    On the scores of `fiesta` it took 556 +- 6 pulls with independent rows and 272 +- 3 with common ones (standard
    errors; delta = 0.05, epsilon = 0).

    It never decides between arms whose differences are constant. The state holds num_arms^2 pair variances. It runs in
    float64 only, because it cannot verify float32 runs.

    Args:
      num_arms: number of arms K, an integer in [2, 5000]; static. For more arms use `student_race`.
      delta: allowed error probability, in (0, 1); traced.
      epsilon: tolerated simple regret, in the unit of the rewards, >= 0; traced.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[1].

    Raises:
      ValueError: an argument is out of range.

    Source:
      For the martingale, Wang and Ramdas (2023), Anytime-valid t-tests and confidence sequences for Gaussian means with
      unknown variance. Its one-sided form (`theory.solvers.student`) and the race are original to this library.
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
            """Return whether the lower confidence bound for a difference of means is above `bound`."""
            excess = one - other - bound
            varies = student.varies(squares, n, jnp.abs(one) + jnp.abs(other))
            return (excess > 0) & varies & (excess * excess > jnp.where(varies, squares / n, 1.0) * radius)

        beaten = above(means[:, None], means[None], squares, jnp.zeros(())) & look.survivors[:, None]
        survivors = look.survivors & ~jnp.any(beaten, 0)
        leader = best(means, survivors)
        only = jnp.arange(num_arms, dtype=jnp.int32) == leader
        row = lax.dynamic_index_in_dim(squares, leader, 0, keepdims=False)
        close = above(get_at(means, leader), means, row, -as_float(epsilon))
        return jnp.where(jnp.all(close | only | ~survivors), only, survivors)

    return race(
        where,
        num_arms,
        keep,
        promise=Promise(delta, epsilon),
        rewards=Rewards(),
        assumptions=(ASSUMPTION,),
        begin=begin,
        observe=more_squares,
    )
