"""UCB(d), UCB1 among them (Liu, Wang, Buccapatnam, Shroff 2018, Section 3): the index solves P1(d) for one d.

UCB1 is Auer, Cesa-Bianchi, Fischer (2002) with the paper's level log t + c log log t in place of 4 log t; `ucb1_auer`
is UCB1 as it was printed there.
"""

import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.algorithms.regret.index_policy import IndexState, divergence_budget, index_policy
from jaxbandit.base import Algorithm, Rewards
from jaxbandit.numerics import exploration_level
from jaxbandit.solvers.semidistance import UPPER
from jaxbandit.types import Array, Distance, Scalar


def ucb(num_arms: int, *, distance: Distance = "kl", c: Scalar = 0.0) -> Algorithm:
    """Return UCB(d): the index of arm a is the largest q with d(mean_a, q) <= (log t + c log log t) / N_a.

    Args:
      num_arms: number of arms, at least 1; static.
      distance: semi-distance d: "sq", "bq", "h", "lb", "t" or "kl"; static.
      c: weight of log log t, at least 0 (the theorems use 3, the paper's experiments 0); traced.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[] in [0, 1].

    Raises:
      ValueError: num_arms, distance or c is out of range.

    Source: Liu, Wang, Buccapatnam, Shroff (2018), problem P1 and Algorithm 1.
    """
    checks.choice("ucb", "distance", distance, tuple(UPPER))
    checks.number("ucb", "c", c, low=0.0)

    def index(state: IndexState) -> Array:
        return UPPER[distance](state.means, divergence_budget(state, c))

    def by_square(state: IndexState) -> Array:
        """The same for "sq", with one root a round in place of one an arm."""
        radius = jnp.sqrt(exploration_level(state.round, c) / 2) * state.inverse_sqrt_counts
        return jnp.minimum(state.means + radius, 1.0)

    return index_policy("ucb", num_arms, by_square if distance == "sq" else index, rewards=Rewards(0.0, 1.0))


def ucb1(num_arms: int, *, c: Scalar = 0.0) -> Algorithm:
    """Return UCB1, that is UCB(d_sq): mean plus sqrt((log t + c log log t) / (2 N_a)), at most 1.

    Args:
      num_arms: number of arms, at least 1; static.
      c: weight of log log t, at least 0; traced.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[] in [0, 1].

    Raises:
      ValueError: num_arms or c is out of range.

    Source: Liu, Wang, Buccapatnam, Shroff (2018), Section 3.1; Auer, Cesa-Bianchi, Fischer (2002).
    """
    return ucb(num_arms, distance="sq", c=c)._replace(name="ucb1")


def ucb1_auer(num_arms: int) -> Algorithm:
    """Return UCB1 as printed: mean plus sqrt(2 log t / N_a), twice as wide as `ucb1` and not cut at 1.

    Args:
      num_arms: number of arms, at least 1; static.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[] in [0, 1], for which its bound is proved;
      its actions do not change if all rewards are shifted.

    Raises:
      ValueError: num_arms is out of range.

    Source: Auer, Cesa-Bianchi, Fischer (2002), Finite-time analysis of the multiarmed bandit problem, Figure 1.
    """

    def index(state: IndexState) -> Array:
        return state.means + jnp.sqrt(2 * exploration_level(state.round)) * state.inverse_sqrt_counts

    return index_policy("ucb1_auer", num_arms, index, rewards=Rewards(0.0, 1.0))
