"""CLUCB for teams of k arms: Chen, Lin, King, Lyu and Chen (2014), Algorithm 1, told the rewards of a whole team.

With J the k largest means, the means outside J are raised to their upper bounds and those of J lowered to their lower
ones: it stops once the k largest of these exceed J by epsilon at most. Differs: a pull is a team, not one arm. Its
members are those in which the two sets differ, widest intervals first, then other arms the same way. Bounds are of kl.
"""

from typing import Literal, NamedTuple

import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.algorithms.best_arm.levels import arm_level
from jaxbandit.algorithms.combinatorial import teams
from jaxbandit.algorithms.combinatorial.teams import TeamState
from jaxbandit.base import Algorithm, Arms, Promise, Rewards
from jaxbandit.numerics import as_float
from jaxbandit.solvers.families import family
from jaxbandit.types import Array, Scalar


class Doubt(NamedTuple):
    """What the bounds say."""

    shortfall: Array  # float[], how much the best team may exceed J
    differ: Array  # bool[num_arms], in one of the two sets alone
    width: Array  # float[num_arms], of the intervals


def clucb(
    num_arms: int,
    *,
    k: int,
    threshold: Literal["heuristic", "kk", "kt"] = "kt",
    delta: Scalar = 0.05,
    epsilon: Scalar = 0.0,
) -> Algorithm:
    """Return CLUCB, which finds the k arms of the largest sum of means from teams whose members' rewards are all seen.

    Proved, for all thresholds but "heuristic": with probability 1 - delta the sum of means of the arms that it names is
    at most epsilon below the largest, whatever goes together in a team: the intervals are of single arms.

    Args:
      num_arms: number of arms, >= 2, static.
      k: arms in a team, in [1, num_arms - 1], static.
      threshold: the level of the bounds, "heuristic", which has no proof, "kk" or "kt", see `arm_level`; static.
      delta: allowed error rate, in (0, 1), traced.
      epsilon: tolerated shortfall of the sum, >= 0, traced.

    Returns:
      An Algorithm with actions bool[num_arms], k of them True, rewards float[num_arms], those of the members in [0, 1],
      the others 0, and recommendations int32[k], the largest mean first.

    Raises:
      ValueError: an argument is out of range.

    Source: Chen, Lin, King, Lyu, Chen (2014), Combinatorial pure exploration of multi-armed bandits, NeurIPS.
    """
    where = "clucb"
    num_arms = checks.integer(where, "num_arms", num_arms, 2)
    k = checks.integer(where, "k", k, 1, num_arms - 1)
    checks.choice(where, "threshold", threshold, ("heuristic", "kk", "kt"))
    checks.number(where, "epsilon", epsilon, low=0.0)
    law = family("bernoulli", where=where)
    level = arm_level(threshold, num_arms, delta, law, lambda union, n, t: union, where=where)

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
        name=where,
    )
