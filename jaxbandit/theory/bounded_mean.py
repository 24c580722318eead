"""Intervals for the mean of a bounded variable, which hold however skewed it is or however many runs tie."""

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.support import special
from jaxbandit.theory.intervals import CONFIDENCE, Interval, student_of

_STEPS = 50  # of a bisection over [0, _FARTHEST], to 1e-13
_FARTHEST = 80.0


def bounded_mean(values: ArrayLike, least: float, most: float, confidence: float = CONFIDENCE) -> Interval[float]:
    """Return the interval of the mean of independent `values` in [least, most], float[runs], runs >= 1.

    The upper end is the quantile of level (1 + confidence) / 2 of sum_i W_i x_i, where x holds the values and `most`,
    and the weights W are uniform on the simplex; the lower end has `least` instead of `most`. The quantile is Lugannani
    and Rice's saddlepoint approximation, too far outside by at most half a percent of [least, most].

    Guarantee: coverage of at least `confidence` is proved for two-valued variables, and conjectured for all bounded
    ones.

    Source: Gaffke (2005), "Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
    variable"; Learned-Miller and Thomas (2020), "A new confidence interval for the mean of a bounded random variable".
    """
    values = np.asarray(values, np.float64)
    inside = len(values) and np.isfinite([least, most]).all() and least <= values.min() and values.max() <= most
    if not inside or not 0 < confidence < 1:
        raise ValueError(
            f"bounded_mean: {len(values)} values at confidence = {confidence}, must be at least 1 value, all in "
            f"[{least:g}, {most:g}], and a confidence in (0, 1)"
        )
    mean, width = float(values.mean()), float(most) - float(least)
    se = float(values.std(ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 0.0
    if width == 0:
        return Interval(mean, se, mean, mean)
    tail = (1 - confidence) / 2
    points, counts = np.unique((values - least) / width, return_counts=True)
    if len(points) == 1:  # the weight of the bound has then a beta distribution
        unseen = 1 - tail ** (1 / len(values))
        return Interval(mean, se, mean - unseen * (mean - least), mean + unseen * (most - mean))
    high = least + width * _upper(points, counts, tail)
    low = most - width * _upper(1 - points, counts, tail)
    # An end is the mean itself up to rounding, where runs are at a bound.
    return Interval(mean, se, min(low, mean), max(high, mean))


def bounded_within(values: np.ndarray, least: float, most: float, confidence: float = CONFIDENCE) -> Interval[float]:
    """Return the interval of `bounded_mean` for values up to `most` and the rounding of float32.

    If `most` is infinite or a value is above it by more, such as a sum over a set of arms where `most` is the gap of
    one, it is Student's, which is infinite upwards if all values are equal or there is only one.
    """
    if np.isfinite(most) and values.max() <= most * (1 + 1e-6):
        return bounded_mean(np.minimum(values, most), least, most, confidence)
    if len(values) < 2:
        return Interval(float(values[0]), 0.0, least, np.inf)
    return Interval(*map(float, student_of(values, confidence, (least, np.inf))))


def _upper(points: np.ndarray, counts: np.ndarray, tail: float) -> float:
    """Return t with P(sum_i W_i x_i > t) = tail, for the points in [0, 1] with these counts, and 1 once more."""
    x, n = np.append(points, 1.0), np.append(counts, 1.0)
    wanted = special.ndtri(1 - tail)
    low, high, t = 0.0, _FARTHEST, 1.0
    for _ in range(_STEPS):
        u = (low + high) / 2
        shrunk = np.exp(-u)
        slack = (1 - x) + x * shrunk  # 1 - a x without cancellation
        weights = n / slack
        t = min(float(weights @ x / weights.sum()), 1.0)  # above 1 it is rounding
        own = (1 - t) + t * shrunk
        relative = slack / own
        exponent = float(n @ np.log(relative))  # minus the cumulant function at the saddlepoint
        root = np.sqrt(max(2 * exponent, 0.0))
        scaled = -np.expm1(-u) * np.sqrt(n @ ((x - t) / slack) ** 2)
        enough = root > 0 and scaled > 0 and root + np.log(scaled / root) / root >= wanted
        low, high = (low, u) if enough else (u, high)
    return t
