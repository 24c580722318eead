"""Published gap-index algorithms for the m best arms of a linear bandit: m-LinGapE and LinGIFA.

Reda, Kaufmann and Delahaye-Duriez (2021), Table 1. Differences from the paper are listed in gap_index_policy.py.
"""

from typing import Literal

from jaxbandit.algorithms.exploration.gap_index_policy import Parts, Problem, Threshold, Ties, gap_index_policy
from jaxbandit.algorithms.exploration.gap_indices import Stop
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support import checks
from jaxbandit.support.types import ArrayLike, Scalar


@declare(
    question="confidence",
    setting="features",
    rewards="sub-Gaussian, scale given",
    finds="m",
    cost="O(K^2), or O(K d + d^2) for more than 3 d arms; for m > 1 always O(K^2)",
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
def m_lingape(
    features: ArrayLike,
    *,
    m: int = 1,
    rule: Literal["greedy", "optimized", "largest_variance"] = "greedy",
    threshold: Threshold = "theory",
    delta: Scalar = 0.05,
    epsilon: Scalar = 0.0,
    sigma: Scalar = 1.0,
    regularization: Scalar = 1.0,
    theta_norm: Scalar = 1.0,
    ties: Ties = "lowest",
) -> Algorithm:
    """The m best arms of linear means, Reda et al. 2021.

    Return m-LinGapE, which finds the m best arms of a linear bandit.

    Let J be the m arms with the largest estimated means, and let B_ij be an upper confidence bound on mu_i - mu_j. b in
    J and c outside J maximize B_cb. It stops when B_cb <= epsilon, and otherwise pulls an arm that reduces the
    uncertainty in the direction x_b - x_c.

    Guarantee: The error rate is at most delta.

    In detail, with the thresholds "det" and "theory", sigma-sub-Gaussian noise and a valid theta_norm, with probability
    at least 1 - delta the m recommended arms have means at most epsilon below the m-th best mean. With the other
    thresholds the recommendation carries no guarantee.

    Args:
      features: float[num_arms, dim] with num_arms >= 2, finite; traced.
      m: number of arms to find, an integer in [1, num_arms - 1]; static.
      rule: the arm that is pulled to distinguish b from c, "greedy", "optimized" or "largest_variance", as for
        `lingape`; static.
      threshold: "theory" and "det" are proved, "heuristic" and "lucb1" are not; static.
      delta: allowed error probability, in (0, 1); traced.
      epsilon: tolerated simple regret, in the unit of the rewards, >= 0; traced.
      sigma: sub-Gaussian scale of the rewards' noise, > 0; traced.
      regularization: lambda of the regularized least squares, > 0; traced.
      theta_norm: upper bound S >= 0 on the norm of theta, which "det" and "theory" need; traced.
      ties: "lowest" for the lowest-numbered arm, or "random" for an order that is drawn in each run; static.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[m], the best arm
      first.

    Raises:
      ValueError: an argument is out of range, or "optimized" is used with features that do not span their space.

    Source:
      Reda, Kaufmann and Delahaye-Duriez (2021), Top-m identification for linear bandits, AISTATS.
    """
    checks.choice("m_lingape", "rule", rule, ("greedy", "optimized", "largest_variance"))
    return gap_index_policy(
        "m_lingape",
        features,
        Parts(rule=rule, threshold=threshold, ties=ties),
        Problem(m, delta, epsilon, sigma, regularization, theta_norm),
    )


@declare(
    question="confidence",
    setting="features",
    rewards="sub-Gaussian, scale given",
    finds="m",
    cost="O(m K^2)",
    memory="O(K^2), or O(K + d^2) for more than 3 d arms",
    tries={
        "delta": (0.05, 0.5),
        "epsilon": (0.1, 0.0, 1.0),
        "sigma": (0.2, 1.0),
        "regularization": (1.0, 0.01),
        "theta_norm": (1.0, 2.0),
    },
)
def lingifa(
    features: ArrayLike,
    *,
    m: int = 1,
    rule: Literal["largest_variance", "greedy"] = "largest_variance",
    index: Literal["paired", "individual"] = "paired",
    stop: Stop = "ugape",
    threshold: Threshold = "theory",
    delta: Scalar = 0.05,
    epsilon: Scalar = 0.0,
    sigma: Scalar = 1.0,
    regularization: Scalar = 1.0,
    theta_norm: Scalar = 1.0,
    ties: Ties = "lowest",
) -> Algorithm:
    """The m best arms of linear means, with one index per arm, Reda et al. 2021.

    Return LinGIFA, which finds the m best arms of a linear bandit by gap indices alone, without initial pulls.

    Let B_ij be an upper confidence bound on mu_i - mu_j, and let max^m denote the m-th largest value. The candidates J
    are the m arms j with the smallest max^m_{i != j} B_ij, b is the one with the largest of these values in J, and c is
    the arm outside J with the largest B_cb.

    Guarantee: The error rate is at most delta.

    In detail, with the thresholds "det" and "theory", sigma-sub-Gaussian noise and a valid theta_norm, with probability
    at least 1 - delta the m recommended arms have means at most epsilon below the m-th best mean. With the other
    thresholds the recommendation carries no guarantee.

    Args:
      features: float[num_arms, dim] with num_arms >= 2, finite; traced.
      m: number of arms to find, an integer in [1, num_arms - 1]; static.
      rule: "largest_variance" pulls the one of b and c with the larger variance; "greedy" pulls the arm that most
        reduces the variance of x_b - x_c. Static.
      index: the width of B_ij is that of x_i - x_j ("paired") or the sum of the widths of x_i and x_j ("individual");
        static.
      stop: stop when max_{j in J} max^m_{i != j} B_ij <= epsilon ("ugape"), or when B_cb <= epsilon ("lucb"); static.
      threshold: "theory" and "det" are proved, "heuristic" and "lucb1" are not; static.
      delta: allowed error probability, in (0, 1); traced.
      epsilon: tolerated simple regret, in the unit of the rewards, >= 0; traced.
      sigma: sub-Gaussian scale of the rewards' noise, > 0; traced.
      regularization: lambda of the regularized least squares, > 0; traced.
      theta_norm: upper bound S >= 0 on the norm of theta, which "det" and "theory" need; traced.
      ties: "lowest" for the lowest-numbered arm, or "random" for an order that is drawn in each run; static.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[m], the best arm
      first.

    Raises:
      ValueError: an argument is out of range.

    Source:
      Reda, Kaufmann and Delahaye-Duriez (2021), Top-m identification for linear bandits, AISTATS.
    """
    checks.choice("lingifa", "rule", rule, ("largest_variance", "greedy"))
    checks.choice("lingifa", "index", index, ("paired", "individual"))
    parts = Parts("ugape", index, "ugape", rule, stop, threshold, initial_pulls=False, ties=ties)
    return gap_index_policy("lingifa", features, parts, Problem(m, delta, epsilon, sigma, regularization, theta_norm))
