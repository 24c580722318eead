"""Confidence intervals for samples of a fixed size, and the correction for several intervals at once.

Rates have the exact interval of Clopper and Pearson (1934), and differences of means that of Welch (1947). An interval
never has the width 0 because all runs happen to be equal: what such runs do not exclude is in it.
"""

from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.support import special

CONFIDENCE = 0.95
NO_LIMITS = (-np.inf, np.inf)


T = TypeVar("T", covariant=True)


class Interval(NamedTuple, Generic[T]):
    """An estimate, its standard error and its two-sided interval, as floats or as arrays of one shape."""

    value: T
    se: T
    low: T
    high: T


def student(
    mean: ArrayLike,
    variance: ArrayLike,
    runs: int,
    confidence: float = CONFIDENCE,
    limits: tuple[ArrayLike, ArrayLike] = NO_LIMITS,
) -> Interval[Any]:
    """Return the Student interval of a mean, cut off at its limits.

    If the variance is 0, a share 1 - ((1 - confidence) / 2)^(1/runs) of all runs may still differ from these, in each
    direction: the interval contains what they could be, up to the limits. Without limits it is infinite.

    Args:
      mean: the sample mean, or one for each of several quantities.
      variance: the unbiased variance of the same shape.
      runs: number of runs, >= 2.
      confidence: confidence level, in (0, 1).
      limits: the smallest and the largest possible value of a run.
    """
    _check(runs, confidence)
    mean, variance = np.asarray(mean, np.float64), np.asarray(variance, np.float64)
    least, most = (np.asarray(limit, np.float64) for limit in limits)
    se = np.sqrt(variance / runs)
    half = special.stdtrit(runs - 1, (1 + confidence) / 2) * se
    unseen = 1 - ((1 - confidence) / 2) ** (1 / runs)
    below, above = (np.where(variance == 0, unseen * room, half) for room in (mean - least, most - mean))
    return Interval(mean, se, np.maximum(mean - below, least), np.minimum(mean + above, most))


def student_of(
    values: ArrayLike, confidence: float = CONFIDENCE, limits: tuple[ArrayLike, ArrayLike] = NO_LIMITS
) -> Interval[Any]:
    """Return the Student interval of the mean of independent `values`, float[runs], as `student` does."""
    values = np.asarray(values, np.float64)
    alike = not len(values) or bool(np.all(values == values[0]))  # the variance of equal numbers is 0 up to rounding
    return student(values.mean(), 0.0 if alike else values.var(ddof=1), len(values), confidence, limits)


def enough_runs(values: ArrayLike) -> tuple[float, float]:
    """Return the skewness of `values`, float[runs], and the number of runs from which Student's interval is right.

    That is 25 times the square of the skewness, (0, 0) if all values are equal.

    Source: Cochran (1977), "Sampling Techniques", third edition, section 2.15.
    """
    values = np.asarray(values, np.float64)
    if not len(values) or np.all(values == values[0]):
        return 0.0, 0.0
    centered = values - values.mean()
    skewness = float(np.mean(centered**3) / np.mean(centered**2) ** 1.5)
    return skewness, 25 * skewness**2


def welch(
    mean_a: float,
    variance_a: float,
    runs_a: int,
    mean_b: float,
    variance_b: float,
    runs_b: int,
    confidence: float = CONFIDENCE,
) -> Interval[float]:
    """Return Welch's interval of mean_a - mean_b for two independent samples; infinite if both variances are 0."""
    _check(min(runs_a, runs_b), confidence)
    part_a, part_b = variance_a / runs_a, variance_b / runs_b
    total = part_a + part_b
    difference, se = mean_a - mean_b, float(np.sqrt(total))
    if total == 0:
        return Interval(difference, 0.0, -np.inf, np.inf)
    freedom = total**2 / (part_a**2 / (runs_a - 1) + part_b**2 / (runs_b - 1))
    half = float(special.stdtrit(freedom, (1 + confidence) / 2)) * se
    return Interval(difference, se, difference - half, difference + half)


def independent(a: Interval[float], b: Interval[float]) -> Interval[float]:
    """Return the interval of the difference a - b of two independent estimates from the interval of each.

    Source: Newcombe (1998), "Interval estimation for the difference between independent proportions", method 10.
    """
    below = float(np.hypot(a.value - a.low, b.high - b.value))
    above = float(np.hypot(a.high - a.value, b.value - b.low))
    difference = float(a.value - b.value)
    return Interval(difference, float(np.hypot(a.se, b.se)), difference - below, difference + above)


def quantile_ranks(level: float, runs: int, confidence: float = CONFIDENCE) -> tuple[int, int]:
    """Return the ranks, from 1, of the order statistics of `runs` runs between which a quantile lies.

    Each of the two errors has at most probability (1 - confidence) / 2, for every distribution. A rank of 0 or of runs
    + 1 says that these are too few runs for a limit on this side. Censored runs, which exceed all others, count with
    the last ranks.

    Args:
      level: level of the quantile, in (0, 1).
      runs: number of runs, >= 1.
      confidence: confidence level, in (0, 1).
    """
    tail = (1 - confidence) / 2
    at_most = special.bdtr(np.arange(runs + 1), runs, level)  # the probability of 0, 1, ..., runs
    return int(np.sum(at_most <= tail)), int(np.sum(at_most < 1 - tail)) + 1


def clopper_pearson(hits: ArrayLike, trials: int, confidence: float = CONFIDENCE) -> Interval[Any]:
    """Return the exact interval of a rate or of each of several rates; its coverage is at least `confidence`."""
    if trials < 1 or not np.all((np.asarray(hits) >= 0) & (np.asarray(hits) <= trials)):
        raise ValueError(
            f"clopper_pearson: hits = {hits} of trials = {trials}, must be 0 <= hits <= trials, trials >= 1"
        )
    tail, k = (1 - confidence) / 2, np.asarray(hits, np.float64)
    low = np.where(k > 0, special.betaincinv(np.maximum(k, 1), trials - k + 1, tail), 0.0)
    high = np.where(k < trials, special.betaincinv(k + 1, np.maximum(trials - k, 1), 1 - tail), 1.0)
    rate = k / trials
    se = np.sqrt(rate * (1 - rate) / trials)
    return Interval(rate, se, low, high) if k.ndim else Interval(*map(float, (rate, se, low, high)))


def bonferroni(confidence: float, statements: int) -> float:
    """Return the level that each of `statements` intervals needs so that all of them hold jointly at `confidence`."""
    return 1 - (1 - confidence) / max(statements, 1)


def _check(runs: int, confidence: float) -> None:
    if runs < 2:
        raise ValueError(f"interval: runs = {runs}, must be at least 2")
    if not 0 < confidence < 1:
        raise ValueError(f"interval: confidence = {confidence}, must be in (0, 1)")
