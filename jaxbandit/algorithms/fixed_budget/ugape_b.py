"""UGapEb, the fixed-budget variant of UGapE: Gabillon, Ghavamzadeh, Lazaric (2012).

Ties go to the lowest arm throughout, and of rounds that tie the first one's recommendation stands.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.algorithms.fixed_budget import budgets
from jaxbandit.base import Algorithm, Arms
from jaxbandit.estimators import counts as estimator
from jaxbandit.numerics import argmax, as_float, get_at
from jaxbandit.types import Array, Key, Scalar


class UGapEbState(NamedTuple):
    """Estimates, what they say is to be pulled next, and the best founded recommendation so far."""

    counts: Array  # int32[num_arms]
    means: Array  # float[num_arms]
    next: Array  # int32[], the arm to pull
    least: Array  # float[], B_J(t) of the time t at which `named` was J(t), the least so far; inf before
    named: Array  # int32[m]


def ugape_b(num_arms: int, *, m: int = 1, budget: Scalar, a: Scalar) -> Algorithm:
    """Return UGapEb, which pulls what best tells the m arms of smallest gap index from their challenger.

    Every arm is pulled once. Then, with U_i and L_i = mean_i +- sqrt(a / n_i) and B_i the m-th largest U of the other
    arms less L_i, J is the m arms of least B; the less pulled is pulled of the arm in J of least L and the arm outside
    of largest U. It recommends the J at which max_{i in J} B_i was the least over all rounds, the last included.

    For rewards in [0, 1] and a <= (budget - num_arms) / (16 sum_i 1 / gap_i^2), P(error) <= 2 budget num_arms
    exp(-2 a). That explores too little in practice: sixteen times as much erred far less.

    Args:
      num_arms: number of arms, >= 1, static.
      m: number of arms to find, in [1, num_arms - 1], or 1 of one arm; static.
      budget: pulls, a whole number >= num_arms, traced.
      a: amount of exploration, > 0, traced.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[m], the least gap
      index first.

    Raises:
      ValueError: an argument is out of range.

    Source: Gabillon, Ghavamzadeh, Lazaric (2012), Best arm identification: a unified approach to fixed budget and fixed
    confidence, NIPS, Figure 1 and Theorem 1; epsilon = 0 and b = 1.
    """
    where = "ugape_b"
    num_arms = checks.integer(where, "num_arms", num_arms, 1)
    m = checks.integer(where, "m", m, 1, max(num_arms - 1, 1))
    budgets.check(where, budget, num_arms, f"a pull of each of {num_arms} arms")
    checks.number(where, "a", a, low=0.0, open_low=True)

    def init(key: Key) -> UGapEbState:
        start = estimator.init(num_arms)
        named = jnp.arange(m, dtype=jnp.int32)
        return UGapEbState(*start, jnp.zeros((), jnp.int32), jnp.full((), jnp.inf, jnp.result_type(float)), named)

    def update(state: UGapEbState, context: None, action: Array, reward: Array) -> UGapEbState:
        counts, means, _ = estimator.update(state.counts, state.means, action, reward)
        known = jnp.min(counts) > 0
        n = jnp.maximum(as_float(counts), 1.0)
        width = jnp.sqrt(as_float(a) / n)
        upper, lower = means + width, means - width
        gaps = _largest_of_others(upper, m) - lower
        named, inside = _first(-gaps, m)
        one = argmax(jnp.where(inside, -lower, -jnp.inf))
        other = argmax(jnp.where(inside, -jnp.inf, upper))
        fewest = jnp.minimum(get_at(counts, one), get_at(counts, other))
        arms = jnp.arange(num_arms, dtype=jnp.int32)
        pair = ((arms == one) | (arms == other)) & (counts == fewest)
        doubt = jnp.max(jnp.where(inside, gaps, -jnp.inf))
        better = known & (doubt < state.least)
        return UGapEbState(
            counts,
            means,
            next=argmax(jnp.where(known, pair, counts == 0).astype(jnp.int32)),
            least=jnp.where(better, doubt, state.least),
            named=jnp.where(better, named, state.named),
        )

    return Algorithm(
        init=init,
        select=lambda noise, state, context: state.next,
        update=update,
        pulls=lambda state: state.counts,
        recommend=lambda state: state.named,
        stop=lambda state: budgets.spent(jnp.sum(state.counts, dtype=jnp.int32), budget),
        budget=budget,
        arms=Arms(num_arms),
        name=where,
    )


def _first(scores: Array, m: int) -> tuple[Array, Array]:
    """The m largest of a vector, int32[m], the lowest of equal ones first, and which they are, bool[n]."""
    places = jnp.arange(scores.shape[0], dtype=jnp.int32)
    found = argmax(scores)[None] if m == 1 else jax.lax.top_k(scores, m)[1].astype(jnp.int32)
    return found, jnp.any(places[:, None] == found[None], 1)


def _largest_of_others(upper: Array, m: int) -> Array:
    """The m-th largest entry of a vector without each of its entries in turn, float[n]; -inf if there is none."""
    found, inside = _first(upper, m)
    return jnp.where(inside, jnp.max(jnp.where(inside, -jnp.inf, upper)), get_at(upper, found[-1]))
