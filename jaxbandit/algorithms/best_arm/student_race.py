"""Student race: eliminate arms with confidence sequences for their means, for Gaussian rewards of unknown variances.

The intervals come from the t-test martingale; the race is as in Even-Dar et al. (2006).
"""

import math
from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.best_arm.race_statistics import Interval, narrowed, unbounded, undominated
from jaxbandit.algorithms.best_arm.racing import Look, best, race
from jaxbandit.base.arguments import Delta, SeveralArms
from jaxbandit.base.contract import Algorithm, Promise, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float, get_at
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers import student

ASSUMPTION = (
    "the rewards of each arm are normal; the guarantee fails for rare events in either direction: if a rival has rare "
    "failures, which have not occurred when it is compared (error rates of 0.70, 0.54 and 0.27 were measured at "
    "delta = 0.1 for failures in 6, 10 and 20 % of its pulls), and if the best arm owes its mean to rare large rewards "
    "(0.27 at delta = 0.05)"
)


class StudentStatistic(NamedTuple):
    """What is known about each arm besides its mean."""

    squares: Array  # float[num_arms], sums of squared deviations from the mean
    interval: Interval


@declare(
    question="confidence",
    rewards="Gaussian, variances unknown",
    cost="O(K) a batch of one pull of each survivor",
    memory="O(K)",
)
def student_race(num_arms: SeveralArms, *, delta: Delta = 0.05) -> Algorithm:
    """Eliminates Gaussian arms with unknown variances by t intervals.

    Each round pulls every surviving arm once. After n rounds an arm has the interval mean +- sqrt(v R_n), intersected
    with its earlier intervals, where v is the empirical variance with divisor n and R_n is `student.squared_radius`,
    one-sided at level delta / K. Arm i is eliminated once its upper bound is below the lower bound of a survivor.

    Guarantee: The error rate is at most delta.

    In detail, this is for independent Gaussian rewards of each arm, with any variances and any dependence between arms.
    If the rewards of a round can be paired, `paired_race` needs fewer pulls; this race needs memory for only num_arms
    numbers per statistic.

    Nothing is proved for rewards that are not Gaussian; skewed rewards and rare events break the guarantee in both
    directions. For bounded rewards use `bernstein_race`, which is valid for every distribution.

    Once R_n is finite, an arm whose rewards have all been equal has that value as its interval, because under normality
    two equal ones imply sigma = 0. A survivor whose upper bound equals the largest lower bound is then eliminated too:
    of constant arms that tie, the lowest-numbered one is recommended. What rounding may have changed
    (`student.resolution`) makes the interval wider. The race runs in float64 only, because it cannot verify float32
    runs.

    Source:
      Wang and Ramdas (2023), Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance,
      arXiv:2310.03722; Even-Dar, Mannor and Mansour (2006), Action elimination and stopping conditions for the
      multi-armed bandit and reinforcement learning problems, JMLR 7, for the race.
    """

    def begin() -> StudentStatistic:
        return StudentStatistic(jnp.zeros(num_arms), unbounded(num_arms))

    def squared_radius(n: Array) -> Array:
        log_alpha = jnp.log(as_float(delta)) - math.log(num_arms)
        c2 = student.default_c2(log_alpha)
        return student.squared_radius(n, student.one_sided(n, log_alpha, c2), c2)

    def observe(statistic: StudentStatistic, look: Look) -> StudentStatistic:
        ratio, center = squared_radius(look.rounds), look.places
        squares = statistic.squares + (look.rewards - look.before) * (look.rewards - look.means)
        rounding = student.resolution(squares, jnp.abs(center))
        known = (squares > 0) & jnp.isfinite(ratio)
        reach = (jnp.sqrt(squares / look.rounds) + rounding) * jnp.sqrt(jnp.where(known, ratio, 0.0))
        radius = jnp.where(known, rounding + reach, jnp.inf)
        return StudentStatistic(squares, narrowed(statistic.interval, look, center, radius))

    def keep(statistic: StudentStatistic, look: Look) -> Array:
        center, squares = look.places, statistic.squares
        certain = (squares == 0) & (student.resolution(squares, jnp.abs(center)) == 0)
        constant = certain & jnp.isfinite(squared_radius(look.rounds))
        interval = Interval(*(jnp.where(constant, center, end) for end in statistic.interval))
        leader = best(interval.low, look.survivors)
        only = jnp.arange(num_arms, dtype=jnp.int32) == leader
        return undominated(interval, look) & (only | (interval.high > get_at(interval.low, leader)))

    return race(
        num_arms,
        keep,
        promise=Promise(delta),
        rewards=Rewards(),
        assumptions=(ASSUMPTION,),
        begin=begin,
        observe=observe,
        deviations=True,
    )
