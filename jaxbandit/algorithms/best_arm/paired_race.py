"""Paired Student race: eliminate arms with confidence sequences for the mean differences between rewards of one round.

Original to this library: the t-test martingale (Lai 1976; Wang and Ramdas 2023) is applied to the differences between
pairs of arms. Common random numbers shrink them, and unequal variances of the arms do not matter.
"""

import functools
import math
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from jaxbandit.algorithms.best_arm.claims import decided
from jaxbandit.algorithms.best_arm.race_statistics import few_arms, more_squares
from jaxbandit.algorithms.best_arm.racing import Look, RaceState, best, race
from jaxbandit.algorithms.exploration import gap_indices
from jaxbandit.base.arguments import AtLeastOne, Delta, Epsilon, M, NonNegative, SeveralArms
from jaxbandit.base.contract import Algorithm, Promise, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers import student

ASSUMPTION = (
    "the differences between two arms' rewards with the same index are normal; the guarantee fails for rare events in "
    "either direction: if a rival has rare failures, which have not occurred when it is compared (error rates of 0.71, "
    "0.54 and 0.27 were measured at delta = 0.1 for failures in 6, 10 and 20 % of its pulls), and if the best arm owes "
    "its mean to rare large rewards (0.35 at delta = 0.05)"
)


class TopStatistic(NamedTuple):
    """What is known about pairs, and which arms have been decided on, for m > 1."""

    squares: Array  # float[num_arms, num_arms]
    accepted: Array  # bool[num_arms]
    rejected: Array  # bool[num_arms]


