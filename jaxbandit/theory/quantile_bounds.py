"""Confidence sequences of a quantile, for any law of the scores: order statistics whose ranks are known in advance."""

import bisect
import functools
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from jaxbandit.base.arguments import OpenUnit, Whole
from jaxbandit.base.calls import checked
from jaxbandit.support.types import Scalar

_FIRST_SIZE = 256  # of a table, which doubles


class Ranks(NamedTuple):
    """Which order statistics bound a quantile, after each number of scores n = 0, 1, ..., count.

    Attributes:
      low: int64[count + 1]; the lower bound is the (low + 1)-th smallest score. -1 while there is no lower bound.
      high: int64[count + 1]; the upper bound is the high-th smallest score. n + 1 while there is no upper bound.
    """

    low: np.ndarray
    high: np.ndarray


@checked
def quantile_ranks(count: Whole, p: OpenUnit, alpha: OpenUnit) -> Ranks:
    """Return which order statistics bound the p-quantile, for up to `count` scores.

    One bound, upper or lower, may be wrong at any n with probability alpha.
    """
    return Ranks(np.arange(count + 1) - _first_high(count, 1 - p, alpha), _first_high(count, p, alpha))


@checked
def quantile_sequence(scores: Iterable[float], p: OpenUnit, alpha: OpenUnit) -> tuple[float, float]:
    """Return the bounds of the p-quantile of independent scores of one law, valid at any number of scores.

    The largest lower and the smallest upper bound of all prefixes count, each a score; -inf or inf while there is none.
    Where a bound would cross the other, which has a probability of at most 2 alpha, it ends there: low <= high. The
    quantile is any Q with P(X < Q) <= p <= P(X <= Q).
    """
    bounds = QuantileBounds(p, alpha)
    bounds.add(scores)
    return bounds.low, bounds.high


class QuantileBounds:
    """The bounds of `quantile_sequence` for scores that arrive one after the other.

    `crossed` says whether a bound would have crossed the other, so that one of them is false.
    """

    def __init__(self, p: Scalar, alpha: Scalar):
        """Begin without scores; the arguments are those of `quantile_sequence`."""
        self.low, self.high, self.crossed = -math.inf, math.inf, False
        self._p, self._alpha = p, alpha
        self._ordered: list[float] = []

    @property
    def ends(self) -> tuple[float, float]:
        """(low, high) as long as they can both be true, then (inf, -inf), between which nothing is."""
        return (math.inf, -math.inf) if self.crossed else (self.low, self.high)

    def add(self, scores: Iterable[float]) -> None:
        """Take further scores in the order in which they were observed."""
        observed = np.asarray(scores if isinstance(scores, np.ndarray) else list(scores), np.float64)
        ordered, before = self._ordered, len(self._ordered)
        ranks = quantile_ranks(before + len(observed), self._p, self._alpha)
        for n, score in enumerate(observed.tolist(), before + 1):
            if math.isnan(score):
                raise ValueError(f"quantile_sequence: scores[{n - 1}] = nan, must be a number")
            bisect.insort(ordered, score)
            if ranks.low[n] >= 0:
                self.crossed |= ordered[ranks.low[n]] > self.high
                self.low = min(max(self.low, ordered[ranks.low[n]]), self.high)
            if ranks.high[n] <= n:
                self.crossed |= ordered[ranks.high[n] - 1] < self.low
                self.high = max(min(self.high, ordered[ranks.high[n] - 1]), self.low)


def _first_high(count: int, p: Scalar, alpha: Scalar) -> np.ndarray:
    size = _FIRST_SIZE
    while size <= count:
        size *= 2
    return _high(size, float(p), float(alpha))[: count + 1]


@functools.lru_cache(maxsize=256)
def _high(size: int, p: float, alpha: float) -> np.ndarray:
    """Return hi_n for n < size, n + 1 while there is none, by the recursion in docs/mathematics.md."""
    edge = alpha * math.sqrt(p * (1 - p)) / (2 * math.asin(math.sqrt(1 - p)))
    ranks = np.zeros(size, np.int64)
    rank, level = 0, alpha  # alpha E(n, rank); below 1 as long as n of n are not enough, when rank = n
    for n in range(size):
        ranks[n] = rank if level >= 1 else n + 1
        same = ((n - rank + 0.5) * level - edge) / ((n + 1) * (1 - p))
        if same >= 1:
            level = same
        else:
            level = ((rank + 0.5) * level + edge) / ((n + 1) * p)
            rank += 1
    ranks.flags.writeable = False
    return ranks
