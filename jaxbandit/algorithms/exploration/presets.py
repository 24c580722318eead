"""Published gap-index algorithms: LUCB, UGapE, LinGapE, m-LinGapE and LinGIFA, as parts of one family.

Reda, Kaufmann, Delahaye-Duriez (2021), Table 1; Kalyanakrishnan et al. (2012); Gabillon et al. (2012); Xu, Honda,
Sugiyama (2017), Algorithm 1. What differs from the papers is said in gap_index_policy.py; UGapE's beta is LUCB's here.
"""

from typing import Any, Literal

import numpy as np

from jaxbandit import checks
from jaxbandit.algorithms.exploration.gap_index_policy import Threshold, Ties, gap_index_policy
from jaxbandit.algorithms.exploration.gap_indices import Stop
from jaxbandit.base import Algorithm
from jaxbandit.types import ArrayLike, Scalar

ClassicalThreshold = Literal["lucb1", "heuristic"]


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
    """Return LUCB: the m largest empirical means against the arm outside that may yet beat the weakest of them.

    Args:
      num_arms: number of arms, >= 2, static.
      m: number of arms to find, in [1, num_arms - 1], static.
      rule: pull the one of the two arms with fewer pulls ("largest_variance", as 2021 does), or "both" of them before
        stopping is looked at again (the original of 2012); static.
      threshold: "lucb1", proved for 2012's order, or "heuristic", without a guarantee; static.
      delta: allowed error rate, in (0, 1), traced.
      epsilon: tolerated shortfall of a mean, >= 0, traced.
      sigma: sub-Gaussian scale of the rewards' noise, > 0, traced.
      ties: to the "lowest" arm, or by an order of the arms that each run draws at "random"; static.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[m], the best first.

    Raises:
      ValueError: an argument is out of range.

    Source: Kalyanakrishnan, Tewari, Auer, Stone (2012), PAC subset selection in stochastic multi-armed bandits, ICML.
    """
    num_arms = checks.integer("lucb", "num_arms", num_arms, 2)
    return gap_index_policy(
        "lucb",
        _unrelated(num_arms),
        index="classical",
        rule=rule,
        threshold=threshold,
        m=m,
        delta=delta,
        epsilon=epsilon,
        sigma=sigma,
        ties=ties,
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
    """Return UGapE: candidates by the smallest bound of what they may lack, and the less pulled of two arms.

    Args, Returns, Raises: as `lucb`, without a rule.

    Source: Gabillon, Ghavamzadeh, Lazaric (2012), Best arm identification: a unified approach, NIPS.
    """
    num_arms = checks.integer("ugape", "num_arms", num_arms, 2)
    return gap_index_policy(
        "ugape",
        _unrelated(num_arms),
        candidates="ugape",
        index="classical",
        rule="largest_variance",
        stop="ugape",
        threshold=threshold,
        m=m,
        delta=delta,
        epsilon=epsilon,
        sigma=sigma,
        ties=ties,
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
    """Return LinGapE, which finds the best arm of a linear bandit: m-LinGapE with m = 1 and the threshold "det".

    Args:
      features: float[num_arms, dim], finite, traced; num_arms >= 2.
      rule: what is pulled to tell two arms apart: "greedy" (2017, equation 9), "optimized" (equation 12) or the one of
        the two with the "largest_variance"; static.
      threshold: "det" (2017, equation 3) and "theory" are proved, "heuristic" and "lucb1" are not; static.
      delta: allowed error rate, in (0, 1), traced.
      epsilon: tolerated shortfall of a mean, >= 0, traced.
      sigma: sub-Gaussian scale of the rewards' noise, > 0, traced.
      regularization: lambda > 0, traced.
      theta_norm: S >= 0, a bound of ||theta||, traced; "det" and "theory" need it.
      ties: to the "lowest" arm, or by an order of the arms that each run draws at "random"; static.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[1].

    Raises:
      ValueError: an argument is out of range, or `optimized` meets features that do not span their space.

    Source: Xu, Honda, Sugiyama (2018), A fully adaptive algorithm for pure exploration in linear bandits, AISTATS.
    """
    checks.choice("lingape", "rule", rule, ("greedy", "optimized", "largest_variance"))
    return gap_index_policy(
        "lingape",
        features,
        rule=rule,
        threshold=threshold,
        m=1,
        delta=delta,
        epsilon=epsilon,
        sigma=sigma,
        regularization=regularization,
        theta_norm=theta_norm,
        ties=ties,
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
    """Return m-LinGapE, which finds the m best arms of a linear bandit.

    Args:
      m: number of arms to find, in [1, num_arms - 1], static.
      features, rule, threshold, delta, epsilon, sigma, regularization, theta_norm, ties: as in `lingape`.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[m], the best first.

    Raises:
      ValueError: an argument is out of range, or `optimized` meets features that do not span their space.

    Source: Reda, Kaufmann, Delahaye-Duriez (2021), Top-m identification for linear bandits, AISTATS.
    """
    checks.choice("m_lingape", "rule", rule, ("greedy", "optimized", "largest_variance"))
    return gap_index_policy(
        "m_lingape",
        features,
        rule=rule,
        threshold=threshold,
        m=m,
        delta=delta,
        epsilon=epsilon,
        sigma=sigma,
        regularization=regularization,
        theta_norm=theta_norm,
        ties=ties,
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
    """Return LinGIFA, which finds the m best arms of a linear bandit by gap indices alone, with no initial pulls.

    Args:
      m: number of arms to find, in [1, num_arms - 1], static.
      rule: pull the one of two arms with the "largest_variance", or the arm that is "greedy" best for both; static.
      index: width of a difference of features ("paired"), or the sum of two arms' widths ("individual"); static.
      stop: when max_{j in J} max^m_{i != j} B_ij <= epsilon ("ugape"), or when B_cb <= epsilon ("lucb"); static.
      features, threshold, delta, epsilon, sigma, regularization, theta_norm, ties: as in `lingape`.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[m], the best first.

    Raises:
      ValueError: an argument is out of range.

    Source: Reda, Kaufmann, Delahaye-Duriez (2021), Top-m identification for linear bandits, AISTATS.
    """
    checks.choice("lingifa", "rule", rule, ("largest_variance", "greedy"))
    checks.choice("lingifa", "index", index, ("paired", "individual"))
    return gap_index_policy(
        "lingifa",
        features,
        candidates="ugape",
        index=index,
        leader="ugape",
        rule=rule,
        stop=stop,
        threshold=threshold,
        initial_pulls=False,
        m=m,
        delta=delta,
        epsilon=epsilon,
        sigma=sigma,
        regularization=regularization,
        theta_norm=theta_norm,
        ties=ties,
    )


def _unrelated(num_arms: int) -> Any:
    """Features of arms that say nothing of each other; the classical index takes only their number."""
    return np.eye(num_arms)
