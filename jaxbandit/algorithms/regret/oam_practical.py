"""OAM adapted to practical horizons: optimism decides when to explore, and the optimal allocation decides how.

It is `oam` of Hao, Lattimore and Szepesvari (2020) with three changes and without forced exploration, and not in the
paper.
"""

from jaxbandit.algorithms.regret.linear_policy import Horizon
from jaxbandit.algorithms.regret.oam import oam
from jaxbandit.base.arguments import FeatureSets, Mask, NonNegative, Positive, Sigma, Zeta
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare


@declare(
    question="regret",
    rewards="sub-Gaussian, scale given",
    cost="O(K d^2), and a convex program when information has grown by 1 + zeta",
    memory="O(K + d^2)",
    tries={"c": (0.0, 3.0), "budget": (0.5, 2.0)},
    settings=({"horizon": 60},),
)
def oam_practical(
    features: FeatureSets,
    *,
    mask: Mask | None = None,
    horizon: Horizon,
    c: NonNegative = 0.5,
    budget: Positive = 1.0,
    zeta: Zeta = 0.1,
    sigma: Sigma = 1.0,
) -> Algorithm:
    """OAM adapted to practical horizons, which explores when optimism does.

    It differs from `oam` in three ways, for horizons of 10^4 to 10^6:

    - The level is f_{n,delta} with delta = 1 / (n w^2) in place of 1 / n, where w^2 = x' G^-1 x.
    - It exploits if the optimistic index at that level is largest at an arm that is estimated to be best.
    - Otherwise it pulls the suboptimal arm that lags furthest behind the allocation, provided that this arm is known no
      better than the best arm (else some runs follow a wrong arm forever), and that the allocation costs at most
      `budget` times what n pulls of the second-best arm would cost. If a condition fails, it pulls the arm with the
      largest index.

    Guarantee: None: asymptotic optimality is argued, not proved.

    The argument is in docs/mathematics.md, the regret on the paper's instances in benchmarks/results/papers.md: it is
    below that of LinUCB, and mostly above that of heuristic Thompson sampling on average.

    Args:
      c: weight of the second term of f_n. Smaller values are better on average and worse in the tail.
      budget: largest cost of the allocation that is accepted, in units of n times the smallest estimated gap.

    Returns:
      An Algorithm as that of `oam`. Its rounds of kind "wasted" are those that pull the arm with the largest index.

    Raises:
      ValueError: the features of all sets together do not span R^dim.

    Source:
      Hao, Lattimore and Szepesvari (2020), Adaptive exploration in linear contextual bandit, AISTATS, for OAM; Menard
      and Garivier (2017), A minimax and asymptotically optimal algorithm for stochastic bandits, ALT, for the levels.
    """
    return oam(
        features,
        mask=mask,
        horizon=horizon,
        exploit_if="optimism",
        budget=budget,
        force=False,
        c=c,
        zeta=zeta,
        sigma=sigma,
    )._replace(name="oam_practical")
