"""UCBoost (Liu, Wang, Buccapatnam, Shroff 2018): cheap indices boosted towards kl-UCB's.

UCBoost(D) of Section 4, UCBoost(eps) of Section 5 and the approximation of Appendix C. For the last two the binding
member of the family is found by rounding the kl solution to the member's grid, not by the printed bisections:
Algorithm 3 as printed moves k without its bracket; the definition is what is computed here.
"""

from jaxbandit import checks
from jaxbandit.algorithms.regret.index_policy import IndexState, divergence_budget, index_policy
from jaxbandit.base import Algorithm, Rewards
from jaxbandit.numerics import as_float
from jaxbandit.solvers import semidistance
from jaxbandit.types import Array, Distance, Scalar


def ucboost(num_arms: int, *, distances: tuple[Distance, ...] = ("bq", "h", "lb"), c: Scalar = 0.0) -> Algorithm:
    """Return UCBoost(D): the index is the smallest of those of UCB(d), d in D.

    Args:
      num_arms: number of arms, at least 1; static.
      distances: the set D, one or more of "sq", "bq", "h", "lb", "t", "kl"; static.
      c: weight of log log t, at least 0 (the theorems use 3, the paper's experiments 0); traced.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[] in [0, 1].

    Raises:
      ValueError: num_arms, distances or c is out of range.

    Source: Liu, Wang, Buccapatnam, Shroff (2018), Section 4, Algorithm 2.
    """
    if isinstance(distances, str) or not distances:
        raise ValueError(f"ucboost: distances = {distances!r}, must be one or more names of semi-distances")
    for distance in distances:
        checks.choice("ucboost", "distances", distance, tuple(semidistance.UPPER))
    checks.number("ucboost", "c", c, low=0.0)

    def index(state: IndexState) -> Array:
        return semidistance.upper_minimum(distances, state.means, divergence_budget(state, c))

    return index_policy("ucboost", num_arms, index, rewards=Rewards(0.0, 1.0))


def ucboost_eps(num_arms: int, *, eps: Scalar = 0.01, c: Scalar = 0.0) -> Algorithm:
    """Return UCBoost(eps): an index whose semi-distance is within eps of kl.

    Args:
      num_arms: number of arms, at least 1; static.
      eps: largest shortfall of the semi-distance, above 0; traced.
      c: weight of log log t, at least 0 (the theorems use 3, the paper's experiments 0); traced.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[] in [0, 1].

    Raises:
      ValueError: num_arms, eps or c is out of range.

    Source: Liu, Wang, Buccapatnam, Shroff (2018), Section 5.
    """
    checks.number("ucboost_eps", "eps", eps, low=0.0, open_low=True)
    checks.number("ucboost_eps", "c", c, low=0.0)

    def index(state: IndexState) -> Array:
        return semidistance.upper_eps(state.means, divergence_budget(state, c), as_float(eps))

    return index_policy("ucboost_eps", num_arms, index, rewards=Rewards(0.0, 1.0))


def ucboost_lb(num_arms: int, *, eps: Scalar = 0.01, c: Scalar = 0.0) -> Algorithm:
    """Return the policy of Appendix C: the index q' is above kl-UCB's q*, and kl(p, q') - kl(p, q*) <= eps.

    Args:
      num_arms: number of arms, at least 1; static.
      eps: largest excess of the divergence, above 0; traced.
      c: weight of log log t, at least 0 (the theorems use 3, the paper's experiments 0); traced.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[] in [0, 1].

    Raises:
      ValueError: num_arms, eps or c is out of range.

    Source: Liu, Wang, Buccapatnam, Shroff (2018), Appendix C, Algorithm 4.
    """
    checks.number("ucboost_lb", "eps", eps, low=0.0, open_low=True)
    checks.number("ucboost_lb", "c", c, low=0.0)

    def index(state: IndexState) -> Array:
        return semidistance.upper_lb_eps(state.means, divergence_budget(state, c), as_float(eps))

    return index_policy("ucboost_lb", num_arms, index, rewards=Rewards(0.0, 1.0))
