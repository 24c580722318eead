"""Gaussian arms with an unknown variance each, compared for Track-and-Stop and the top-two rules.

Jourdan, Degenne and Kaufmann (2023), Dealing with unknown variances in best-arm identification. The threshold
"interval" is original to this library and uses the confidence sequences of Wang and Ramdas (2023).
"""

import math
from typing import Literal

import jax.numpy as jnp

from jaxbandit.algorithms.best_arm.comparison import ArmStatistics, Comparison, known_family
from jaxbandit.algorithms.best_arm.thresholds import ThresholdName
from jaxbandit.base.contract import Rewards
from jaxbandit.support.numerics import as_float, get_at, log
from jaxbandit.support.types import Array, FamilyName, Scalar
from jaxbandit.theory.solvers import student
from jaxbandit.theory.solvers.optimal_weights import gaussian_weights

LawName = Literal[FamilyName, "student"]
LawThreshold = Literal[ThresholdName, "interval", "tbox", "evbox"]
_THRESHOLDS = ("heuristic", "interval", "tbox", "evbox")


def comparison(
    name: LawName, threshold: LawThreshold | None, num_arms: int, delta: Scalar, sigma: Scalar
) -> Comparison:
    """Return the comparison for a one-parameter family, or for Gaussian arms with unknown variances ("student").

    Without a threshold, it is the smallest proved one.
    """
    if name == "student":
        return unknown_variance(threshold or "interval", num_arms, delta)
    return known_family(name, threshold, num_arms, delta, sigma)  # pyright: ignore[reportArgumentType]


def unknown_variance(threshold: str, num_arms: int, delta: Scalar) -> Comparison:
    """Return the comparison of Gaussian arms with unknown variances.

    Z_aj is `student.exact_statistic`, or `student.plug_in_statistic` for "evbox"; it is 0 while one of the two
    empirical variances is 0. The thresholds are: "heuristic", log((1 + log t) / delta), without a proof; "tbox", G(n_a)
    + G(n_j) from the t-test martingale; "evbox", from separate boxes for means and variances, which is very loose; and
    "interval", which instead requires the intervals of `student_race` for the two means to be disjoint. The last three
    are proved, and "interval" never stops later than "tbox" at the same delta.

    Returns:
      A Comparison, whose posterior is that under the prior 1/sigma. Arms are compared after 3 pulls of each, or 10 with
      "heuristic" and "evbox", whose statistic is too large while three rewards happen to be close together.
    """
    if threshold not in _THRESHOLDS:
        raise ValueError(f"threshold = {threshold!r}, must be one of {', '.join(_THRESHOLDS)} with family = 'student'")
    statistic = student.plug_in_statistic if threshold == "evbox" else student.exact_statistic

    def evidence(arms: ArmStatistics, a: Array) -> Array:
        n, v = _pulls(arms), _variances(arms)
        return statistic(get_at(arms.means, a), get_at(v, a), get_at(n, a), arms.means, v, n)

    def level(arms: ArmStatistics, a: Array, pulls: Array) -> Array:
        n = _pulls(arms)
        if threshold == "heuristic":
            return jnp.full_like(n, log(1 + log(as_float(jnp.maximum(pulls, 1)))) - log(as_float(delta)))
        log_alpha = jnp.log(as_float(delta)) - math.log(num_arms)
        c2 = student.default_c2(log_alpha)
        if threshold == "interval":
            v = _variances(arms)
            ratio = student.squared_radius(n, student.one_sided(n, log_alpha, c2), c2)
            radius = jnp.sqrt(jnp.where(v > 0, v, 1.0) * ratio)
            apart = get_at(arms.means, a) - get_at(radius, a) > arms.means + radius
            return jnp.where(apart, 0.0, jnp.inf)  # there the evidence is above 0 unless a variance is 0
        share = student.evbox(n, num_arms, delta) if threshold == "evbox" else student.tbox(n, log_alpha, c2)
        return get_at(share, a) + share

    def weights(arms: ArmStatistics) -> Array:
        v = _variances(arms)
        known = jnp.where(v > 0, v, jnp.max(v))
        return gaussian_weights(arms.means, jnp.where(known > 0, known, 1.0)).weights

    def split(arms: ArmStatistics, a: Array, j: Array) -> Array:
        """Return the fraction for known variances, to which the empirical variances converge."""
        n, v = _pulls(arms), _variances(arms)
        of_a, of_j = get_at(v, a) * get_at(n, j), get_at(v, j) * get_at(n, a)
        decided = (get_at(arms.means, a) > get_at(arms.means, j)) & (of_a > 0) & (of_j > 0)
        return jnp.where(decided, of_a / jnp.where(decided, of_a + of_j, 1.0), 0.5)

    return Comparison(
        evidence=evidence,
        level=level,
        weights=weights,
        split=split,
        proved=threshold != "heuristic",
        rewards=Rewards(),
        assumptions=("the rewards of each arm are normal; rare events that have not occurred yet break the guarantee",),
        deviations=lambda arms: jnp.sqrt(_variances(arms)),
        draw=lambda words, arms: student.posterior_draw(words, _pulls(arms), arms.means, _variances(arms)),
        first=3 if threshold in ("interval", "tbox") else 10,
        invariant=True,
        squares=True,
    )


def _pulls(arms: ArmStatistics) -> Array:
    """Return the counts as floats, at least 1. Arms without a pull are never compared."""
    return as_float(jnp.maximum(arms.counts, 1))


def _variances(arms: ArmStatistics) -> Array:
    """Return the variances with divisor n, float[num_arms]; 0 if the rewards differ by no more than rounding errors."""
    squares, n = arms.squares, _pulls(arms)
    assert squares is not None and arms.first is not None
    rounding = student.resolution(squares, jnp.abs(arms.first + arms.means))  # of each reward, before the sums
    varies = student.varies(squares, n, jnp.abs(arms.means)) & (squares > n * rounding * rounding)
    return jnp.where(varies, squares / n, 0.0)
