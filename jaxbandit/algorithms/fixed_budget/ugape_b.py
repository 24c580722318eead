"""UGapEb, the fixed-budget variant of UGapE: Gabillon, Ghavamzadeh and Lazaric (2012).

Ties always go to the lowest-numbered arm, and among tied rounds the recommendation of the first one is kept.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.algorithms.fixed_budget import budgets
from jaxbandit.base.arguments import Budget, M, NumArms, Positive
from jaxbandit.base.contract import Algorithm, Arms
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import argmax, as_float, get_at
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import counts as estimator
from jaxbandit.theory.estimators.counts import Counts


class UGapEbState(NamedTuple):
    """Statistics, the arm to pull next, and the most reliable recommendation so far."""

    arms: Counts
    next: Array  # int32[], the arm to pull
    least: Array  # float[], the smallest value of max_{i in J} B_i so far; inf at first
    named: Array  # int32[m], J in the round in which that value was attained


@declare(
    question="budget",
    rewards="in [0, 1]",
    cost="O(K^2)",
    memory="O(K)",
    tries={"a": (2.0, 0.5)},
    settings=({}, {"m": 2}),
)
def ugape_b(num_arms: NumArms, *, m: M = 1, budget: Budget, a: Positive) -> Algorithm:
    """UGapE for a fixed budget, Gabillon et al. 2012.

    Every arm is pulled once. Let U_i and L_i be mean_i +- sqrt(a / n_i), and let B_i be the m-th largest U among the
    other arms minus L_i. J is the set of the m arms with the smallest B. Of the arm in J with the smallest L and the
    arm outside J with the largest U, the one with fewer pulls is pulled. The recommendation is the J for which max_{i
    in J} B_i was the smallest over all rounds, including the last.

    Guarantee: P(error) <= 2 budget K exp(-2 a) if a <= (budget - K) / (16 sum of 1 / gap^2), so this sum has to be
    known (Gabillon et al. 2012).

    In detail, for rewards in [0, 1]. In practice this is too little exploration: an `a` sixteen times as large made far
    fewer errors.

    Args:
      a: amount of exploration.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[m], the smallest B
      first.

    Source:
      Gabillon, Ghavamzadeh and Lazaric (2012), Best arm identification: a unified approach to fixed budget and fixed
      confidence, NeurIPS, Figure 1 and Theorem 1, with epsilon = 0 and b = 1.
    """
    budgets.check(budget, num_arms, f"a pull of each of {num_arms} arms")

    def init(key: Key) -> UGapEbState:
        start = estimator.init(num_arms, from_first=True)
        named = jnp.arange(m, dtype=jnp.int32)
        return UGapEbState(start, jnp.zeros((), jnp.int32), jnp.full((), jnp.inf, jnp.result_type(float)), named)

    def update(state: UGapEbState, context: None, action: Array, reward: Array) -> UGapEbState:
        arms, _ = estimator.update(state.arms, action, reward)
        counts, means = arms.counts, arms.means
        known = jnp.min(counts) > 0
        n = jnp.maximum(as_float(counts), 1.0)
        width = jnp.sqrt(as_float(a) / n)
        upper, lower = means + width, means - width
        gaps = _largest_of_others(upper, m) - lower
        named, inside = _first(-gaps, m)
        one = argmax(jnp.where(inside, -lower, -jnp.inf))
        other = argmax(jnp.where(inside, -jnp.inf, upper))
        fewest = jnp.minimum(get_at(counts, one), get_at(counts, other))
        numbers = jnp.arange(num_arms, dtype=jnp.int32)
        pair = ((numbers == one) | (numbers == other)) & (counts == fewest)
        doubt = jnp.max(jnp.where(inside, gaps, -jnp.inf))
        better = known & (doubt < state.least)
        return UGapEbState(
            arms,
            next=argmax(jnp.where(known, pair, counts == 0).astype(jnp.int32)),
            least=jnp.where(better, doubt, state.least),
            named=jnp.where(better, named, state.named),
        )

    return Algorithm(
        init=init,
        select=lambda noise, state, context: state.next,
        update=update,
        pulls=lambda state: state.arms.counts,
        recommend=lambda state: state.named,
        stop=lambda state: budgets.spent(jnp.sum(state.arms.counts, dtype=jnp.int32), budget),
        budget=budget,
        arms=Arms(num_arms),
    )


def _first(scores: Array, m: int) -> tuple[Array, Array]:
    """Return the m largest entries of a vector, int32[m], ties to the lowest-numbered, and their mask, bool[n]."""
    places = jnp.arange(scores.shape[0], dtype=jnp.int32)
    arms = argmax(scores)[None] if m == 1 else jax.lax.top_k(scores, m)[1].astype(jnp.int32)
    return arms, jnp.any(places[:, None] == arms[None], 1)


def _largest_of_others(upper: Array, m: int) -> Array:
    """Return, for each entry of a vector, the m-th largest of the other entries, float[n]; -inf if there is none."""
    arms, inside = _first(upper, m)
    return jnp.where(inside, jnp.max(jnp.where(inside, -jnp.inf, upper)), get_at(upper, arms[-1]))
