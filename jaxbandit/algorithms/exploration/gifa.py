"""GIFA, gap-index focused algorithms with selectable parts: Reda, Kaufmann and Delahaye-Duriez (2021), Algorithm 1.

The differences from the papers are listed in gap_index_policy.py. presets.py and linear_top_m.py have the published
combinations.
"""

from jaxbandit.algorithms.exploration.gap_index_policy import (
    Index,
    Parts,
    Problem,
    Rule,
    Threshold,
    Ties,
    gap_index_policy,
)
from jaxbandit.algorithms.exploration.gap_indices import Candidates, Leader, Stop
from jaxbandit.base.arguments import Delta, Epsilon, Features, M, Regularization, Sigma, ThetaNorm
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare


@declare(
    question="confidence",
    rewards="sub-Gaussian, scale given",
    cost="O(K^2), or O(K d + d^2) for more than 3 d arms; for m > 1, and with other parts, O(m K^2)",
    memory="O(K^2), or O(K + d^2) for more than 3 d arms",
    concrete=("features",),
    concrete_rule="optimized",
    settings=(
        {},
        {"index": "classical", "rule": "both", "threshold": "lucb1", "m": 2},
        {"candidates": "ugape", "leader": "ugape", "stop": "ugape", "ties": "random", "m": 2},
    ),
)
def gifa(
    features: Features,
    *,
    candidates: Candidates = "means",
    index: Index = "paired",
    leader: Leader = "lucb",
    rule: Rule = "greedy",
    stop: Stop = "lucb",
    threshold: Threshold = "theory",
    initial_pulls: bool = True,
    m: M = 1,
    delta: Delta = 0.05,
    epsilon: Epsilon = 0.0,
    sigma: Sigma = 1.0,
    regularization: Regularization = 1.0,
    theta_norm: ThetaNorm = 1.0,
    ties: Ties = "lowest",
) -> Algorithm:
    """The gap-index family, with every component to be chosen, Reda et al. 2021.

    B_ij is an upper confidence bound on mu_i - mu_j. Each round determines m candidates J, the most ambiguous candidate
    b and its challenger c, the arm outside J with the largest B_cb; it stops if the stopping rule is satisfied, and
    otherwise pulls an arm that distinguishes b from c. max^m denotes the m-th largest value. The defaults give
    m-LinGapE.

    Guarantee: The error rate is at most delta, with the thresholds that are proved for the index chosen.

    In detail, these are "det" and "theory" (linear models) and "lucb1" (classical index): with probability at least 1 -
    delta the m recommended arms have means at most epsilon below the m-th best mean.

    Args:
      features: float[num_arms, dim] with num_arms >= 2. The classical index uses only their number.
      candidates: J is the set of the m largest "means", or for "ugape" of the m smallest max^m_{i != j} B_ij over j;
        static.
      index: the width of B_ij is that of x_i - x_j ("paired"), the sum of the widths of x_i and x_j ("individual"), or
        that of empirical means with sigma / sqrt(N) ("classical"); static.
      leader: b has the largest max_{i not in J} B_ib ("lucb") or max^m_{i != b} B_ib ("ugape") in J; static.
      rule: the arm that is pulled: "greedy", the arm that most reduces the variance of x_b - x_c; "optimized", which
        tracks an optimal representation of x_b - x_c; "largest_variance", the one of b and c with the larger variance;
        or "both" of them in turn, without stopping in between. Static.
      stop: stop when B_cb <= epsilon ("lucb"), or when max_{j in J} max^m_{i != j} B_ij <= epsilon ("ugape"); static.
      threshold: width of the confidence bounds, static. "det" and "theory" are proved for features, "lucb1" for the
        classical index, and "heuristic" for neither.
      initial_pulls: whether each arm is pulled once before the stopping rule is evaluated.

    Raises:
      ValueError: parts that need features are combined with the classical index, or "optimized" is used with features
        that do not span their space.

    Source:
      Reda, Kaufmann and Delahaye-Duriez (2021), Top-m identification for linear bandits, AISTATS, Algorithm 1; Xu,
      Honda and Sugiyama (2018), A fully adaptive algorithm for pure exploration in linear bandits, AISTATS.
    """
    parts = Parts(candidates, index, leader, rule, stop, threshold, initial_pulls, ties)
    return gap_index_policy(features, parts, Problem(m, delta, epsilon, sigma, regularization, theta_norm))
