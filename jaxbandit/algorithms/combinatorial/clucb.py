"""CLUCB for sets of k arms: Chen, Lin, King, Lyu and Chen (2014), Algorithm 1, with semi-bandit feedback.

Differences from the paper: a pull is a set of k arms (a team) instead of a single arm, and the confidence bounds invert
the kl divergence.
"""

from typing import Literal, NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.best_arm.levels import arm_level
from jaxbandit.algorithms.combinatorial import teams
from jaxbandit.algorithms.combinatorial.teams import TeamState
from jaxbandit.base.arguments import Delta, Epsilon, SeveralArms, TeamSize
from jaxbandit.base.contract import Algorithm, Arms, Promise, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers.families import family


class Doubt(NamedTuple):
    """What the confidence bounds say about the current best team J."""

    shortfall: Array  # float[], the largest amount by which another team may exceed J
    differ: Array  # bool[num_arms], arms in exactly one of the two teams
    width: Array  # float[num_arms], widths of the confidence intervals


@declare(question="confidence", setting="semi-bandit", rewards="in [0, 1]", cost="O(K k)", memory="O(K)")
def clucb(
    num_arms: SeveralArms,
    *,
    k: TeamSize,
    threshold: Literal["heuristic", "kk", "kt"] = "kt",
    delta: Delta = 0.05,
    epsilon: Epsilon = 0.0,
) -> Algorithm:
    """Semi-bandits, the set of k arms with the largest sum, Chen et al. 2014.

    Let J be the k arms with the largest empirical means. The means outside J are raised to their upper confidence
    bounds and those in J lowered to their lower bounds; the rival is the set of the k largest of these values. The run
    stops once the sum of the rival exceeds that of J by at most epsilon. Otherwise it pulls the arms in which the two
    sets differ, those with the widest intervals first, filled up with the other arms in the same order.

    Guarantee: The recommended sum is at most epsilon below the best, with probability 1 - delta.

    In detail, this holds for all thresholds except "heuristic"; rewards within a team may depend on each other in any
    way.

    Args:
      threshold: level of the confidence bounds: "heuristic", which has no proof, "kk" or "kt", see `arm_level`.

    Returns:
      An Algorithm with actions bool[num_arms], k of them True, rewards float[num_arms] with those of the members in [0,
      1] and 0 elsewhere, and recommendations int32[k] with the largest empirical mean first.

    Source:
      Chen, Lin, King, Lyu and Chen (2014), Combinatorial pure exploration of multi-armed bandits, NeurIPS, Algorithm 1.
    """
    law = family("bernoulli")
    level = arm_level(threshold, num_arms, delta, law, lambda union, n, t: union)

    def doubt(state: TeamState) -> Doubt:
        n = jnp.maximum(state.counts, 1)
        allowed = level.level(n, jnp.maximum(state.round, 1)) / as_float(n)
        seen = state.counts > 0
        low = jnp.where(seen, law.lower(state.means, allowed), 0.0)
        high = jnp.where(seen, law.upper(state.means, allowed), 1.0)
        best = teams.largest(state.means, k)
        against = jnp.where(best, low, high)
        rival = teams.largest(against, k)
        shortfall = jnp.sum(jnp.where(rival, against, 0.0)) - jnp.sum(jnp.where(best, against, 0.0))
        return Doubt(shortfall, best != rival, high - low)

    def select(noise: None, state: TeamState, context: None) -> Array:
        now = doubt(state)
        return teams.largest(now.width + 2 * as_float(now.differ), k)  # widths are at most 1

    def update(state: TeamState, context: None, action: Array, reward: Array) -> TeamState:
        return teams.update(state, action, reward)

    return Algorithm(
        init=lambda key: teams.init(num_arms),
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        recommend=lambda state: teams.ranked(state.means, k),
        stop=lambda state: (jnp.min(state.counts) > 0) & (doubt(state).shortfall <= as_float(epsilon)),
        promise=Promise(delta, epsilon, k, level.proved),
        arms=Arms(num_arms, k, members=True),
        rewards=Rewards(0.0, 1.0),
    )
