"""DMED, deterministic minimum empirical divergence: Honda and Takemura (2010), Algorithm 1, for Bernoulli arms.

Arm j is listed when N_j kl(mean_j, best mean) <= log n - log N_j: the published policy, which Garivier and Cappe (2011)
call DMED+; the rule with log n alone, which some libraries call DMED, is not implemented. Differs: kl is the
Bernoulli divergence, to which D_min reduces for rewards in {0, 1}; for other rewards in [0, 1] this is not DMED.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.base import Algorithm, Arms, Rewards
from jaxbandit.estimators import counts as estimator
from jaxbandit.numerics import argmax, as_float, bernoulli_kl, set_at
from jaxbandit.types import Array, Key


class DmedState(NamedTuple):
    """Statistics and the two lists of the paper that outlive a round.

    Its current list L_C is only walked through in ascending order, each arm leaving L_R as it is pulled: what is left
    of L_C is L_R, and one mask is both.
    """

    round: Array  # int32[], the round about to be played, from 1
    counts: Array  # int32[num_arms]
    means: Array  # float[num_arms]
    remaining: Array  # bool[num_arms], L_R: arms of the current list still to be pulled; never empty
    following: Array  # bool[num_arms], L_N: arms of the next list


def dmed(num_arms: int) -> Algorithm:
    """Return DMED, which pulls a list of arms in ascending order while it draws up the next list.

    Args:
      num_arms: number of arms, >= 1, static.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[] in {0, 1} (or [0, 1], see above).

    Raises:
      ValueError: num_arms is not a positive integer.

    Source: Honda and Takemura (2010), An asymptotically optimal bandit algorithm for bounded support models, COLT.
    """
    num_arms = checks.integer("dmed", "num_arms", num_arms, 1)

    def init(key: Key) -> DmedState:
        start = estimator.init(num_arms)
        full, empty = jnp.ones(num_arms, bool), jnp.zeros(num_arms, bool)
        return DmedState(jnp.ones((), jnp.int32), start.counts, start.means, full, empty)

    def select(noise: None, state: DmedState, context: None) -> Array:
        lowest = argmax(state.remaining)
        return jnp.where(state.round <= num_arms, state.round - 1, lowest)

    def update(state: DmedState, context: None, action: Array, reward: Array) -> DmedState:
        counts, means, _ = estimator.update(state.counts, state.means, action, reward)
        n = as_float(counts)
        divergence = bernoulli_kl(means, jnp.max(means))
        # One logarithm of the quotient: a difference of two could round below 0 and leave out the best arm.
        listed = n * divergence <= jnp.log(as_float(state.round) / n)
        remaining = set_at(state.remaining, action, jnp.zeros((), bool))
        following = state.following | (listed & ~remaining)
        # The best arm has divergence 0 and N <= n: it is listed at the latest at the last pull of a list, so that
        # the next list is never empty.
        over = ~jnp.any(remaining)
        first = state.round <= num_arms  # the pulls before the loop; the first list then holds every arm
        return DmedState(
            round=state.round + 1,
            counts=counts,
            means=means,
            remaining=first | jnp.where(over, following, remaining),
            following=following & ~(first | over),
        )

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        arms=Arms(num_arms),
        rewards=Rewards(0.0, 1.0),
        name="dmed",
    )
