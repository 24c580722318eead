"""The common frame of rules that spend a budget in rounds: pull all survivors equally often, keep the best, repeat."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.algorithms.best_arm.racing import best, worst
from jaxbandit.base.batches import Batch
from jaxbandit.base.contract import Algorithm, Arms
from jaxbandit.support.numerics import add_at, argmax, as_float, get_at, kahan, set_at
from jaxbandit.support.types import Array, Key, Scalar

SORTED = 1000  # with more arms a sort is cheaper than n passes over them; for 100 arms it took eight times as long


class EliminationState(NamedTuple):
    """The pulls, and which arms are left. At the end of a round all survivors have equal counts."""

    counts: Array  # int[num_arms]
    sums: Array  # float[num_arms], sums of the rewards that are compared at the end of the round
    rest: Array | None  # float[num_arms], by how much rounding made `sums` too large; in float32 only
    alive: Array  # bool[num_arms], neither rejected nor accepted
    target: Array  # int[], number of pulls of a survivor at the end of the round
    schedule: Array  # int[num_arms], at s - 1 the target of the round with s survivors, 0 if there is no such round
    accepted: Array | None  # bool[num_arms], found to be among the m best; None for a rule that only rejects


def elimination(
    num_arms: int,
    schedule: Callable[[], Array],
    *,
    budget: Scalar,
    m: int = 1,
    fresh: bool = False,
    accepts: bool = False,
) -> Algorithm:
    """Return the rule that brings each of s survivors to schedule()[s - 1] pulls and continues with fewer survivors.

    The next round is the one with the largest number of survivors below s, and at least m, whose target exceeds the
    pulls that the survivors have. If there is none, m arms survive and the rule stops. Among tied arms the
    lowest-numbered survive.

    With `accepts`, the most certain arm leaves instead of the worst one, either accepted or rejected (see
    `surest_decided`). The rule then stops once m arms are accepted, or as many survive as are still to be found.

    Args:
      schedule: function that returns int[num_arms], as in the state.
      fresh: whether the end of a round compares only the rewards of that round; static.
      accepts: whether arms are also accepted; static.
    """
    fewest = 1 if accepts else m

    def init(key: Key) -> EliminationState:
        table = schedule()
        return EliminationState(
            counts=jnp.zeros(num_arms, int),
            sums=(zeros := jnp.zeros(num_arms)),
            rest=zeros if zeros.dtype == jnp.float32 else None,
            alive=jnp.ones(num_arms, bool),
            target=table[num_arms - 1],
            schedule=table,
            accepted=jnp.zeros(num_arms, bool) if accepts else None,
        )

    def select(noise: None, state: EliminationState, context: None) -> Array:
        never = jnp.iinfo(state.counts.dtype).max
        return jax.lax.argmin(jnp.where(state.alive, state.counts, never), 0, jnp.int32)

    def update(state: EliminationState, context: None, action: Array, reward: Array) -> EliminationState:
        counts = add_at(state.counts, action, 1)
        return with_sums(state._replace(counts=counts), set_at(jnp.zeros(num_arms), action, reward))

    def plan(state: EliminationState) -> Array:
        return jnp.where(state.alive, state.target - state.counts, 0)

    def absorb(state: EliminationState, pulls: Array, sums: Array) -> EliminationState:
        return with_sums(state._replace(counts=state.counts + pulls), sums)

    def with_sums(state: EliminationState, more: Array) -> EliminationState:
        sums, rest = kahan(state.sums, state.rest, more)
        return eliminated(state._replace(sums=sums, rest=rest))

    def eliminated(state: EliminationState) -> EliminationState:
        """Return the state with fewer survivors if this is the end of a round, else the state as it is."""
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
            rest=jnp.where(goes_on, 0.0, state.rest) if fresh and state.rest is not None else state.rest,
            alive=alive,
            target=jnp.where(goes_on, get_at(state.schedule, jnp.maximum(fewer - 1, 0)), state.target),
            schedule=state.schedule,
            accepted=accepted,
        )

    def recommend(state: EliminationState) -> Array:
        if state.accepted is None:
            scores = jnp.where(state.alive, state.sums, -jnp.inf)
        else:  # arms have left after different numbers of pulls, so means are compared and not sums
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
    )


def worst_dropped(scores: Array, alive: Array, number: Array) -> Array:
    """Return who is left, bool[n], after rejecting the lowest scores, of ties the highest-numbered arm."""
    places = jnp.arange(scores.shape[0], dtype=jnp.int32)
    if scores.shape[0] > SORTED:
        order = jnp.argsort(jnp.where(alive, -scores, jnp.inf), stable=True)
        return alive & (jnp.argsort(order) < number)

    def drop(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        alive, left = carry
        return alive & (places != worst(scores, alive)), left - 1

    return jax.lax.while_loop(lambda carry: carry[1] > number, drop, (alive, jnp.sum(alive, dtype=jnp.int32)))[0]


def surest_decided(scores: Array, alive: Array, accepted: Array, number: Array, m: int) -> tuple[Array, Array]:
    """Return who is left and who is accepted, bool[n] each, after the most certain arms have left.

    Let w be the number of arms still to be found. The gap of an arm among the w best that are left is its score minus
    that of the (w + 1)-th best, and the gap of any other arm is the score of the w-th best minus its own. The arm with
    the largest gap leaves, until `number` are left: the best one, which is accepted, or the worst one, which is
    rejected and also leaves if the gaps are equal. If w is 0 or equal to the number of arms left, all of them leave.
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
