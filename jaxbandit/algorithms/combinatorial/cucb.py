"""CUCB for sets of k arms: Chen, Wang and Yuan (2013), Algorithm 1, which is CombUCB1 of Kveton et al. (2015).

Difference: the first teams are filled with arms that have no reward yet, the lowest-numbered first.
"""

from typing import Literal

import jax.numpy as jnp

from jaxbandit.algorithms.combinatorial import teams
from jaxbandit.algorithms.combinatorial.teams import TeamState
from jaxbandit.base.arguments import Positive, SeveralArms, TeamSize
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers.kl import kl_upper


@declare(
    question="regret",
    setting="semi-bandit",
    rewards="in [0, 1]",
    cost="O(K k)",
    memory="O(K)",
    tries={"c": (1.5, 0.5)},
    settings=({}, {"index": "kl"}),
)
def cucb(num_arms: SeveralArms, *, k: TeamSize, index: Literal["ucb", "kl"] = "ucb", c: Positive = 1.5) -> Algorithm:
    """Semi-bandits, the k arms with the largest indices, Chen et al. 2013.

    Return CUCB. The index of an arm with N pulls is mean + sqrt(c log t / N), or with index="kl" the largest q with
    kl(mean, q) <= log t / N.

    Guarantee: Regret O(K k log T / gap), where gap is the smallest of a team, and O(sqrt(K k T log T)) whatever the
    gaps (Kveton et al. 2015); not with the index "kl".

    In detail, these bounds are for rewards in [0, 1] and c = 1.5.

    Args:
      index: "ucb", as in the paper, or "kl", for rewards in [0, 1].
      c: factor of log t in the index "ucb". The paper's value is 1.5. The index "kl" does not use it.

    Returns:
      An Algorithm with actions bool[num_arms], k of them True, and rewards float[num_arms] with those of the members in
      [0, 1] and 0 elsewhere. It recommends the k arms pulled most, int32[k].

    Source:
      Chen, Wang and Yuan (2013), Combinatorial multi-armed bandit: general framework and applications, ICML, Algorithm
      1; Kveton, Wen, Ashkan and Szepesvari (2015), Tight regret bounds for stochastic combinatorial semi-bandits,
      AISTATS.
    """

    def select(noise: None, state: TeamState, context: None) -> Array:
        log_t, n = jnp.log(as_float(state.round)), as_float(jnp.maximum(state.counts, 1))
        upper = kl_upper(state.means, log_t / n) if index == "kl" else state.means + jnp.sqrt(as_float(c) * log_t / n)
        return teams.largest(teams.unseen_first(state, upper), k)

    return teams.team_policy(num_arms, k, select)
