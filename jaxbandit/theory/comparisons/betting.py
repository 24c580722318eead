"""Paired comparisons of bounded scores without any other assumption, by bets whose stakes are constant.

Only the mean of a difference given the past is used, and rows may be in any order. If the mean of the sample rises
above the least of these bounds, the bound of the whole sample is stated. docs/mathematics.md has the proof.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from jaxbandit.theory.comparisons.pairs import PairRows

STAKES = 0.98 * 2.0 ** (-np.arange(16) / 2)
_WEIGHTS = 1 / ((np.arange(16) + 1.0) * (np.arange(16) + 2.0))
LOG_WEIGHTS = np.log(_WEIGHTS / _WEIGHTS.sum())
_HALVINGS = 40  # of (-1, 1)
_FEW = 64  # distinct differences, of which long samples are counted
_LONG = 512  # sample size from which on, for few distinct differences, not every prefix is looked at
_RATIO = 1.01  # of two successive sample sizes that are looked at then
MOST_ARMS = 1000  # whose pairs are compared: 16 numbers for each pair


def mixture_upper(differences: np.ndarray, alpha: float, *, min_size: int = 1) -> float:
    """Return the least over all prefixes of the upper bound of the mean of the differences, in (-1, 1].

    Args:
      min_size: the shortest prefix that is looked at; the bound is 1 if there is none.
    """
    enough, largest = -math.log(alpha), _largest_wealth(np.asarray(differences, np.float64), max(min_size, 1))
    low, high = -1.0, 1.0
    for _ in range(_HALVINGS if len(differences) else 0):
        middle = (low + high) / 2
        low, high = (low, middle) if largest(middle) >= enough else (middle, high)
    return high


def stated_upper(differences: np.ndarray, alpha: float, *, min_size: int = 1) -> float:
    """Return the bound of `mixture_upper`, or that of the whole sample alone if it were below the sample's mean."""
    return _not_below_mean(mixture_upper(differences, alpha, min_size=min_size), differences, alpha, min_size)


def _not_below_mean(bound: float, differences: np.ndarray, alpha: float, min_size: int = 1) -> float:
    if not len(differences) or bound >= np.mean(differences):
        return bound
    return mixture_upper(differences, alpha, min_size=max(min_size, len(differences)))


def stated_interval(shares: np.ndarray, alpha: float) -> tuple[float, float]:
    """Return an interval of the mean of scores in [0, 1], each end false with probability alpha at most.

    It has the mean of the sample. If bounds of two times exclude each other, it is (inf, -inf): one of them is false.
    """
    below, high = mixture_upper(1 - shares, alpha), mixture_upper(shares, alpha)
    if 1 - below > high:
        return math.inf, -math.inf
    return 1 - _not_below_mean(below, 1 - shares, alpha), _not_below_mean(high, shares, alpha)


def _largest_wealth(differences: np.ndarray, min_size: int) -> Callable[[float], float]:
    """Return the largest log wealth over the prefixes of a sample, as a function of the mean."""
    n, first, counts = len(differences), min_size - 1, None
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


def log_mixture(log_wealth: np.ndarray) -> np.ndarray:
    """Return the log of the mixture of the wealth of all stakes, along the last axis."""
    most = (log_wealth + LOG_WEIGHTS).max(axis=-1)
    return most + np.log(np.exp(log_wealth + LOG_WEIGHTS - most[..., None]).sum(axis=-1))


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
    ):
        """Begin without scores."""
        super().__init__(num_arms, first)
        shape = num_arms, num_arms
        self._log_wealth = np.zeros((*shape, len(STAKES)))  # at [l, i] of bets against mu_l >= mu_i
        self._claims = np.zeros(shape, bool)  # at any time
        self._sums = np.zeros(shape)  # of the differences
        self._first = np.broadcast_to(self._first, shape)
        self._enough = -np.broadcast_to(np.asarray(log_alpha, np.float64), shape)
        self._width, self._min_size = width, min_size
        self._samples: list[Sequence[float] | np.ndarray] = [np.zeros(0)] * num_arms

    def enter(self, samples: Sequence[Sequence[float] | np.ndarray], changed: Sequence[int] | None = None) -> None:
        """Take further rows, as `PairRows.enter` does."""
        self._samples = list(samples)
        super().enter(samples, changed)

    def _enter_pairs(self, row: int, one: np.ndarray, other: np.ndarray, scores: np.ndarray) -> None:
        at = np.ix_(one, other)
        due = (self._next[at] == row) & (one[:, None] != other)
        logs = np.log1p(-STAKES * (((scores[one][:, None] - scores[other]) / self._width)[..., None]))
        self._log_wealth[at] += np.where(due[..., None], logs, 0.0)
        self._sums[at] += np.where(due, scores[one][:, None] - scores[other], 0.0)
        self._next[at] += due
        due &= self._next[at] - self._first[at] >= self._min_size
        self._claims[at] |= due & (log_mixture(self._log_wealth[at]) >= self._enough[at])

    def upper(self, arm: int) -> np.ndarray:
        """Return the upper bounds of mu_l - mu_arm for all l, float64[K]; 0 for the arm itself."""
        return np.array([self._upper(other, arm) for other in range(self.num_arms)])

    def _upper(self, one: int, other: int, bound: Callable[..., float] = stated_upper) -> float:
        """Return the upper bound of mu_one - mu_other."""
        if one == other:
            return 0.0
        alpha = math.exp(-self._enough[one, other])
        return self._width * bound(self._rows_of(one, other), alpha, min_size=self._min_size)

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
        return self._claims & (self._sums < 0)

    def ever(self) -> np.ndarray:
        """Return which arms were exceeded by which at any time, bool[K, K]; it never becomes False."""
        return self._claims.copy()

    def crossed(self, arm: int) -> np.ndarray:
        """Return for which arms the bounds of mu_l - mu_arm of any two times exclude each other, bool[K]."""
        bounds = [
            (self._upper(arm, i, mixture_upper), self._upper(i, arm, mixture_upper)) for i in range(self.num_arms)
        ]
        return np.array([-one > other for one, other in bounds])
