"""ESCB for sets of k arms: Combes, Talebi, Proutiere and Lelarge (2015), with the index of ESCB-2.

The index belongs to a whole team and is not a sum over arms, so its maximum is found by listing all teams, of which
there may be at most LISTED.
"""

import itertools
import math

import jax.numpy as jnp
import numpy as np

from jaxbandit.algorithms.combinatorial import teams
from jaxbandit.algorithms.combinatorial.teams import TeamState
from jaxbandit.base.arguments import LogLogWeight, SeveralArms, TeamSize
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import argmax, as_float, exploration_level, matrix_vector
from jaxbandit.support.types import Array

LISTED = 5000  # teams


@declare(
    question="regret",
    setting="semi-bandit",
    rewards="in [0, 1]",
    cost="O(k) for each of all C(K, k) teams, at most 5,000",
    memory="O(K)",
)
def escb(num_arms: SeveralArms, *, k: TeamSize, c: LogLogWeight = 0.0) -> Algorithm:
    """Semi-bandits, the set of k arms with the largest index, Combes et al. 2015.

    Return ESCB-2. The index of a team M is the sum of its members' means plus sqrt(f(t) / 2 * sum of 1 / N_i over M),
    where f(t) = log t + c k log log t. Arms without a reward come first.

    Guarantee: With c = 4, regret O(sqrt(k) K log T / gap) for independent arms, where gap is the smallest of a team
    (Combes et al. 2015); the default c = 0, recommended in practice, is not covered.
    Args:
      num_arms: number of arms. There may be at most LISTED = 5000 teams.
      c: weight of k log log t in f(t). The theorem uses 4, and 0 performs best in practice.

    Returns:
      An Algorithm with actions bool[num_arms], k of them True, and rewards float[num_arms] with those of the members in
      [0, 1] and 0 elsewhere. It recommends the k arms pulled most, int32[k].

    Raises:
      ValueError: there are more than LISTED teams.

    Source:
      Combes, Talebi, Proutiere and Lelarge (2015), Combinatorial bandits revisited, NeurIPS.
    """
    if math.comb(num_arms, k) > LISTED:
        raise ValueError(
            f"num_arms = {num_arms} has {math.comb(num_arms, k)} teams of {k}, must have at most {LISTED}; "
            "use cucb or combinatorial_thompson instead"
        )
    members = np.array(list(itertools.combinations(range(num_arms), k)), np.int32)
    sets = np.zeros((len(members), num_arms), bool)
    np.put_along_axis(sets, members, True, axis=1)

    def select(noise: None, state: TeamState, context: None) -> Array:
        seen = jnp.min(state.counts) > 0
        level = jnp.maximum(exploration_level(state.round, k * as_float(c)), 0.0)
        spread = matrix_vector(as_float(sets), 1 / as_float(jnp.maximum(state.counts, 1)))
        index = matrix_vector(as_float(sets), state.means) + jnp.sqrt(level / 2 * spread)
        best = jnp.asarray(members)[argmax(index)]
        team = jnp.any(best[:, None] == jnp.arange(num_arms, dtype=jnp.int32)[None], axis=0)
        return jnp.where(seen, team, teams.largest(teams.unseen_first(state, state.means), k))

    return teams.team_policy(num_arms, k, select)
