"""Quantile race: eliminate arms with confidence sequences of a quantile of their rewards, whatever their law.

Original to this library. The bounds are the order statistics of theory/quantile_bounds.py, from the mixture martingale
of Robbins (1970); Howard and Ramdas (2022) have others.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.best_arm.race_statistics import Interval, unbounded, undominated
from jaxbandit.algorithms.best_arm.racing import Look, best, race
from jaxbandit.base.arguments import Count, Delta, Epsilon, OpenUnit, SeveralArms
from jaxbandit.base.contract import Algorithm, Promise, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float, get_at
from jaxbandit.support.types import Array

ASSUMPTION = (
    "an arm is as good as the p-quantile of its rewards, not as their mean: rarer rewards than p or 1 - p, good or "
    "bad, do not count"
)


class QuantileStatistic(NamedTuple):
    """The bounds of each arm's quantile, the rewards that may become bounds, and which order statistics these are.

    Of two numbers [2] the first is for the upper bound; the second is for the lower one, as the upper one of negated
    rewards.
    """

    interval: Interval
    below: Array  # int32[num_arms], rewards at or below the lower bound
    above: Array  # int32[num_arms], rewards at or above the upper bound
    between: Array  # float[num_arms, capacity], the other rewards, in any order; inf where there is none
    full: Array  # bool[num_arms], a reward found no place; the bounds of the arm remain as they are
    ranks: Array  # float[2], the rank of the bound
    levels: Array  # float[2], alpha times the mixture martingale at this rank; below 1 there is no bound yet


@declare(
    question="confidence",
    rewards="any law; the best p-quantile is found",
    cost="O(K sqrt(max_pulls)) a batch of one pull of each survivor",
    memory="O(K sqrt(max_pulls))",
    tries={"p": (0.5, 0.1, 0.9)},
    settings=({"max_pulls": 400},),
)
def quantile_race(
    num_arms: SeveralArms, *, p: OpenUnit = 0.5, delta: Delta = 0.05, epsilon: Epsilon = 0.0, max_pulls: Count = 10_000
) -> Algorithm:
    """Finds the arm with the best quantile of its rewards, for any law, original to jaxbandit.

    Each round pulls every surviving arm once. After n rounds an arm has the interval from its (lo + 1)-th to its hi-th
    smallest reward, intersected with its earlier intervals, where the ranks lo and hi are those of
    `theory.quantile_bounds`, each at level delta / K. Arm i is eliminated once its upper bound is below the lower bound
    of a survivor. The race also ends, recommending the survivor b with the largest lower bound, once the upper bound of
    every other survivor is at most epsilon above it.

    Guarantee: The probability that the p-quantile of the recommended arm is more than epsilon below the best one is at
    most delta, for any law of the rewards.

    In detail, this is for independent rewards of each arm, with any dependence between arms and any ties. Where there
    is more than one p-quantile, the largest of the best arm counts against the smallest of the recommended one.

    A quantile needs about three times as many pulls as the mean of normal rewards, and is not deceived by rare events.
    To choose by guaranteed performance, take a small p, such as 0.1; to minimize a loss, negate it and take 1 - p. With
    12 arms at delta = 0.05, both bounds are finite after 10 pulls of each for the median, and after 63 for p = 0.1 or
    0.9.

    The state holds 6 sqrt(max_pulls) rewards per arm. If an arm finds no place for one more reward, because it has more
    pulls or delta / K is far below 0.05 / 1,000, its bounds remain as they are: what is decided is as proved, but the
    race may then never stop. With epsilon = 0 it never decides between two arms of equal quantiles, unless the rewards
    have ties there. It runs in float64 only, because it cannot verify float32 runs.

    Args:
      p: probability of the quantile that is compared.
      epsilon: tolerated difference from the best quantile, in the unit of the rewards.
      max_pulls: number of pulls of each arm for which there is memory.

    Source:
      For the martingale, Robbins (1970), Statistical methods related to the law of the iterated logarithm, Annals of
      Mathematical Statistics 41; for confidence sequences of quantiles, Howard and Ramdas (2022), Sequential estimation
      of quantiles with applications to A/B testing and best-arm identification, Bernoulli 28. The bounds by order
      statistics and the race are original to this library.
    """
    capacity = math.ceil(6 * math.sqrt(max_pulls))

    def begin() -> QuantileStatistic:
        nothing = jnp.zeros(num_arms, jnp.int32)
        return QuantileStatistic(
            interval=unbounded(num_arms),
            below=nothing,
            above=nothing,
            between=jnp.full((num_arms, capacity), as_float(jnp.inf)),
            full=jnp.zeros(num_arms, bool),
            ranks=jnp.zeros(2),
            levels=jnp.full(2, as_float(delta) / num_arms),
        )

    def next_ranks(statistic: QuantileStatistic, n: Array) -> tuple[Array, Array]:
        """Return the ranks and levels after n rounds, by the recurrence of theory/quantile_bounds.py."""
        ranks, levels = statistic.ranks, statistic.levels
        share = jnp.stack([as_float(p), 1 - as_float(p)])
        edge = as_float(delta) / num_arms * jnp.sqrt(share * (1 - share)) / (2 * jnp.arcsin(jnp.sqrt(1 - share)))
        same = ((n - ranks - 0.5) * levels - edge) / (n * (1 - share))
        more = ((ranks + 0.5) * levels + edge) / (n * share)
        stays = same >= 1
        return jnp.where(stays, ranks, ranks + 1), jnp.where(stays, same, more)

    def observe(statistic: QuantileStatistic, look: Look) -> QuantileStatistic:
        ranks, levels = next_ranks(statistic, look.rounds)
        low, high = statistic.interval
        x, between = look.rewards, statistic.between
        # What is remembered of an eliminated arm does not matter, because its bounds do not move.
        inside = (x > low) & (x < high)
        below = statistic.below + (x <= low).astype(jnp.int32)
        above = statistic.above + (x >= high).astype(jnp.int32)

        slots = jnp.arange(capacity, dtype=jnp.int32)[None]
        place = jnp.min(jnp.where(between == jnp.inf, slots, capacity), 1)
        full = statistic.full | (inside & (place == capacity))
        between = jnp.where(inside[:, None] & (slots == place[:, None]), x[:, None], between)

        # A rank grows by at most 1 a round, so that a bound either stays or moves to the next reward inside, or to the
        # other bound if there is none.
        due = jnp.where(levels >= 1, look.rounds - ranks + 1, -1.0)  # rewards that have to be at or beyond the bound
        moves = look.survivors & ~full & (as_float(below) < due[1])
        low = jnp.where(moves, jnp.minimum(jnp.min(between, 1), high), low)
        beyond = between <= low[:, None]
        below = below + jnp.sum(beyond, 1, dtype=jnp.int32)
        between = jnp.where(beyond, jnp.inf, between)

        moves = look.survivors & ~full & (as_float(above) < due[0])
        largest = jnp.max(jnp.where(between == jnp.inf, -jnp.inf, between), 1)
        high = jnp.where(moves, jnp.maximum(largest, low), high)
        beyond = (between >= high[:, None]) & (between < jnp.inf)
        above = above + jnp.sum(beyond, 1, dtype=jnp.int32)
        between = jnp.where(beyond, jnp.inf, between)
        return QuantileStatistic(Interval(low, high), below, above, between, full, ranks, levels)

    def keep(statistic: QuantileStatistic, look: Look) -> Array:
        low, high = statistic.interval
        survivors = look.survivors & undominated(statistic.interval, look)
        leader = best(low, survivors)
        only = jnp.arange(num_arms, dtype=jnp.int32) == leader
        close = high <= get_at(low, leader) + as_float(epsilon)
        return jnp.where(jnp.all(close | only | ~survivors), only, survivors)

    rule = race(
        num_arms,
        keep,
        promise=Promise(delta, epsilon, quantile=p),
        rewards=Rewards(),
        assumptions=(ASSUMPTION,),
        begin=begin,
        observe=observe,
    )
    return rule._replace(recommend=lambda state: best(state.statistic.interval.low, state.survivors)[None])
