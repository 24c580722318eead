"""DMED, deterministic minimum empirical divergence: Honda and Takemura (2010), Algorithm 1, for Bernoulli arms.

Arm j enters the list when N_j kl(mean_j, best mean) <= log n - log N_j, which Garivier and Cappe (2011) call DMED+. The
divergence is the Bernoulli kl, to which the paper's D_min reduces for rewards in {0, 1}; for other rewards in [0, 1]
this is not the published DMED.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.base.arguments import NumArms
from jaxbandit.base.contract import Algorithm, Arms, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import argmax, as_float, bernoulli_kl, set_at
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import counts as estimator
from jaxbandit.theory.estimators.counts import Counts


class DmedState(NamedTuple):
    """Statistics, and the list L_R; the rest of the current list L_C, traversed in ascending order, is equal to it."""

    round: Array  # int32[], the round about to be played, from 1
    arms: Counts
    remaining: Array  # bool[num_arms], L_R: arms of the current list still to be pulled; never empty
    following: Array  # bool[num_arms], L_N: arms of the next list


@declare(question="regret", rewards="0 or 1", cost="O(K)", memory="O(K)")
def dmed(num_arms: NumArms) -> Algorithm:
    """Deterministic minimum empirical divergence, Honda and Takemura 2010.

    Return DMED, which pulls every arm of a list in ascending order while it builds the next list. After each round n,
    arm j joins the next list if N_j kl(mean_j, best mean) <= log(n / N_j), unless it is still waiting in the current
    list. Each arm is pulled once at the start, and the first list contains all arms.

    Guarantee: Asymptotically optimal for Bernoulli rewards with a best mean below 1 (Honda and Takemura 2010).

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[] in {0, 1}. Other rewards in [0, 1] are
      accepted, but the guarantee does not cover them.

    Source:
      Honda and Takemura (2010), An asymptotically optimal bandit algorithm for bounded support models, COLT, Algorithm
      1.
    """

    def init(key: Key) -> DmedState:
        full, empty = jnp.ones(num_arms, bool), jnp.zeros(num_arms, bool)
        return DmedState(jnp.ones((), jnp.int32), estimator.init(num_arms), full, empty)

    def select(noise: None, state: DmedState, context: None) -> Array:
        lowest = argmax(state.remaining)
        return jnp.where(state.round <= num_arms, state.round - 1, lowest)

    def update(state: DmedState, context: None, action: Array, reward: Array) -> DmedState:
        arms, _ = estimator.update(state.arms, action, reward)
        n = as_float(arms.counts)
        divergence = bernoulli_kl(arms.means, jnp.max(arms.means))
        # The logarithm of the quotient, because the difference of two logarithms could be rounded below 0, and then
        # the best arm would not be listed.
        listed = n * divergence <= jnp.log(as_float(state.round) / n)
        remaining = set_at(state.remaining, action, jnp.zeros((), bool))
        following = state.following | (listed & ~remaining)
        # The best arm has divergence 0 and N <= n, so it is listed at the last pull of a list at the latest, and the
        # next list is never empty.
        over = ~jnp.any(remaining)
        first = state.round <= num_arms  # one initial pull of each arm; afterwards the first list contains all arms
        return DmedState(
            round=state.round + 1,
            arms=arms,
            remaining=first | jnp.where(over, following, remaining),
            following=following & ~(first | over),
        )

    return Algorithm(
        init, select, update, pulls=lambda state: state.arms.counts, arms=Arms(num_arms), rewards=Rewards(0.0, 1.0)
    )
