"""CUCB for teams of k arms: Chen, Wang and Yuan (2013), Algorithm 1, CombUCB1 of Kveton et al. (2015).

Every arm has an index, and the k largest are the team: the oracle of the paper, exact here. Differs: the first teams
are filled with arms that have no reward yet, the lowest first, so that ceil(num_arms / k) rounds see all of them.
"""

from typing import Literal

import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.algorithms.combinatorial import teams
from jaxbandit.algorithms.combinatorial.teams import TeamState
from jaxbandit.base import Algorithm
from jaxbandit.numerics import as_float
from jaxbandit.solvers.kl import kl_upper
from jaxbandit.types import Array, Scalar


def cucb(num_arms: int, *, k: int, index: Literal["ucb", "kl"] = "ucb", c: Scalar = 1.5) -> Algorithm:
    """Return CUCB, which pulls the k arms of largest index and sees the reward of each.

    Args:
      num_arms: number of arms, >= 2, static.
      k: arms in a team, in [1, num_arms - 1], static.
      index: "ucb": mean + sqrt(c log t / N), the paper's; "kl": the largest q with kl(mean, q) <= log t / N, for
        rewards in [0, 1], without influence of c. Static.
      c: > 0, traced; 1.5 is the paper's.

    Returns:
      An Algorithm with actions bool[num_arms], k of them True, and rewards float[num_arms], those of the members in
      [0, 1], the others 0. It recommends the k arms pulled most, int32[k].

    Raises:
      ValueError: an argument is out of range.

    Source: Chen, Wang, Yuan (2013), Combinatorial multi-armed bandit: general framework and applications, ICML;
      Kveton, Wen, Ashkan, Szepesvari (2015), Tight regret bounds for stochastic combinatorial semi-bandits, AISTATS.
    """
    num_arms = checks.integer("cucb", "num_arms", num_arms, 2)
    k = checks.integer("cucb", "k", k, 1, num_arms - 1)
    checks.choice("cucb", "index", index, ("ucb", "kl"))
    checks.number("cucb", "c", c, low=0.0, open_low=True)

    def select(noise: None, state: TeamState, context: None) -> Array:
        log_t, n = jnp.log(as_float(state.round)), as_float(jnp.maximum(state.counts, 1))
        upper = kl_upper(state.means, log_t / n) if index == "kl" else state.means + jnp.sqrt(as_float(c) * log_t / n)
        return teams.largest(teams.unseen_first(state, upper), k)

    return teams.team_policy("cucb", num_arms, k, select)
