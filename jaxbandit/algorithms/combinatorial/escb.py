"""ESCB for teams of k arms: Combes, Talebi, Proutiere and Lelarge (2015), the index of ESCB-2.

The index is the team's, mean + sqrt(f(t) / 2 * sum of 1 / N_i): it knows that the deviations of k arms do not add up,
as CUCB's indices do. Its maximum over all teams is no sum, so that they are listed, up to LISTED of them.
"""

import itertools
import math

import jax.numpy as jnp
import numpy as np

from jaxbandit import checks
from jaxbandit.algorithms.combinatorial import teams
from jaxbandit.algorithms.combinatorial.teams import TeamState
from jaxbandit.base import Algorithm
from jaxbandit.numerics import argmax, as_float, exploration_level, matrix_vector
from jaxbandit.types import Array, Scalar

LISTED = 5000  # teams


def escb(num_arms: int, *, k: int, c: Scalar = 0.0) -> Algorithm:
    """Return ESCB-2, which pulls the team of largest index and sees the reward of each member.

    Args:
      num_arms: number of arms, >= 2, static; at most LISTED = 5000 teams.
      k: arms in a team, in [1, num_arms - 1], static.
      c: f(t) = log t + c k log log t, >= 0, traced; the theorem uses 4, 0 is best in practice.

    Returns:
      An Algorithm with actions bool[num_arms], k of them True, and rewards float[num_arms], those of the members in
      [0, 1], the others 0. It recommends the k arms pulled most, int32[k].

    Raises:
      ValueError: an argument is out of range, or there are more than LISTED teams.

    Source: Combes, Talebi, Proutiere, Lelarge (2015), Combinatorial bandits revisited, NeurIPS.
    """
    num_arms = checks.integer("escb", "num_arms", num_arms, 2)
    k = checks.integer("escb", "k", k, 1, num_arms - 1)
    checks.number("escb", "c", c, low=0.0)
    if math.comb(num_arms, k) > LISTED:
        raise ValueError(
            f"escb: num_arms = {num_arms} has {math.comb(num_arms, k)} teams of {k}, must have at most {LISTED}; "
            "take cucb or combinatorial_thompson"
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

    return teams.team_policy("escb", num_arms, k, select)
