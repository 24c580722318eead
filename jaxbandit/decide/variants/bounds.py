"""Bounds of a variant's mean, and of the difference of two means, for all numbers of visitors at once."""

import math
from typing import NamedTuple

import numpy as np

from jaxbandit.theory.comparisons import looks
from jaxbandit.theory.comparisons.pairs import radius
from jaxbandit.theory.proportions import rate_bounds
from jaxbandit.theory.solvers import student


class Kind(NamedTuple):
    """What outcomes are."""

    binary: bool  # 0 or 1
    low: float  # range, -inf and inf if it is unknown
    high: float

    @property
    def bounded(self) -> bool:
        """Whether the range is known."""
        return math.isfinite(self.high - self.low)


class Upper(NamedTuple):
    """Upper bounds of the mean of differences at several sample sizes, and whether it is ever negative for sure."""

    sizes: np.ndarray  # int64[looks]
    bounds: np.ndarray  # float64[looks], the least so far
    negative: bool
    most: float = math.inf  # the bound without any difference

    @property
    def last(self) -> float:
        """The bound at present."""
        return float(self.bounds[-1]) if len(self.bounds) else self.most


def upper(differences: np.ndarray, kind: Kind, alpha: float) -> Upper:
    """Return upper bounds of the mean of differences of outcomes.

    Args:
      differences: float64[n], in the order of arrival; at most what they would be if open outcomes were known.
      kind: what the outcomes are.
      alpha: probability with which some bound may be wrong.
    """
    n = len(differences)
    if not kind.bounded:
        sizes = looks.sample_sizes(n)
        bounds = normal_upper(differences, alpha)
        return Upper(sizes, bounds[sizes - 1], bool(n and bounds[-1] < 0))
    width = kind.high - kind.low
    if not n:
        return Upper(np.zeros(0, np.int64), np.zeros(0), False, width)
    sizes, bounds = looks.running_upper(differences / width, math.log(alpha))
    return Upper(sizes, width * bounds, looks.first_below(differences / width, 0.0, math.log(alpha)) is not None)


def normal_upper(values: np.ndarray, alpha: float) -> np.ndarray:
    """Return the least upper bound so far of the mean of normal numbers after each of them, float64[n]."""
    n = np.arange(1.0, len(values) + 1)
    if not len(values):
        return n
    center = values[0]
    means = np.cumsum(values - center) / n
    squares = np.maximum(np.cumsum((values - center) ** 2) - n * means**2, 0.0)
    size = np.maximum.accumulate(np.abs(values - center))
    r = radius(n, np.float64(math.log(alpha)))
    known = np.isfinite(r) & np.asarray(student.varies(squares, n, size))
    half = np.sqrt(squares / n) * np.where(known, r, 0.0)
    return np.minimum.accumulate(np.where(known, center + means + half, np.inf))


def mean_interval(low: np.ndarray, high: np.ndarray, kind: Kind, alpha: float) -> tuple[float, float]:
    """Return an interval of the mean outcome of one variant.

    Args:
      low: float64[n], outcomes in the order of arrival, with the least value where they are open.
      high: float64[n], the same with the largest value.
      kind: what the outcomes are.
      alpha: probability with which the mean may be outside at some time.
    """
    n = len(low)
    if not n:
        return kind.low, kind.high
    if kind.binary:
        return float(rate_bounds(low.sum(), n, alpha)[0]), float(rate_bounds(high.sum(), n, alpha)[1])
    if not kind.bounded:
        return -float(normal_upper(-low, alpha / 2)[-1]), float(normal_upper(high, alpha / 2)[-1])
    width = kind.high - kind.low
    above = looks.running_upper((high - kind.low) / width, math.log(alpha / 2))[1][-1]
    below = looks.running_upper((kind.high - low) / width, math.log(alpha / 2))[1][-1]
    return float(kind.high - width * below), float(kind.low + width * above)
