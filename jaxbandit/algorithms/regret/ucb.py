"""UCB(d), with UCB1 among its members (Liu, Wang, Buccapatnam and Shroff 2018, Section 3): the index solves P1(d).

`ucb1` is UCB1 of Auer, Cesa-Bianchi and Fischer (2002) with the level log t + c log log t of Liu et al. in place of 4
log t. `ucb1_auer` is UCB1 as Auer et al. printed it.
"""

import jax.numpy as jnp

from jaxbandit.algorithms.regret.index_policy import IndexState, divergence_budget, index_policy
from jaxbandit.base.arguments import LogLogWeight, NumArms, Positive
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float, exploration_level
from jaxbandit.support.types import Array, Distance
from jaxbandit.theory.solvers.semidistance import UPPER


@declare(
    question="regret",
    rewards="in [0, 1]",
    cost="O(K); a closed form for each arm, or an inversion of kl",
    memory="O(K)",
    settings=({}, {"distance": "sq"}, {"distance": "bq"}, {"distance": "h"}, {"distance": "lb"}, {"distance": "t"}),
)
def ucb(num_arms: NumArms, *, distance: Distance = "kl", c: LogLogWeight = 0.0) -> Algorithm:
    """The largest mean within a confidence radius of a semi-distance, Liu et al. 2018.

    Return UCB(d): the index of arm a is the largest q <= 1 with d(mean_a, q) <= (log t + c log log t) / N_a, where d is
    one of six semi-distances on [0, 1]. Most have closed-form indices, and "kl" gives kl-UCB. Each arm is pulled once
    first, and ties go to the lowest-numbered arm.

    Guarantee: With c = 3, regret of at most log T times the sum over the other arms of gap / d(mean, best mean), to
    first order (Liu et al. 2018); the default c = 0, the paper's experimental choice, is not covered.

    Args:
      distance: the semi-distance d: "sq" (UCB1), "bq" (biquadratic), "h" (Hellinger), "lb" (kl without its term -p log
        q), "t" (a tangent bound) or "kl"; static.
      c: weight of log log t (the theorems use 3, the paper's experiments 0).

    Source:
      Liu, Wang, Buccapatnam and Shroff (2018), UCBoost: a boosting approach to tame complexity and optimality for
      stochastic bandits, IJCAI, problem P1 and Algorithm 1.
    """

    def index(state: IndexState) -> Array:
        return UPPER[distance](state.means, divergence_budget(state, c))

    def by_square(state: IndexState) -> Array:
        """The same index for "sq", with one square root per round instead of one per arm."""
        radius = jnp.sqrt(exploration_level(state.round, c) / 2) * state.inverse_sqrt_counts
        return jnp.minimum(state.means + radius, 1.0)

    return index_policy("ucb", num_arms, by_square if distance == "sq" else index, rewards=Rewards(0.0, 1.0))


@declare(question="regret", rewards="in [0, 1]", cost="O(K)", memory="O(K)")
def ucb1(num_arms: NumArms, *, c: LogLogWeight = 0.0) -> Algorithm:
    """UCB with the squared distance, Auer et al. 2002.

    Return UCB1, that is, UCB(d_sq): the index is mean_a + sqrt((log t + c log log t) / (2 N_a)), and at most 1. Each
    arm is pulled once first, and ties go to the lowest-numbered arm. Where means are near 1, all indices are cut at 1
    for a long time and tie, so that the regret depends on the order of the arms; `ucb_alpha` is without the cut.

    Guarantee: With c = 3, regret of at most log T times the sum over the other arms of 1 / (2 gap), to first order (Liu
    et al. 2018); the default c = 0, the paper's experimental choice, is not covered.

    Args:
      c: weight of log log t (the theorem uses 3, the paper's experiments 0).

    Source:
      Liu, Wang, Buccapatnam and Shroff (2018), UCBoost: a boosting approach to tame complexity and optimality for
      stochastic bandits, IJCAI, Section 3.1; Auer, Cesa-Bianchi and Fischer (2002), Finite-time analysis of the
      multiarmed bandit problem, Machine Learning 47.
    """
    return ucb(num_arms, distance="sq", c=c)._replace(name="ucb1")


@declare(question="regret", rewards="in [0, 1]", cost="O(K)", memory="O(K)", tries={"alpha": (1.0, 4.0)})
def ucb_alpha(num_arms: NumArms, *, alpha: Positive = 1.0) -> Algorithm:
    """UCB with a factor alpha of the confidence width, Bubeck and Cesa-Bianchi 2012.

    Return UCB with the index mean_a + sqrt(alpha log t / (2 N_a)): alpha = 4 is `ucb1_auer`, and alpha = 1 is `ucb1`
    without the cut of the index at 1. Each arm is pulled once first, and ties go to the lowest-numbered arm.

    Guarantee: With alpha > 2, regret of at most the sum of 2 alpha log(T) / gap + alpha / (alpha - 2) over the other
    arms, for rewards of the paper's scale (Bubeck and Cesa-Bianchi 2012, Theorem 2.1); the default is not covered.

    Args:
      alpha: factor.

    Source:
      Bubeck and Cesa-Bianchi (2012), Regret analysis of stochastic and nonstochastic multi-armed bandit problems,
      Foundations and Trends in Machine Learning 5, Section 2.2.
    """

    def index(state: IndexState) -> Array:
        width = jnp.sqrt(as_float(alpha) * exploration_level(state.round) / 2)
        return state.means + width * state.inverse_sqrt_counts

    return index_policy("ucb_alpha", num_arms, index, invariant=True, rewards=Rewards(0.0, 1.0))


@declare(question="regret", rewards="in [0, 1]", cost="O(K)", memory="O(K)")
def ucb1_auer(num_arms: NumArms) -> Algorithm:
    """UCB1 as published, mean + sqrt(2 log t / N), Auer et al. 2002.

    Return UCB1 as first published: the index is mean_a + sqrt(2 log t / N_a), with twice the width of `ucb1`, c = 0.
    It is not clipped at 1, so that the actions do not change if all rewards are shifted by a constant. Each arm is
    pulled once first, and ties go to the lowest-numbered arm.

    Guarantee: Expected regret of at most 8 log T times the sum over the other arms of 1 / gap, plus a constant of the
    instance, for every T (Auer et al. 2002).

    In detail, for rewards in [0, 1], the constant is (1 + pi^2 / 3) times the sum of the gaps.

    Source:
      Auer, Cesa-Bianchi and Fischer (2002), Finite-time analysis of the multiarmed bandit problem, Machine Learning 47,
      Figure 1 and Theorem 1.
    """
    return ucb_alpha(num_arms, alpha=4.0)._replace(name="ucb1_auer")
