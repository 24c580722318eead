"""Sub-sampling duelling algorithms: LB-SDA (Baudry, Russac and Cappe 2021) and RB-SDA (Baudry, Kaufmann and Maillard
2020).

A turn compares each arm with a leader, the arm with the most pulls, on as many rewards of the leader as the arm has.
All arms that win are pulled, one in each round, and the leader if none does.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.base.arguments import Count, Horizon, NumArms
from jaxbandit.base.contract import Algorithm, Arms, Choice
from jaxbandit.base.declaration import declare
from jaxbandit.support import checks
from jaxbandit.support.domains import integer
from jaxbandit.support.numerics import argmax, as_float, get_at, kahan_at, set_at
from jaxbandit.support.types import Array, Key


class SdaState(NamedTuple):
    """Statistics, the sums of the first rewards of each arm, and the turn."""

    turn: Array  # int32[], the turn whose arms are pulled, from 1
    pending: Array  # bool[num_arms], which arms of the turn are still to be pulled
    leader: Array  # int32[], of the last comparison
    counts: Array  # int32[num_arms]
    sums: Array  # float[num_arms], of the rewards minus the first one of the run
    rest: Array | None  # float[num_arms], by how much rounding made `sums` too large; in float32 only
    origin: Array  # float[], the first reward of the run, inf before it
    # float[num_arms * length], the sum of the first n rewards of an arm at place arm * length + n % length: a vector,
    # because a round then reads and writes a few entries in place, where it would copy a matrix
    first: Array


@declare(
    question="regret",
    rewards="of one unknown one-parameter family",
    cost="O(K)",
    memory="O(K T), or O(K memory)",
    settings=({"horizon": 30}, {"horizon": 30, "memory": 5}),
)
def lb_sda(num_arms: NumArms, *, horizon: Horizon, memory: Count | None = None) -> Algorithm:
    """Last-block sub-sampling duels, optimal for many families without knowing which, Baudry et al. 2021.

    Return LB-SDA: an arm with n pulls wins if n < sqrt(log r) in turn r, or if its mean is at least that of the
    leader's last n rewards. The leader has the most pulls; ties go to the largest sum, then to the last leader, then to
    the lowest-numbered arm. The first turn pulls every arm.

    Guarantee: Asymptotically optimal for rewards of one one-parameter exponential family, whichever it is (Baudry,
    Russac and Cappe 2021); not covered once a challenger has more than `memory` pulls.

    Args:
      horizon: number of rounds. In a longer run at most the last `horizon` rewards of the leader are compared.
      memory: largest number of the leader's rewards that are compared; None means the horizon. An arm with more pulls
        is compared, by the mean of all its rewards, with the leader's last `memory`.

    Source:
      Baudry, Russac and Cappe (2021), On limited-memory subsampling strategies for bandits, ICML, Algorithm 1.
    """

    def start(noise: None, pulls: Array, size: Array) -> Array:
        return pulls - size

    return _rule(num_arms, min(memory or horizon, horizon), start, None)


@declare(
    question="regret",
    rewards="of one unknown one-parameter family",
    cost="O(K)",
    memory="O(K T)",
    settings=({"horizon": 100},),
)
def rb_sda(num_arms: NumArms, *, horizon: Horizon) -> Algorithm:
    """Random-block sub-sampling duels, Baudry et al. 2020.

    Return RB-SDA: an arm with n pulls wins if n < sqrt(log r) in turn r, or if its mean is at least that of n
    consecutive rewards of the leader, from a uniform start. The leader has the most pulls; ties go to the largest sum,
    then to the last leader, then to the lowest-numbered arm. The first turn pulls every arm.

    Guarantee: Asymptotically optimal for rewards of one one-parameter exponential family under a condition on its
    balance, which Bernoulli, Gaussian and Poisson laws fulfill (Baudry, Kaufmann and Maillard 2020).

    Args:
      horizon: number of rounds. A longer run is an error.

    Returns:
      Its noise is float[num_arms], uniform numbers.

    Source:
      Baudry, Kaufmann and Maillard (2020), Sub-sampling for efficient non-parametric bandit exploration, NeurIPS,
      Algorithm 1.
    """

    def start(noise: Array, pulls: Array, size: Array) -> Array:
        return jnp.floor(noise * as_float(pulls - size + 1)).astype(jnp.int32)

    return _rule(num_arms, horizon, start, lambda key: jax.random.uniform(key, (num_arms,)))


def _rule(num_arms: int, memory: int, start: Callable[..., Array], noise: Callable[[Key], Array] | None) -> Algorithm:
    """Return the rule whose duels take the leader's rewards from start(noise, pulls of the leader, number) on."""
    length = 1 + checks.take("horizon or memory", memory, integer(1, (2**31 - 1) // num_arms - 1))

    def init(key: Key) -> SdaState:
        zeros = jnp.zeros(num_arms)
        return SdaState(
            turn=jnp.ones((), jnp.int32),
            pending=jnp.ones(num_arms, bool),
            leader=jnp.zeros((), jnp.int32),
            counts=jnp.zeros(num_arms, jnp.int32),
            sums=zeros,
            rest=zeros if zeros.dtype == jnp.float32 else None,
            origin=as_float(jnp.inf),
            first=jnp.zeros(num_arms * length),
        )

    def leads(state: SdaState) -> Array:
        most = state.counts == jnp.max(state.counts)
        sums = jnp.where(most, state.sums, -jnp.inf)
        best = most & (sums == jnp.max(sums))
        return jnp.where(get_at(best, state.leader), state.leader, argmax(best))

    def winners(noise: Array | None, state: SdaState, leader: Array) -> Array:
        pulls = get_at(state.counts, leader)
        size = jnp.minimum(state.counts, memory)
        begin = start(noise, pulls, size)
        first, last = (get_at(state.first, leader * length + n % length) for n in (begin, begin + size))
        mean = (last - first) / as_float(jnp.maximum(size, 1))
        own = state.sums / as_float(jnp.maximum(state.counts, 1))
        forced = as_float(state.counts) < jnp.sqrt(jnp.log(as_float(state.turn + 1)))
        won = (state.counts < pulls) & (forced | (own >= mean))
        return jnp.where(jnp.any(won), won, jnp.arange(num_arms, dtype=jnp.int32) == leader)

    def select(noise: Array | None, state: SdaState, context: None) -> Choice:
        leader, going_on = leads(state), jnp.any(state.pending)
        listed = jnp.where(going_on, state.pending, winners(noise, state, leader))
        arm = argmax(listed)
        turn = state.turn + jnp.where(going_on, 0, 1)
        after = jnp.where(going_on, state.leader, leader)
        return Choice(arm, (turn, listed & (jnp.arange(num_arms, dtype=jnp.int32) != arm), after))

    def update(state: SdaState, context: None, choice: Choice, reward: Array) -> SdaState:
        arm, (turn, pending, leader) = choice
        origin, count = jnp.where(jnp.isinf(state.origin), reward, state.origin), get_at(state.counts, arm) + 1
        sums, rest, total = kahan_at(state.sums, state.rest, arm, reward - origin)
        return SdaState(
            turn=turn,
            pending=pending,
            leader=leader,
            counts=set_at(state.counts, arm, count),
            sums=sums,
            rest=rest,
            origin=origin,
            first=set_at(state.first, arm * length + count % length, total),
        )

    rule = Algorithm(init, select, update, pulls=lambda state: state.counts, arms=Arms(num_arms))
    return rule if noise is None else rule._replace(noise=noise, length=memory)
