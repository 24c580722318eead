"""Published gap-index algorithms for the m best arms of a linear bandit: m-LinGapE and LinGIFA.

Reda, Kaufmann and Delahaye-Duriez (2021), Table 1. Differences from the paper are listed in gap_index_policy.py.
"""

from typing import Literal

from jaxbandit.algorithms.exploration.gap_index_policy import Parts, Problem, Threshold, Ties, gap_index_policy
from jaxbandit.algorithms.exploration.gap_indices import Stop
from jaxbandit.base.arguments import Delta, Epsilon, Features, M, Regularization, Sigma, ThetaNorm
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare


@declare(
    question="confidence",
    rewards="sub-Gaussian, scale given",
    cost="O(K^2), or O(K d + d^2) for more than 3 d arms; for m > 1 always O(K^2)",
    memory="O(K^2), or O(K + d^2) for more than 3 d arms",
    concrete=("features",),
    concrete_rule="optimized",
)
def m_lingape(
    features: Features,
    *,
    m: M = 1,
    rule: Literal["greedy", "optimized", "largest_variance"] = "greedy",
    threshold: Threshold = "theory",
    delta: Delta = 0.05,
    epsilon: Epsilon = 0.0,
    sigma: Sigma = 1.0,
    regularization: Regularization = 1.0,
    theta_norm: ThetaNorm = 1.0,
    ties: Ties = "lowest",
) -> Algorithm:
    """The m best arms of linear means, Reda et al. 2021.

    Let J be the m arms with the largest estimated means, and let B_ij be an upper confidence bound on mu_i - mu_j. b in
    J and c outside J maximize B_cb. It stops when B_cb <= epsilon, and otherwise pulls an arm that reduces the
    uncertainty in the direction x_b - x_c.

    Guarantee: The error rate is at most delta.

    In detail, this holds with the thresholds "det" and "theory" and a valid theta_norm, for means at most epsilon below
    the m-th best.

    Args:
      rule: the arm that is pulled to distinguish b from c, "greedy", "optimized" or "largest_variance", as for
        `lingape`.
      threshold: "theory" and "det" are proved, "heuristic" and "lucb1" are not; static.

    Raises:
      ValueError: "optimized" is used with features that do not span their space.

    Source:
      Reda, Kaufmann and Delahaye-Duriez (2021), Top-m identification for linear bandits, AISTATS.
    """
    return gap_index_policy(
        features,
        Parts(rule=rule, threshold=threshold, ties=ties),
        Problem(m, delta, epsilon, sigma, regularization, theta_norm),
    )


@declare(
    question="confidence",
    rewards="sub-Gaussian, scale given",
    cost="O(m K^2)",
    memory="O(K^2), or O(K + d^2) for more than 3 d arms",
)
def lingifa(
    features: Features,
    *,
    m: M = 1,
    rule: Literal["largest_variance", "greedy"] = "largest_variance",
    index: Literal["paired", "individual"] = "paired",
    stop: Stop = "ugape",
    threshold: Threshold = "theory",
    delta: Delta = 0.05,
    epsilon: Epsilon = 0.0,
    sigma: Sigma = 1.0,
    regularization: Regularization = 1.0,
    theta_norm: ThetaNorm = 1.0,
    ties: Ties = "lowest",
) -> Algorithm:
    """The m best arms of linear means, with one index per arm, Reda et al. 2021.

    Let B_ij be an upper confidence bound on mu_i - mu_j, and let max^m denote the m-th largest value. The candidates J
    are the m arms j with the smallest max^m_{i != j} B_ij, b is the one with the largest of these values in J, and c is
    the arm outside J with the largest B_cb. There are no initial pulls.

    Guarantee: The error rate is at most delta.

    In detail, this holds with the thresholds "det" and "theory" and a valid theta_norm, for means at most epsilon below
    the m-th best.

    Args:
      rule: "largest_variance" pulls the one of b and c with the larger variance; "greedy" pulls the arm that most
        reduces the variance of x_b - x_c.
      index: the width of B_ij is that of x_i - x_j ("paired") or the sum of the widths of x_i and x_j ("individual").
      stop: stop when max_{j in J} max^m_{i != j} B_ij <= epsilon ("ugape"), or when B_cb <= epsilon ("lucb"); static.
      threshold: "theory" and "det" are proved, "heuristic" and "lucb1" are not; static.

    Source:
      Reda, Kaufmann and Delahaye-Duriez (2021), Top-m identification for linear bandits, AISTATS.
    """
    parts = Parts("ugape", index, "ugape", rule, stop, threshold, initial_pulls=False, ties=ties)
    return gap_index_policy(features, parts, Problem(m, delta, epsilon, sigma, regularization, theta_norm))
