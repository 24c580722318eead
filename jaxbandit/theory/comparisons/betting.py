"""Paired comparisons of bounded scores without any other assumption, by bets whose stakes are constant.

Only the mean of a difference given the past is used, and rows may be in any order. If the mean of the sample rises
above the least of these bounds, the bound of the whole sample is stated. docs/mathematics.md has the proof.
"""

import math
from collections.abc import Callable

import numpy as np

from jaxbandit.theory.comparisons.pairs import PairRows

STAKES = 0.98 * 2.0 ** (-np.arange(16) / 2)
_WEIGHTS = 1 / ((np.arange(16) + 1.0) * (np.arange(16) + 2.0))
LOG_WEIGHTS = np.log(_WEIGHTS / _WEIGHTS.sum())
_HALVINGS = 40  # of (-1, 1)
_FEW = 64  # distinct differences, of which long samples are counted
_LONG = 512  # sample size from which on, for few distinct differences, not every prefix is looked at
_RATIO = 1.01  # of two successive sample sizes that are looked at then
_CERTAIN = 1e6  # log wealth of a bet against what is impossible
MOST_ARMS = 1000  # whose pairs are compared: 16 numbers for each pair


def mixture_upper(differences: np.ndarray, alpha: float, *, min_size: int = 1, pool: int | None = None) -> float:
    """Return the least over all prefixes of the upper bound of the mean of the differences, in (-1, 1].

    Args:
      min_size: the shortest prefix that is looked at; the bound is 1 if there is none.
      pool: number of all differences, of which these were drawn without replacement, and whose mean is bounded: bets
        are against the mean of those that are left (Waudby-Smith and Ramdas 2020, Confidence sequences for sampling
        without replacement). It is their mean once all are known.
    """
    if pool is not None and len(differences) == pool:
        return math.fsum(differences) / pool
    enough, largest = -math.log(alpha), _largest_wealth(np.asarray(differences, np.float64), max(min_size, 1), pool)
    low, high = -1.0, 1.0
    for _ in range(_HALVINGS if len(differences) else 0):
        middle = (low + high) / 2
        low, high = (low, middle) if largest(middle) >= enough else (middle, high)
    return high


def stated_upper(differences: np.ndarray, alpha: float, *, min_size: int = 1, pool: int | None = None) -> float:
    """Return the bound of `mixture_upper`, or that of the whole sample alone if it were below the sample's mean."""
    bound = mixture_upper(differences, alpha, min_size=min_size, pool=pool)
    return _not_below_mean(bound, differences, alpha, min_size, pool)


def _not_below_mean(
    bound: float, differences: np.ndarray, alpha: float, min_size: int = 1, pool: int | None = None
) -> float:
    if not len(differences) or len(differences) == pool or bound >= np.mean(differences):
        return bound
    return mixture_upper(differences, alpha, min_size=max(min_size, len(differences)), pool=pool)


def stated_interval(shares: np.ndarray, alpha: float, pool: int | None = None) -> tuple[float, float]:
    """Return an interval of the mean of scores in [0, 1], each end false with probability alpha at most.

    It has the mean of the sample. If bounds of two times exclude each other, it is (inf, -inf): one of them is false.
    """
    if pool is not None and len(shares) == pool:
        return math.fsum(shares) / pool, math.fsum(shares) / pool
    below, high = mixture_upper(1 - shares, alpha, pool=pool), mixture_upper(shares, alpha, pool=pool)
    if 1 - below > high:
        return math.inf, -math.inf
    low = 1 - _not_below_mean(below, 1 - shares, alpha, pool=pool)
    return low, _not_below_mean(high, shares, alpha, pool=pool)


def _largest_wealth(differences: np.ndarray, min_size: int, pool: int | None = None) -> Callable[[float], float]:
    """Return the largest log wealth over the prefixes of a sample, as a function of the mean."""
    n, first, counts = len(differences), min_size - 1, None
    if pool is not None:
        left, before = pool - np.arange(n), np.cumsum(differences) - differences

        def wealth(mean: float) -> float:
            logs = _of_pool(differences, (pool * mean - before) / left)
            sums = np.cumsum(logs, axis=0)[first:]
            return float(log_mixture(sums).max()) if len(sums) else -math.inf

        return wealth
    values, places = np.unique(differences, return_inverse=True)
    if n > _LONG and len(values) <= _FEW:
        looks = [_LONG]
        while looks[-1] < n:
            looks.append(min(max(int(looks[-1] * _RATIO), looks[-1] + 1), n))
        looks = np.concatenate([np.arange(1, _LONG), looks])
        ones = np.zeros((len(looks), len(values)))
        np.add.at(ones, (np.searchsorted(looks, np.arange(1, n + 1)), places), 1.0)
        counts, differences, first = np.cumsum(ones, axis=0), values, int(np.searchsorted(looks, min_size))

    def largest(mean: float) -> float:
        logs = np.log1p(STAKES * ((mean - differences) / (1 - mean))[:, None])
        sums = (np.cumsum(logs, axis=0) if counts is None else counts @ logs)[first:]
        return float(log_mixture(sums).max()) if len(sums) else -math.inf

    return largest


