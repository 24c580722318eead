"""Intervals of the ratio of two means, from pairs, for all sample sizes at once.

A ratio r is not excluded as long as the mean of x - r y may be 0. Source: Fieller (1954), "Some problems in interval
estimation".
"""

import math

import numpy as np

from jaxbandit.theory.comparisons import asymptotic
from jaxbandit.theory.comparisons.betting import STAKES, log_mixture
from jaxbandit.theory.comparisons.looks import on_grid

_HALVINGS = 50  # of the logarithm of a ratio
_LARGEST = 2.0**40  # a ratio that is not excluded is taken as unbounded


def largest_ratio(one: np.ndarray, other: np.ndarray, log_alpha: float) -> float:
    """Return the upper bound of E[one] / E[other] by bets, inf if no ratio is excluded.

    It is wrong at some sample size with probability alpha at most, and is never below the ratio of the averages.

    Args:
      one: float64[n] in [0, 1], the numerators of pairs.
      other: float64[n] in [0, 1], the denominators.
    """
    return _largest(one, other, log_alpha)


def least_ratio(one: np.ndarray, other: np.ndarray, log_alpha: float) -> float:
    """Return the lower bound of E[one] / E[other], as `largest_ratio`; 0 if no ratio is excluded."""
    return 1 / _largest(other, one, log_alpha)


def _largest(one: np.ndarray, other: np.ndarray, log_alpha: float) -> float:
    """Return the largest r for which bets against E[one - r other] >= 0 have not won 1/alpha."""
    (x, at_x, right_x), (y, at_y, right_y) = on_grid(one), on_grid(other)
    weight = np.zeros((len(x), len(y)))
    for i, share_x in ((at_x, 1 - right_x), (at_x + 1, right_x)):
        for j, share_y in ((at_y, 1 - right_y), (at_y + 1, right_y)):
            both = share_x * share_y
            some = both > 0
            np.add.at(weight, (i[some], j[some]), both[some])
    i, j = np.nonzero(weight)
    x, y, counts = x[i], y[j], weight[i, j]

    def is_excluded(ratio: float) -> bool:
        logs = np.log1p(-STAKES * (x - ratio * y)[:, None])
        return bool(log_mixture(counts @ logs) >= -log_alpha)

    low, high = 1 / _LARGEST, _LARGEST
    if not is_excluded(high):
        return math.inf
    if is_excluded(low):
        return low
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if is_excluded(middle) else (middle, high)
    return high


def normal_lift(
    difference: float, base: float, one: np.ndarray, other: np.ndarray, log_alpha: float
) -> tuple[float, float]:
    """Return bounds of the ratio of two means, less 1, in the limit of large samples; infinite if the second may be 0.

    A lift L is not excluded as long as the mean of x - y - L y may be 0, so that means which are much larger than their
    difference cost no digits.

    Args:
      difference: the numerator minus the denominator.
      base: the denominator.
      one: float64[n], of each pair what it contributes to the numerator, up to a constant.
      other: float64[n], the same of the denominator.
      log_alpha: the log of the probability with which each bound may be wrong at some sample size.
    """
    r2 = float(asymptotic.radius(np.array([len(one)]), log_alpha)[0]) ** 2
    dd, dy, _, yy = (r2 * np.cov(one - other, other, bias=True)).ravel().tolist()
    lead, half = base * base - yy, base * difference - dy  # of lead L^2 - 2 half L + difference^2 - dd <= 0
    if not (lead > 0 and base > 0):
        return -math.inf, math.inf
    # half^2 - lead (difference^2 - dd) without the terms that cancel.
    square = base * base * dd - 2 * base * difference * dy + difference * difference * yy - (yy * dd - dy * dy)
    root = math.sqrt(max(square, 0.0))
    return (half - root) / lead, (half + root) / lead
