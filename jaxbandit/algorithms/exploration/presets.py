"""Published gap-index algorithms as combinations of the parts of one family: LUCB, UGapE and LinGapE.

Reda, Kaufmann and Delahaye-Duriez (2021), Table 1; Kalyanakrishnan et al. (2012); Gabillon et al. (2012); Xu, Honda and
Sugiyama (2017), Algorithm 1. Differences from the papers are listed in gap_index_policy.py. UGapE uses the exploration
rate of LUCB here. m-LinGapE and LinGIFA are in linear_top_m.py.
"""

from typing import Literal

import numpy as np

from jaxbandit.algorithms.exploration.gap_index_policy import Parts, Problem, Threshold, Ties, gap_index_policy
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support import checks
from jaxbandit.support.types import ArrayLike, Scalar

ClassicalThreshold = Literal["lucb1", "heuristic"]


@declare(
    question="confidence",
    setting="arms",
    rewards="sub-Gaussian, scale given",
    finds="m",
    cost="O(K) for m = 1, else O(K^2)",
    memory="O(K)",
    tries={"delta": (0.05, 0.5), "epsilon": (0.1, 0.0, 1.0), "sigma": (0.2, 1.0)},
)
def lucb(
    num_arms: int,
    *,
    m: int = 1,
    rule: Literal["largest_variance", "both"] = "largest_variance",
    threshold: ClassicalThreshold = "lucb1",
    delta: Scalar = 0.05,
    epsilon: Scalar = 0.0,
    sigma: Scalar = 1.0,
    ties: Ties = "lowest",
) -> Algorithm:
    """LUCB, the m best arms without features, Kalyanakrishnan et al. 2012.

    Return LUCB, which finds the m best arms by comparing the m best empirical means with the strongest arm outside.

    Let J be the m arms with the largest empirical means, b the arm in J with the smallest lower confidence bound, and c
    the arm outside with the largest upper confidence bound. It stops when the upper bound of c exceeds the lower bound
    of b by at most epsilon, and otherwise pulls b or c, or both.

    Guarantee: The error rate is at most delta.

    In detail, with the threshold "lucb1" and sub-Gaussian rewards, with probability at least 1 - delta the m
    recommended arms have means at most epsilon below the m-th best mean. With "heuristic" the recommendation carries no
    guarantee.

    Args:
      num_arms: number of arms, an integer >= 2; static.
      m: number of arms to find, an integer in [1, num_arms - 1]; static.
      rule: "largest_variance" pulls the one of b and c with fewer pulls, as in the 2021 paper; "both" pulls both before
        the stopping rule is evaluated again, as in the original of 2012. Static.
      threshold: "lucb1" (proved) or "heuristic" (without a proof); static.
      delta: allowed error probability, in (0, 1); traced.
      epsilon: tolerated simple regret, in the unit of the rewards, >= 0; traced.
      sigma: sub-Gaussian scale of the rewards' noise, > 0; traced.
      ties: "lowest" for the lowest-numbered arm, or "random" for an order that is drawn in each run; static.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[m], the best arm
      first.

    Raises:
      ValueError: an argument is out of range.

    Source:
      Kalyanakrishnan, Tewari, Auer and Stone (2012), PAC subset selection in stochastic multi-armed bandits, ICML.
    """
    num_arms = checks.integer("lucb", "num_arms", num_arms, 2)
    return gap_index_policy(
        "lucb",
        np.eye(num_arms),  # of unstructured arms the classical index uses only the number
        Parts(index="classical", rule=rule, threshold=threshold, ties=ties),
        Problem(m, delta, epsilon, sigma),
    )