def _of_pool(differences: np.ndarray, means: np.ndarray) -> np.ndarray:
    """The log of what each stake wins of differences whose means are at least these; inf if no mean is so large."""
    means = np.maximum(means, -1.0)
    possible = means < 1
    shares = (means - differences) / np.where(possible, 1 - means, 1.0)
    return np.where(possible[..., None], np.log1p(STAKES * np.where(possible, shares, 0.0)[..., None]), _CERTAIN)


def log_mixture(log_wealth: np.ndarray, log_weights: np.ndarray = LOG_WEIGHTS) -> np.ndarray:
    """Return the log of the mixture of the wealth of all stakes, along the last axis."""
    weighted = log_wealth + log_weights
    most = weighted.max(axis=-1)
    return most + np.log(np.exp(weighted - most[..., None]).sum(axis=-1))


class BoundedDifferences(PairRows):
    """Upper bounds of the mean of D = X_l - X_i for all pairs of arms, if all scores are in [low, high]."""

    def __init__(
        self,
        num_arms: int,
        log_alpha: np.ndarray | float,
        width: float,
        *,
        first: np.ndarray | int = 0,
        min_size: int = 1,
        pool: int | None = None,
    ):
        """Begin without scores; a `pool` has that many rows, as in `mixture_upper`, in a random order."""
        super().__init__(num_arms, first, pool)
        shape = num_arms, num_arms
        self._log_wealth = np.zeros((*shape, len(STAKES)))  # at [l, i] of bets against mu_l >= mu_i
        self._claims = np.zeros(shape, bool)  # at any time
        self._totals = np.zeros(shape)  # of the differences
        self._first = np.broadcast_to(self._first, shape)
        self._enough = -np.broadcast_to(np.asarray(log_alpha, np.float64), shape)
        self._width, self._min_size = width, min_size

    def _enter_pairs(self, row: int, one: np.ndarray, other: np.ndarray, scores: np.ndarray) -> None:
        at = np.ix_(one, other)
        due = (self._next[at] == row) & (one[:, None] != other)
        apart = scores[one][:, None] - scores[other]
        if self.pool is None:
            logs = np.log1p(-STAKES * ((apart / self._width)[..., None]))
        else:
            logs = _of_pool(apart / self._width, -self._totals[at] / self._width / max(self.pool - row, 1))
        self._log_wealth[at] += np.where(due[..., None], logs, 0.0)
        self._totals[at] += np.where(due, apart, 0.0)
        self._next[at] += due
        due &= self._next[at] - self._first[at] >= self._min_size
        self._claims[at] |= due & (log_mixture(self._log_wealth[at]) >= self._enough[at])
        if row + 1 == self.pool:
            self._totals[at] = np.where(due, self._sums(one, other), self._totals[at])
            self._claims[at] |= due & (self._totals[at] < 0)

    def upper(self, arm: int) -> np.ndarray:
        """Return the upper bounds of mu_l - mu_arm for all l, float64[K]; 0 for the arm itself."""
        return np.array([self._upper(other, arm) for other in range(self.num_arms)])

    def _upper(self, one: int, other: int, bound: Callable[..., float] = stated_upper) -> float:
        """Return the upper bound of mu_one - mu_other."""
        if one == other:
            return 0.0
        alpha = math.exp(-self._enough[one, other])
        return self._width * bound(self._rows_of(one, other), alpha, min_size=self._min_size, pool=self.pool)

    def _rows_of(self, one: int, other: int) -> np.ndarray:
        """Return the differences of two arms, float64[rows], in units of the range."""
        start, end = self._first[one, other], self._next[one, other]
        scores, others = (np.asarray(self._samples[i][start:end], np.float64) for i in (one, other))
        return (scores - others) / self._width

    def differences(self, arm: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (low, estimate, high) of mu_l - mu_arm for all l, float64[K] each; NaN without a common row."""
        low = np.array([-self._upper(arm, other) for other in range(self.num_arms)])
        apart = [self._rows_of(other, arm) for other in range(self.num_arms)]
        means = np.array([self._width * x.mean() if len(x) else np.nan for x in apart])
        return low, means, self.upper(arm)

    def claims(self) -> np.ndarray:
        """Return which arms are exceeded by which, bool[K, K]: [l, i] if mu_l < mu_i is certain at the stated level."""
        return self._claims & (self._totals < 0)

    def ever(self) -> np.ndarray:
        """Return which arms were exceeded by which at any time, bool[K, K]; it never becomes False."""
        return self._claims.copy()

    def crossed(self, arm: int) -> np.ndarray:
        """Return for which arms the bounds of mu_l - mu_arm of any two times exclude each other, bool[K]."""
        bounds = [
            (self._upper(arm, i, mixture_upper), self._upper(i, arm, mixture_upper)) for i in range(self.num_arms)
        ]
        return np.array([-one > other for one, other in bounds])
