"""UCBoost (Liu, Wang, Buccapatnam and Shroff 2018): cheap indices combined to approach that of kl-UCB.

The binding member of the family of `ucboost_eps` and `ucboost_lb` is found by rounding the kl solution to the member's
grid, not by the printed bisections: Algorithm 3 as printed updates k but not its bracket.
"""

from collections.abc import Iterable

from jaxbandit.algorithms.regret.index_policy import IndexState, divergence_budget, index_policy
from jaxbandit.base.arguments import LogLogWeight, NumArms, Positive
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support import checks
from jaxbandit.support.domains import choice
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, Distance
from jaxbandit.theory.solvers import semidistance


@declare(
    question="regret",
    rewards="in [0, 1]",
    cost="O(K |D|), closed forms",
    memory="O(K)",
    settings=({}, {"distances": ("sq",)}, {"distances": ("bq", "h", "lb", "t")}),
)
def ucboost(
    num_arms: NumArms, *, distances: tuple[Distance, ...] = ("bq", "h", "lb"), c: LogLogWeight = 0.0
) -> Algorithm:
    """The minimum of several closed-form UCB indices, Liu et al. 2018.

    Return UCBoost(D): the index of an arm is the smallest of the indices of UCB(d) over d in D, with closed forms for
    the default D. Each arm is pulled once first, and ties go to the lowest-numbered arm.

    Guarantee: With c = 3, regret of at most log T times the sum over the other arms of gap / max over D of d(mean, best
    mean), to first order (Liu et al. 2018); the default c = 0, the paper's experimental choice, is not covered.

    In detail, this is for rewards in [0, 1] and members d that are at most kl.

    Args:
      distances: the set D, one or more of "sq", "bq", "h", "lb", "t" and "kl"; static.
      c: weight of log log t (the theorems use 3, the paper's experiments 0).

    Source:
      Liu, Wang, Buccapatnam and Shroff (2018), UCBoost: a boosting approach to tame complexity and optimality for
      stochastic bandits, IJCAI, Section 4, Algorithm 2.
    """
    if isinstance(distances, str) or not isinstance(distances, Iterable) or not (distances := tuple(distances)):
        checks.wrong("distances", distances, "one or more names of semi-distances")
    for distance in distances:
        checks.take("distances", distance, choice(semidistance.UPPER))

    def index(state: IndexState) -> Array:
        return semidistance.upper_minimum(distances, state.means, divergence_budget(state, c))

    return index_policy("ucboost", num_arms, index, rewards=Rewards(0.0, 1.0))


@declare(
    question="regret",
    rewards="in [0, 1]",
    cost="O(K log(1 / eps)), closed forms",
    memory="O(K)",
    tries={"eps": (0.01, 0.3)},
)
def ucboost_eps(num_arms: NumArms, *, eps: Positive = 0.01, c: LogLogWeight = 0.0) -> Algorithm:
    """Approximates kl-UCB within eps, Liu et al. 2018, Algorithm 3.

    Return UCBoost(eps): the index of a semi-distance that is within eps of the Bernoulli divergence kl, the maximum of
    a finite family whose size grows as eps decreases. The index is the smallest of the members' indices. Each arm is
    pulled once first, and ties go to the lowest-numbered arm.

    Guarantee: With c = 3, regret of at most log T times the sum over the other arms of gap / (kl(mean, best mean) -
    eps), to first order, for eps below these kl (Liu et al. 2018); the default c = 0, the paper's experimental choice,
    is not covered.

    Args:
      eps: largest amount by which the semi-distance may fall below kl.
      c: weight of log log t (the theorems use 3, the paper's experiments 0).

    Source:
      Liu, Wang, Buccapatnam and Shroff (2018), UCBoost: a boosting approach to tame complexity and optimality for
      stochastic bandits, IJCAI, Section 5, Algorithm 3.
    """

    def index(state: IndexState) -> Array:
        return semidistance.upper_eps(state.means, divergence_budget(state, c), as_float(eps))

    return index_policy("ucboost_eps", num_arms, index, rewards=Rewards(0.0, 1.0))


@declare(
    question="regret",
    rewards="in [0, 1]",
    cost="O(K log(1 / eps)), closed forms",
    memory="O(K)",
    tries={"eps": (0.01, 0.3)},
)
def ucboost_lb(num_arms: NumArms, *, eps: Positive = 0.01, c: LogLogWeight = 0.0) -> Algorithm:
    """Approximates kl-UCB by a lower bound, Liu et al. 2018, Algorithm 4.

    The index q' of an arm with mean p is at least the index q of kl-UCB, and kl(p, q') - kl(p, q) <= eps. Each arm is
    pulled once first, and ties go to the lowest-numbered arm.

    Guarantee: No regret bound of its own; its index is at least kl-UCB's and exceeds it by at most eps in kl (Liu et
    al. 2018).

    Args:
      eps: largest excess of the divergence.
      c: weight of log log t (the theorems use 3, the paper's experiments 0).

    Source:
      Liu, Wang, Buccapatnam and Shroff (2018), UCBoost: a boosting approach to tame complexity and optimality for
      stochastic bandits, IJCAI, Appendix C, Algorithm 4.
    """

    def index(state: IndexState) -> Array:
        return semidistance.upper_lb_eps(state.means, divergence_budget(state, c), as_float(eps))

    return index_policy("ucboost_lb", num_arms, index, rewards=Rewards(0.0, 1.0))
