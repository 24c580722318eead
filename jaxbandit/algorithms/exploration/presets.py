"""Published gap-index algorithms as combinations of the parts of one family: LUCB, UGapE and LinGapE.

Reda, Kaufmann and Delahaye-Duriez (2021), Table 1. Differences from the papers: see gap_index_policy.py; and UGapE uses
the exploration rate of LUCB.
"""

from typing import Literal

import numpy as np

from jaxbandit.algorithms.exploration.gap_index_policy import Parts, Problem, Threshold, Ties, gap_index_policy
from jaxbandit.base.arguments import Delta, Epsilon, Features, M, Regularization, SeveralArms, Sigma, ThetaNorm
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare

ClassicalThreshold = Literal["lucb1", "heuristic"]


@declare(question="confidence", rewards="sub-Gaussian, scale given", cost="O(K) for m = 1, else O(K^2)", memory="O(K)")
def lucb(
    num_arms: SeveralArms,
    *,
    m: M = 1,
    rule: Literal["largest_variance", "both"] = "largest_variance",
    threshold: ClassicalThreshold = "lucb1",
    delta: Delta = 0.05,
    epsilon: Epsilon = 0.0,
    sigma: Sigma = 1.0,
    ties: Ties = "lowest",
) -> Algorithm:
    """LUCB, the m best arms without features, Kalyanakrishnan et al. 2012.

    Let J be the m arms with the largest empirical means, b the arm in J with the smallest lower confidence bound, and c
    the arm outside with the largest upper confidence bound. It stops when the upper bound of c exceeds the lower bound
    of b by at most epsilon, and otherwise pulls b or c, or both.

    Guarantee: The error rate is at most delta.

    In detail, with the threshold "lucb1" the m recommended arms have means at most epsilon below the m-th best mean.

    Args:
      rule: "largest_variance" pulls the one of b and c with fewer pulls, as in the 2021 paper; "both" pulls both before
        the stopping rule is evaluated again, as in the original of 2012.
      threshold: "lucb1" (proved) or "heuristic" (without a proof); static.

    Source:
      Kalyanakrishnan, Tewari, Auer and Stone (2012), PAC subset selection in stochastic multi-armed bandits, ICML.
    """
    return gap_index_policy(
        np.eye(num_arms),  # of unstructured arms the classical index uses only the number
        Parts(index="classical", rule=rule, threshold=threshold, ties=ties),
        Problem(m, delta, epsilon, sigma),
    )


@declare(question="confidence", rewards="sub-Gaussian, scale given", cost="O(m K^2)", memory="O(K)")
def ugape(
    num_arms: SeveralArms,
    *,
    m: M = 1,
    threshold: ClassicalThreshold = "lucb1",
    delta: Delta = 0.05,
    epsilon: Epsilon = 0.0,
    sigma: Sigma = 1.0,
    ties: Ties = "lowest",
) -> Algorithm:
    """UGapE, the m best arms without features, Gabillon et al. 2012.

    For each arm j, let B_j be the m-th largest upper confidence bound of the other arms minus the lower bound of j. The
    candidates J are the m arms with the smallest B. It stops when the largest B in J is at most epsilon. Otherwise it
    pulls the one with fewer pulls of two arms: the candidate that is most ambiguous and the strongest arm outside J.

    Guarantee: The error rate is at most delta.

    In detail, with the threshold "lucb1" the m recommended arms have means at most epsilon below the m-th best mean.

    Args:
      threshold: "lucb1" (proved) or "heuristic" (without a proof); static.

    Source:
      Gabillon, Ghavamzadeh and Lazaric (2012), Best arm identification: a unified approach to fixed budget and fixed
      confidence, NeurIPS.
    """
    parts = Parts(
        candidates="ugape", index="classical", rule="largest_variance", stop="ugape", threshold=threshold, ties=ties
    )
    return gap_index_policy(np.eye(num_arms), parts, Problem(m, delta, epsilon, sigma))


@declare(
    question="confidence",
    rewards="sub-Gaussian, scale given",
    cost="O(K^2), or O(K d + d^2) for more than 3 d arms",
    memory="O(K^2), or O(K + d^2) for more than 3 d arms",
    concrete=("features",),
    concrete_rule="optimized",
)
def lingape(
    features: Features,
    *,
    rule: Literal["greedy", "optimized", "largest_variance"] = "greedy",
    threshold: Threshold = "det",
    delta: Delta = 0.05,
    epsilon: Epsilon = 0.0,
    sigma: Sigma = 1.0,
    regularization: Regularization = 1.0,
    theta_norm: ThetaNorm = 1.0,
    ties: Ties = "lowest",
) -> Algorithm:
    """The best arm of linear means, Xu et al. 2017.

    Let b be the empirically best arm and c the arm with the largest upper confidence bound B_cb on its mean minus that
    of b. It stops when B_cb <= epsilon, and otherwise pulls an arm that reduces the uncertainty in the direction x_b -
    x_c. It is `m_lingape` with m = 1 and the threshold "det".

    Guarantee: The error rate is at most delta.

    In detail, this holds with the thresholds "det" and "theory" and a valid theta_norm, for an arm at most epsilon
    below the best.

    Args:
      rule: the arm that is pulled to distinguish b from c. "greedy" (equation 9 of the 2017 version) is the arm that
        most reduces the variance of x_b - x_c; "optimized" (equation 12) tracks an optimal representation of x_b - x_c;
        "largest_variance" is the one of b and c with the larger variance.
      threshold: "det" (equation 3) and "theory" are proved, "heuristic" and "lucb1" are not; static.

    Raises:
      ValueError: "optimized" is used with features that do not span their space.

    Source:
      Xu, Honda and Sugiyama (2018), A fully adaptive algorithm for pure exploration in linear bandits, AISTATS,
      Algorithm 1.
    """
    return gap_index_policy(
        features,
        Parts(rule=rule, threshold=threshold, ties=ties),
        Problem(1, delta, epsilon, sigma, regularization, theta_norm),
    )
