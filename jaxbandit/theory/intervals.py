"""Confidence intervals for samples of a fixed size, and the correction for several intervals at once.

Means have Student intervals: the mean of many runs is close to normal, and with few runs the t quantile accounts for
the estimated variance. Rates have the exact interval of Clopper and Pearson (1934), and the difference of two means
with unequal variances has that of Welch (1947).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special  # scipy.stats gives the same numbers but takes a third of a second longer to import

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """An estimate, its standard error and its two-sided interval, as scalars or as arrays of one shape."""

    value: Any
    se: Any
    low: Any
    high: Any


def student(mean: ArrayLike, variance: ArrayLike, runs: int, confidence: float = CONFIDENCE) -> Interval:
    """Return the Student interval of a mean, given the sample mean and the unbiased variance of `runs` >= 2 runs."""
    _check(runs, confidence)
    mean, variance = np.asarray(mean, np.float64), np.asarray(variance, np.float64)
    se = np.sqrt(variance / runs)
    half = special.stdtrit(runs - 1, (1 + confidence) / 2) * se
    return Interval(mean, se, mean - half, mean + half)


def student_of(values: ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """Return the Student interval of the mean of independent `values`, float[runs]."""
    values = np.asarray(values, np.float64)
    return student(values.mean(), values.var(ddof=1) if len(values) > 1 else 0.0, len(values), confidence)


def welch(
    mean_a: float,
    variance_a: float,
    runs_a: int,
    mean_b: float,
    variance_b: float,
    runs_b: int,
    confidence: float = CONFIDENCE,
) -> Interval:
    """Return Welch's interval of mean_a - mean_b for two independent samples."""
    _check(min(runs_a, runs_b), confidence)
    part_a, part_b = variance_a / runs_a, variance_b / runs_b
    total = part_a + part_b
    difference, se = mean_a - mean_b, float(np.sqrt(total))
    if total == 0:
        return Interval(difference, 0.0, difference, difference)
    freedom = total**2 / (part_a**2 / (runs_a - 1) + part_b**2 / (runs_b - 1))
    half = float(special.stdtrit(freedom, (1 + confidence) / 2)) * se
    return Interval(difference, se, difference - half, difference + half)


def clopper_pearson(hits: ArrayLike, trials: int, confidence: float = CONFIDENCE) -> Interval:
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