@declare(
    question="confidence",
    setting="arms",
    rewards="sub-Gaussian, scale given",
    finds="m",
    cost="O(m K^2)",
    memory="O(K)",
    tries={"delta": (0.05, 0.5), "epsilon": (0.1, 0.0, 1.0), "sigma": (0.2, 1.0)},
)
def ugape(
    num_arms: int,
    *,
    m: int = 1,
    threshold: ClassicalThreshold = "lucb1",
    delta: Scalar = 0.05,
    epsilon: Scalar = 0.0,
    sigma: Scalar = 1.0,
    ties: Ties = "lowest",
) -> Algorithm:
    """UGapE, the m best arms without features, Gabillon et al. 2012.

    Return UGapE, which finds the m best arms by the smallest upper bounds on their simple regret.

    For each arm j, let B_j be the m-th largest upper confidence bound of the other arms minus the lower bound of j. The
    candidates J are the m arms with the smallest B. It stops when the largest B in J is at most epsilon. Otherwise it
    pulls the one with fewer pulls of two arms: the candidate that is most ambiguous and the strongest arm outside J.

    Guarantee: The error rate is at most delta.

    In detail, with the threshold "lucb1" and sub-Gaussian rewards, with probability at least 1 - delta the m
    recommended arms have means at most epsilon below the m-th best mean. With "heuristic" the recommendation carries no
    guarantee.

    Args:
      num_arms: number of arms, an integer >= 2; static.
      m: number of arms to find, an integer in [1, num_arms - 1]; static.
      threshold: "lucb1" (proved) or "heuristic" (without a proof); static.
      delta: allowed error probability, in (0, 1); traced.
      epsilon: tolerated simple regret, in the unit of the rewards, >= 0; traced.
      sigma: sub-Gaussian scale of the rewards' noise, > 0; traced.
      ties: "lowest" for the lowest-numbered arm, or "random" for an order that is drawn in each run; static.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[m], the best arm
      first.

    Raises:
      ValueError: an argument is out of range.

    Source:
      Gabillon, Ghavamzadeh and Lazaric (2012), Best arm identification: a unified approach to fixed budget and fixed
      confidence, NeurIPS.
    """
    num_arms = checks.integer("ugape", "num_arms", num_arms, 2)
    parts = Parts(
        candidates="ugape", index="classical", rule="largest_variance", stop="ugape", threshold=threshold, ties=ties
    )
    return gap_index_policy("ugape", np.eye(num_arms), parts, Problem(m, delta, epsilon, sigma))


@declare(
    question="confidence",
    setting="features",
    rewards="sub-Gaussian, scale given",
    finds="1",
    cost="O(K^2), or O(K d + d^2) for more than 3 d arms",
    memory="O(K^2), or O(K + d^2) for more than 3 d arms",
    concrete=("features",),
    concrete_rule="optimized",
    tries={
        "delta": (0.05, 0.5),
        "epsilon": (0.1, 0.0, 1.0),
        "sigma": (0.2, 1.0),
        "regularization": (1.0, 0.01),
        "theta_norm": (1.0, 2.0),
    },
)
def lingape(
    features: ArrayLike,
    *,
    rule: Literal["greedy", "optimized", "largest_variance"] = "greedy",
    threshold: Threshold = "det",
    delta: Scalar = 0.05,
    epsilon: Scalar = 0.0,
    sigma: Scalar = 1.0,
    regularization: Scalar = 1.0,
    theta_norm: Scalar = 1.0,
    ties: Ties = "lowest",
) -> Algorithm:
    """The best arm of linear means, Xu et al. 2017.

    Return LinGapE, which finds the best arm of a linear bandit; it is m-LinGapE with m = 1 and the threshold "det".

    Let b be the empirically best arm and c the arm with the largest upper confidence bound B_cb on its mean minus that
    of b. It stops when B_cb <= epsilon, and otherwise pulls an arm that reduces the uncertainty in the direction x_b -
    x_c.

    Guarantee: The error rate is at most delta.

    In detail, with the thresholds "det" and "theory", sigma-sub-Gaussian noise and a valid theta_norm, with probability
    at least 1 - delta the recommended arm is at most epsilon below the best. With the other thresholds the
    recommendation carries no guarantee.

    Args:
      features: float[num_arms, dim] with num_arms >= 2, finite; traced.
      rule: the arm that is pulled to distinguish b from c, static. "greedy" (equation 9 of the 2017 version) is the arm
        that most reduces the variance of x_b - x_c; "optimized" (equation 12) tracks an optimal representation of x_b -
        x_c; "largest_variance" is the one of b and c with the larger variance.
      threshold: "det" (equation 3) and "theory" are proved, "heuristic" and "lucb1" are not; static.
      delta: allowed error probability, in (0, 1); traced.
      epsilon: tolerated simple regret, in the unit of the rewards, >= 0; traced.
      sigma: sub-Gaussian scale of the rewards' noise, > 0; traced.
      regularization: lambda of the regularized least squares, > 0; traced.
      theta_norm: upper bound S >= 0 on the norm of theta, which "det" and "theory" need; traced.
      ties: "lowest" for the lowest-numbered arm, or "random" for an order that is drawn in each run; static.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[1].

    Raises:
      ValueError: an argument is out of range, or "optimized" is used with features that do not span their space.

    Source:
      Xu, Honda and Sugiyama (2018), A fully adaptive algorithm for pure exploration in linear bandits, AISTATS,
      Algorithm 1.
    """
    checks.choice("lingape", "rule", rule, ("greedy", "optimized", "largest_variance"))
    return gap_index_policy(
        "lingape",
        features,
        Parts(rule=rule, threshold=threshold, ties=ties),
        Problem(1, delta, epsilon, sigma, regularization, theta_norm),
    )