@declare(
    question="confidence",
    rewards="Gaussian, variances unknown",
    cost="O(K^2) a batch of one pull of each survivor; O(K^3 log K) for m > 1",
    memory="O(K^2)",
    tries={"min_pulls": (1.0, 9.0), "resolution": (0.0, 0.1)},
    settings=({}, {"m": 2}),
)
def paired_race(
    num_arms: SeveralArms,
    *,
    m: M = 1,
    delta: Delta = 0.05,
    epsilon: Epsilon = 0.0,
    min_pulls: AtLeastOne = 1,
    resolution: NonNegative = 0.0,
) -> Algorithm:
    """Eliminates arms by paired differences of rewards, Gaussian with unknown variances, original to jaxbandit.

    Each round pulls every surviving arm once. After n rounds the difference D = X_l - X_i between two survivors has the
    empirical mean d and the variance v (with divisor n), and the lower confidence bound d - sqrt(v R_n) on its mean,
    where R_n is `student.squared_radius`, one-sided at level delta / (K - 1). Arm i is eliminated once the bound for
    some survivor l is above 0. The race also ends, recommending the best survivor b, once the bound for X_b - X_l is at
    least -epsilon for every other survivor l.

    Guarantee: The error rate is at most delta, also with common random numbers.

    In detail, if the rounds are independent draws from one distribution and the differences are Gaussian, with any
    variances and any correlation between arms, then P(the recommended arm is more than epsilon below the best, or one
    of m below the m-th best) <= delta, whatever the gaps.

    For the m best arms the level is delta / (m (K - m)), and arm l beats arm i if the bound for X_l - X_i is above 0,
    or by a chain of such claims. A round pulls every undecided arm; let k be the places left, and s the number of
    undecided arms. An arm that beats at least s - k undecided ones is accepted and not pulled any more; one that at
    least k of them beat is rejected. The race ends once m arms are accepted, or once the bound for X_b - X_l is at
    least -epsilon for all b among the k undecided arms with the largest means and all other undecided l. The reported
    survivors are all arms that are not rejected.

    Under normality two equal differences imply sigma = 0. So where all differences of a pair are equal, their common
    value counts as the true difference once R_n is finite (at delta = 0.05, from n = 6 on with two arms and 9 with
    1,000): an arm that is behind is eliminated, and arms that tie end the race, which recommends the lowest-numbered.
    Differences that are not exactly equal may be so by rounding: what it may have changed counts as a `resolution`.
    `min_pulls` guards against rare events that have not occurred yet, which costs pulls and no part of the guarantee: n
    = 14 rounds show an event of probability 0.19 with probability 0.95.

    With `resolution` h, rewards are rounded, each by at most h / 2, as accuracies on 1 / h examples are. The bound is
    then d - h - (sqrt(v) + h) sqrt(R_n), also where v = 0, and the guarantee is about the means before rounding.

    Nothing is proved for differences that are not Gaussian, and rare events of one arm break the guarantee in both
    directions. For bounded rewards use `betting_race`, which is valid for every distribution.

    The state holds num_arms^2 pair variances. It runs in float64 only, because it cannot verify float32 runs.

    Args:
      num_arms: number of arms K. For more arms use `student_race`.
      min_pulls: number of rounds before which no arm is decided on.
      resolution: distance between neighboring values of rounded rewards, in their unit; 0 if they are exact.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[m], the largest
      empirical mean first.

    Source:
      For the martingale, Wang and Ramdas (2023), Anytime-valid t-tests and confidence sequences for Gaussian means with
      unknown variance, arXiv:2310.03722. Its one-sided form (`theory.solvers.student`) and the race are original to
      this library.
    """
    num_arms = few_arms(num_arms, "student_race")

    def compare(look: Look, squares: Array, lead: Array, size: Array, bound: Array) -> tuple[Array, Array]:
        """Return whether the lower confidence bound for a difference of means is above, or at least, `bound`."""
        n = look.rounds
        log_alpha = jnp.log(as_float(delta)) - math.log(m * (num_arms - m))
        c2 = student.default_c2(log_alpha)
        radius = student.squared_radius(n, student.one_sided(n, log_alpha, c2), c2)
        known = jnp.isfinite(radius) & (n >= as_float(min_pulls))
        step = as_float(resolution) + student.resolution(squares, size)
        excess = lead - bound - jnp.where(known, step * (1 + jnp.sqrt(radius)), 0.0)
        reach = squares / n * radius
        square = excess * excess
        return known & (excess > 0) & (square > reach), known & (excess >= 0) & (square >= reach)

    def sizes(look: Look) -> Array:
        size = jnp.abs(look.places)
        return size[:, None] + size[None]

    def beats(look: Look, squares: Array) -> Array:
        return compare(look, squares, look.leads, sizes(look), jnp.zeros(()))[0]

    def keep(squares: Array, look: Look) -> Array:
        beaten = beats(look, squares) & look.survivors[:, None]
        survivors = look.survivors & ~jnp.any(beaten, 0)
        leader = best(look.places, survivors)
        only = jnp.arange(num_arms, dtype=jnp.int32) == leader
        row, lead, size = (
            lax.dynamic_index_in_dim(each, leader, 0, keepdims=False) for each in (squares, look.leads, sizes(look))
        )
        close = compare(look, row, lead, size, -as_float(epsilon))[1]
        return jnp.where(jnp.all(close | only | ~survivors), only, survivors)

    def decide(statistic: TopStatistic, look: Look) -> TopStatistic:
        squares = more_squares(statistic.squares, look)
        undecided = ~statistic.accepted & ~statistic.rejected
        found, lost = decided(beats(look, squares), undecided, m - jnp.sum(statistic.accepted, dtype=jnp.int32))
        accepted, undecided = statistic.accepted | found, undecided & ~found & ~lost
        inside = undecided & leading(accepted, undecided, look.places)
        outside = undecided & ~inside
        close = compare(look, squares, look.leads, sizes(look), -as_float(epsilon))[1]
        over = jnp.all(close | ~(inside[:, None] & outside[None]))
        return TopStatistic(squares, accepted | (inside & over), statistic.rejected | lost | (outside & over))

    def leading(accepted: Array, undecided: Array, means: Array) -> Array:
        """Return the accepted arms and the undecided ones with the largest means, m in all, bool[num_arms]."""
        return gap_indices.ranks(jnp.where(accepted, jnp.inf, jnp.where(undecided, means, -jnp.inf)), None) < m

    def recommend(state: RaceState) -> Array:
        accepted, rejected = state.statistic.accepted, state.statistic.rejected
        rounds = jnp.where(state.survivors, state.rounds, state.counts)
        assert state.origin is not None
        means = state.origin + state.sums / as_float(jnp.maximum(rounds, 1))
        chosen = leading(accepted, ~accepted & ~rejected, means)
        return gap_indices.best_first(jnp.where(chosen, means, -jnp.inf), m, None)

    nothing = functools.partial(jnp.zeros, num_arms, bool)
    frame = functools.partial(
        race,
        num_arms,
        promise=Promise(delta, epsilon, m),
        rewards=Rewards(),
        assumptions=(ASSUMPTION,),
        deviations=True,
    )
    if m == 1:
        return frame(keep, begin=lambda: jnp.zeros((num_arms, num_arms)), observe=more_squares)
    return frame(
        lambda statistic, look: ~statistic.accepted & ~statistic.rejected,
        begin=lambda: TopStatistic(jnp.zeros((num_arms, num_arms)), nothing(), nothing()),
        observe=decide,
    )._replace(
        recommend=recommend,
        stop=lambda state: jnp.sum(state.statistic.accepted, dtype=jnp.int32) == m,
        survivors=lambda state: ~state.statistic.rejected,
    )
