"""gifa: the gap-index family with every part open, Reda, Kaufmann, Delahaye-Duriez (2021), Algorithm 1.

What differs from the papers is said in gap_index_policy.py; presets.py has the published combinations.
"""

from jaxbandit.algorithms.exploration.gap_index_policy import Index, Rule, Threshold, Ties, gap_index_policy
from jaxbandit.algorithms.exploration.gap_indices import Candidates, Leader, Stop
from jaxbandit.base import Algorithm
from jaxbandit.types import ArrayLike, Scalar


def gifa(
    features: ArrayLike,
    *,
    candidates: Candidates = "means",
    index: Index = "paired",
    leader: Leader = "lucb",
    rule: Rule = "greedy",
    stop: Stop = "lucb",
    threshold: Threshold = "theory",
    initial_pulls: bool = True,
    m: int = 1,
    delta: Scalar = 0.05,
    epsilon: Scalar = 0.0,
    sigma: Scalar = 1.0,
    regularization: Scalar = 1.0,
    theta_norm: Scalar = 1.0,
    ties: Ties = "lowest",
) -> Algorithm:
    """Return the gap-index algorithm of the given parts; the defaults make m-LinGapE.

    Args:
      features: float[num_arms, dim], finite, traced; num_arms >= 2. The classical index takes only their number.
      candidates: J, the m largest "means", or "ugape", the m smallest over j of max^m_{i != j} B_ij; static.
      index: B_ij with the width of x_i - x_j ("paired"), of x_i plus that of x_j ("individual"), or with empirical
        means and sigma / sqrt(N) ("classical"); static.
      leader: b, the largest in J of max_{i not in J} B_ij ("lucb") or of max^m_{i != j} B_ij ("ugape"); static.
      rule: what is pulled to tell b from c: "greedy", "optimized", "largest_variance", or "both" of them, one after
        the other with no stopping in between; static.
      stop: when B_cb <= epsilon ("lucb"), or when max_{j in J} max^m_{i != j} B_ij <= epsilon ("ugape"); static.
      threshold: "det" and "theory" are proved for features, "lucb1" for the classical index, "heuristic" for none.
      initial_pulls: whether each arm is pulled once first, before any stopping; static.
      m: number of arms to find, in [1, num_arms - 1], static.
      delta: allowed error rate, in (0, 1), traced.
      epsilon: tolerated shortfall of a mean, >= 0, traced.
      sigma: sub-Gaussian scale of the rewards' noise, > 0, traced.
      regularization: lambda > 0, traced.
      theta_norm: S >= 0, a bound of ||theta||, traced; "det" and "theory" need it.
      ties: to the "lowest" arm, or by an order of the arms that each run draws at "random"; static.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[m], the best first.

    Raises:
      ValueError: an argument is out of range; parts that need features are asked of the classical index; or
        `optimized` meets features that do not span their space.

    Source: Reda, Kaufmann, Delahaye-Duriez (2021), Top-m identification for linear bandits, AISTATS; Xu, Honda,
    Sugiyama (2018), A fully adaptive algorithm for pure exploration in linear bandits, AISTATS.
    """
    return gap_index_policy(
        "gifa",
        features,
        candidates=candidates,
        index=index,
        leader=leader,
        rule=rule,
        stop=stop,
        threshold=threshold,
        initial_pulls=initial_pulls,
        m=m,
        delta=delta,
        epsilon=epsilon,
        sigma=sigma,
        regularization=regularization,
        theta_norm=theta_norm,
        ties=ties,
    )
