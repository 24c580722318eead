"""The frame of rules that spend a budget in rounds: pull all survivors alike, keep the best of them, and so on.

How many survive, and how often each of them is pulled, follows from the budget alone; which ones, from the rewards.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.algorithms.best_arm.racing import best, worst
from jaxbandit.base import Algorithm, Arms, Batch
from jaxbandit.numerics import argmax, as_float, get_at, set_at
from jaxbandit.types import Array, Key, Scalar

SORTED = 1000  # of more arms a sort is cheaper than n passes over them: a sort of 100 took eight times as long


class EliminationState(NamedTuple):
    """What was pulled, and who is left; at the end of a round all survivors have equal counts."""

    counts: Array  # int[num_arms]
    sums: Array  # float[num_arms], of the rewards that the round's end compares: they tie exactly where means do
    alive: Array  # bool[num_arms], neither dropped nor accepted
    target: Array  # int[], counts of a survivor at the end of the round
    schedule: Array  # int[num_arms], at s - 1 the target of the round with s survivors, 0 where there is no such round
    accepted: Array | None  # bool[num_arms], found to be among the m best; None of a rule that only drops


def elimination(
    name: str,
    num_arms: int,
    schedule: Callable[[], Array],
    *,
    budget: Scalar,
    m: int = 1,
    fresh: bool = False,
    accepts: bool = False,
) -> Algorithm:
    """Return the rule that brings each of s survivors to schedule()[s - 1] pulls and goes on with fewer of them.

    The next round is that of the largest number of survivors below s, and at least m, whose target is above the pulls
    that they have. Where there is none, m survive, and the rule stops. Of arms that tie the lowest survive.

    With `accepts` the surest arm leaves in place of the worst, accepted or rejected, see `surest_decided`; then the
    rule stops once m are accepted, or as many survive as are still to be found.

    Args:
      name: of the rule.
      num_arms: static.
      schedule: gives int[num_arms], as in the state.
      budget: that the schedule keeps to, traced.
      m: survivors in the end, static.
      fresh: whether the end of a round compares the rewards of that round alone, static.
      accepts: whether arms are accepted too, static.
    """
    fewest = 1 if accepts else m

    def init(key: Key) -> EliminationState:
        table = schedule()
        return EliminationState(
            counts=jnp.zeros(num_arms, int),
            sums=jnp.zeros(num_arms),
            alive=jnp.ones(num_arms, bool),
            target=table[num_arms - 1],
            schedule=table,
            accepted=jnp.zeros(num_arms, bool) if accepts else None,
        )

    def select(noise: None, state: EliminationState, context: None) -> Array:
        never = jnp.iinfo(state.counts.dtype).max
        return jax.lax.argmin(jnp.where(state.alive, state.counts, never), 0, jnp.int32)

    def update(state: EliminationState, context: None, action: Array, reward: Array) -> EliminationState:
        counts = set_at(state.counts, action, get_at(state.counts, action) + 1)
        sums = set_at(state.sums, action, get_at(state.sums, action) + reward)
        return eliminated(state._replace(counts=counts, sums=sums))

    def plan(state: EliminationState) -> Array:
        return jnp.where(state.alive, state.target - state.counts, 0)

    def absorb(state: EliminationState, pulls: Array, sums: Array) -> EliminationState:
        return eliminated(state._replace(counts=state.counts + pulls, sums=state.sums + sums))

    def eliminated(state: EliminationState) -> EliminationState:
        """The state with fewer survivors if this is the end of a round."""
        over = jnp.all(~state.alive | (state.counts >= state.target))
        sizes = jnp.arange(1, num_arms + 1, dtype=jnp.int32)
        left = jnp.sum(state.alive, dtype=jnp.int32)
        rounds = (sizes < left) & (sizes >= fewest) & (state.schedule > state.target)
        fewer = jnp.max(jnp.where(rounds, sizes, 0))
        goes_on = over & (fewer > 0)
        number = jnp.where(over, jnp.maximum(fewer, fewest), left)
        if state.accepted is None:
            alive, accepted = worst_dropped(state.sums, state.alive, number), None
        else:
            alive, accepted = surest_decided(state.sums, state.alive, state.accepted, number, m)
        return EliminationState(
            counts=state.counts,
            sums=jnp.where(goes_on, 0.0, state.sums) if fresh else state.sums,
            alive=alive,
            target=jnp.where(goes_on, get_at(state.schedule, jnp.maximum(fewer - 1, 0)), state.target),
            schedule=state.schedule,
            accepted=accepted,
        )

    def recommend(state: EliminationState) -> Array:
        if state.accepted is None:
            scores = jnp.where(state.alive, state.sums, -jnp.inf)
        else:  # they left after different numbers of pulls
            means = state.sums / as_float(jnp.maximum(state.counts, 1))
            scores = jnp.where(state.accepted | state.alive, means, -jnp.inf)
        return argmax(scores)[None] if m == 1 else jax.lax.top_k(scores, m)[1].astype(jnp.int32)

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        recommend=recommend,
        stop=lambda state: jnp.sum(state.alive, dtype=jnp.int32) <= (0 if accepts else m),
        batch=Batch(plan, absorb),
        survivors=lambda state: state.alive,
        budget=budget,
        arms=Arms(num_arms),
        name=name,
    )


def worst_dropped(scores: Array, alive: Array, number: Array) -> Array:
    """Who is left, bool[n], once the arm of least score, the highest of several, was dropped until `number` are.

    One after the other: over all rounds that is n steps, where comparing all pairs takes as many in every round. Many
    arms are sorted instead.
    """
    places = jnp.arange(scores.shape[0], dtype=jnp.int32)
    if scores.shape[0] > SORTED:
        order = jnp.argsort(jnp.where(alive, -scores, jnp.inf), stable=True)
        return alive & (jnp.argsort(order) < number)

    def drop(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        alive, left = carry
        return alive & (places != worst(scores, alive)), left - 1

    return jax.lax.while_loop(lambda carry: carry[1] > number, drop, (alive, jnp.sum(alive, dtype=jnp.int32)))[0]


def surest_decided(scores: Array, alive: Array, accepted: Array, number: Array, m: int) -> tuple[Array, Array]:
    """Who is left and who is accepted, bool[n] each, once the surest arm has left until `number` are.

    With w arms still to be found, the gap of one among the w best that are left is its score less that of the next one,
    and the gap of another is the score of the w-th best less its own. The arm of largest gap leaves: the best one,
    accepted, or the worst one, rejected, which also leaves of equal gaps. If w is 0 or as many as are left, all leave.
    """
    places = jnp.arange(scores.shape[0], dtype=jnp.int32)

    def open(alive: Array, accepted: Array) -> tuple[Array, Array, Array]:
        left, wanted = jnp.sum(alive, dtype=jnp.int32), m - jnp.sum(accepted, dtype=jnp.int32)
        return left, wanted, (wanted > 0) & (wanted < left)

    def unsure(carry: tuple[Array, Array]) -> Array:
        left, _, undecided = open(*carry)
        return undecided & (left > number)

    def decide(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        alive, accepted = carry
        _, wanted, _ = open(alive, accepted)
        ranked = jax.lax.top_k(jnp.where(alive, scores, -jnp.inf), m + 1)[0]
        inside, outside = get_at(ranked, jnp.maximum(wanted - 1, 0)), get_at(ranked, wanted)
        first, last = best(scores, alive), worst(scores, alive)
        accept = get_at(scores, first) - outside > inside - get_at(scores, last)
        leaves = places == jnp.where(accept, first, last)
        return alive & ~leaves, accepted | (leaves & accept)

    alive, accepted = jax.lax.while_loop(unsure, decide, (alive, accepted))
    _, wanted, undecided = open(alive, accepted)
    return alive & undecided, accepted | (alive & ~undecided & (wanted > 0))
