"""Rules for rotting bandits, whose means fall with the pulls of their arm: RAW-UCB and SWA.

Their regret is against the best policy for such means. On arms of constant means they are ordinary rules with regret
against the best arm.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.base.arguments import Count, Horizon, NumArms, Positive, Sigma
from jaxbandit.base.contract import Algorithm, Arms, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import argmax, as_float, get_at, set_at
from jaxbandit.support.types import Array, Key


class RawUcbState(NamedTuple):
    """The sums of the first rewards of each arm."""

    round: Array  # int32[], the round about to be played, from 1
    counts: Array  # int32[num_arms]
    sums: Array  # float[num_arms]
    first: Array  # float[num_arms, horizon], the sum of the first n rewards of an arm at place n


class SwaState(NamedTuple):
    """The last rewards of each arm."""

    counts: Array  # int32[num_arms]
    last: Array  # float[num_arms, window], the n-th reward at place n % window
    means: Array  # float[num_arms], of the last rewards


@declare(
    question="regret",
    setting="changing",
    rewards="sub-Gaussian, scale given",
    cost="O(K T)",
    memory="O(K T)",
    tries={"alpha": (1.4, 4.5)},
    settings=({"horizon": 100},),
)
def raw_ucb(num_arms: NumArms, *, horizon: Horizon, alpha: Positive = 1.4, sigma: Sigma = 0.5) -> Algorithm:
    """Rotting-adaptive-window UCB, Seznec et al. 2020.

    Return RAW-UCB: the index is the least, over the numbers h up to N_a, of the mean of the last h rewards of the arm +
    sqrt(2 sigma^2 alpha log(t) / h).

    Each arm is pulled once first, and ties go to the lowest-numbered arm.

    Guarantee: With alpha > 4, regret O~(sqrt(K T)) for rotting means, and logarithmic for constant ones (Seznec,
    Menard, Lazaric and Valko 2020); the default, of the paper's experiments, is not covered.

    Args:
      horizon: number of rounds. A longer run is an error.
      alpha: factor of the squared width.

    Source:
      Seznec, Menard, Lazaric and Valko (2020), A single algorithm for both restless and rested rotting bandits,
      AISTATS, Algorithm 1.
    """

    def init(key: Key) -> RawUcbState:
        zeros = jnp.zeros(num_arms)
        return RawUcbState(
            jnp.ones((), jnp.int32), jnp.zeros(num_arms, jnp.int32), zeros, jnp.zeros((num_arms, horizon))
        )

    def select(noise: None, state: RawUcbState, context: None) -> Array:
        n = state.counts[:, None] - jnp.arange(horizon, dtype=jnp.int32)[None]  # rewards since the first ones
        size = as_float(jnp.maximum(n, 1))
        scale = 2 * as_float(sigma) ** 2 * as_float(alpha) * jnp.log(as_float(state.round))
        index = (state.sums[:, None] - state.first) / size + jnp.sqrt(scale / size)
        return argmax(jnp.min(jnp.where(n > 0, index, jnp.inf), 1))  # infinite for an arm without a reward

    def update(state: RawUcbState, context: None, action: Array, reward: Array) -> RawUcbState:
        count, total = get_at(state.counts, action) + 1, get_at(state.sums, action) + reward
        return RawUcbState(
            round=state.round + 1,
            counts=set_at(state.counts, action, count),
            sums=set_at(state.sums, action, total),
            first=state.first.at[action, count].set(total, mode="drop"),
        )

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        arms=Arms(num_arms),
        rewards=Rewards(sigma=sigma),
        length=horizon,
    )


@declare(
    question="regret",
    setting="changing",
    rewards="sub-Gaussian",
    cost="O(K + h)",
    memory="O(K h), h rewards of an arm",
    settings=({"window": 3},),
)
def swa(num_arms: NumArms, window: Count) -> Algorithm:
    """Sliding-window average for rotting bandits, Levine et al. 2017.

    Return SWA: pull each arm h times in turn, and then the one with the largest mean of its last h rewards.

    Guarantee: With h = ceil((16 sigma^2 T^2 log(sqrt(2) T) / K^2)^(1/3)), regret O~(K^(1/3) T^(2/3)) for rotting means
    of sub-Gaussian rewards (Levine, Crammer and Mannor 2017); a fifth of it, which the paper's experiments have, is not
    covered.

    Args:
      window: number h of rewards.

    Source:
      Levine, Crammer and Mannor (2017), Rotting bandits, NeurIPS, Algorithm 1.
    """

    def init(key: Key) -> SwaState:
        return SwaState(jnp.zeros(num_arms, jnp.int32), jnp.zeros((num_arms, window)), jnp.zeros(num_arms))

    def select(noise: None, state: SwaState, context: None) -> Array:
        fresh = state.counts < window
        early = argmax(jnp.where(fresh, -state.counts, -window))
        return jnp.where(jnp.any(fresh), early, argmax(state.means))

    def update(state: SwaState, context: None, action: Array, reward: Array) -> SwaState:
        count = get_at(state.counts, action) + 1
        row = set_at(get_at(state.last, action), count % window, reward)
        return SwaState(
            counts=set_at(state.counts, action, count),
            last=set_at(state.last, action, row),
            means=set_at(state.means, action, jnp.sum(row) / window),
        )

    return Algorithm(init, select, update, pulls=lambda state: state.counts, arms=Arms(num_arms))
