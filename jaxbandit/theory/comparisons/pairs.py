"""Paired comparisons of normal scores with unknown variances, by the martingale of the t-test (`solvers.student`)."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jaxbandit.theory.comparisons.achieved import Comparison
from jaxbandit.theory.solvers import student

MOST_ARMS = 5000  # whose pairs are compared: five numbers for each pair, 1 GB
_CHUNK = 2**22  # entries of a temporary matrix


def smallest_sample(log_alpha: float) -> int:
    """Return the first sample size at which the bound of a normal mean is finite, n0."""
    n = np.arange(2.0, 1000.0)
    return int(n[np.isfinite(radius(n, log_alpha))][0])


def radius(n: np.ndarray, log_alpha: np.ndarray | float, pool: int | None = None) -> np.ndarray:
    """Return r such that mean + r sd is a one-sided bound of a normal mean for all n at once, inf if there is none.

    Shapes are float64[...]; `log_alpha` is the log of the error probability of each bound. With `pool`, the sample is
    one without replacement from that many numbers, of whose mean r is a bound: 0 once all are known, and inf with one.
    """
    log_alpha = np.asarray(log_alpha, np.float64)
    c2 = student.default_c2(log_alpha)
    if pool is None:
        return np.sqrt(student.squared_radius(n, student.one_sided(n, log_alpha, c2), c2))
    information = n * pool / np.maximum(pool - n, 0.5)
    level = student.one_sided(information, log_alpha, c2)
    return np.where(n < pool, np.sqrt(student.squared_radius(n, level, c2, information)), 0.0)


def new_rows(
    following: np.ndarray, samples: Sequence[Sequence[float] | np.ndarray], changed: Sequence[int] | None
) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield blocks of pairs with a row that some of them need next: (row, arms, other arms, scores float64[K]).

    Those of a row together have all pairs with an arm that changed (None: any), in both orders.

    Args:
      following: int[K, K], the row that each pair needs next, which the caller increases.
    """
    rows = np.array([len(sample) for sample in samples])
    arms = np.arange(len(samples)) if changed is None else np.unique(np.asarray(changed, np.int64))
    common = np.minimum(rows[arms][:, None], rows)
    common[np.arange(len(arms)), arms] = 0
    behind = following[arms] < common
    if not behind.any():
        return
    for row in range(int(following[arms][behind].min()), int(common.max())):
        scores = np.full(len(samples), np.nan)
        for i in np.flatnonzero(rows > row).tolist():
            scores[i] = samples[i][row]
        here = np.flatnonzero(np.isfinite(scores))
        one = here[np.isin(here, arms)]
        rest, step = np.setdiff1d(here, one, assume_unique=True), max(_CHUNK // max(len(here), 1), 1)
        for i in range(0, len(one), step):
            yield row, one[i : i + step], here, scores
        if len(rest):
            yield row, rest, one, scores


class PairRows(Comparison):
    """Which rows of the samples each pair of arms has taken."""

    def __init__(self, num_arms: int, first: np.ndarray | int, pool: int | None = None):
        """Begin with the row `first` of each pair; a `pool` of rows has that many in all, and begins with row 0."""
        self.num_arms, self.pool = num_arms, pool
        self._samples: list[Sequence[float] | np.ndarray] = [np.zeros(0)] * num_arms
        self._first = np.asarray(first, np.int32)
        self._next = np.array(np.broadcast_to(self._first, (num_arms, num_arms)))  # row that each pair needs next

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows that each pair has in common, int64[K, K]."""
        return (self._next - self._first).astype(np.int64)

    def enter(self, samples: Sequence[Sequence[float] | np.ndarray], changed: Sequence[int] | None = None) -> None:
        """Take the rows that have been added to the samples of the arms, or that fill a gap."""
        self._samples = list(samples)
        for row, one, other, scores in new_rows(self._next, samples, changed):
            self._enter_pairs(row, one, other, scores)

    def _enter_pairs(self, row: int, one: np.ndarray, other: np.ndarray, scores: np.ndarray) -> None:
        """Take a row of the pairs of `one` and `other` that need it next, and increase `_next` for them."""
        raise NotImplementedError

    def _sums(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """The differences of the sums of all rows of a pool, float64[one, other], with the sign of the exact ones."""
        sums = np.array(
            [_sum(self._samples[i]) if i in one or i in other else (0.0, 0.0) for i in range(self.num_arms)]
        )
        apart = sums[one][:, None] - sums[other]
        return apart.sum(axis=-1)


def _sum(scores: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """A sum as two floats, the second of which is what rounding leaves of the first."""
    total = math.fsum(scores)
    return total, math.fsum([*scores, -total])


class PairedDifferences(PairRows):
    """Upper bounds of the mean of D = X_l - X_i for all pairs of arms, if the differences are normal.

    After m rows the bound of a pair is U = mean(D) + sd(D) r_m with the one-sided `radius` r_m at the pair's level and
    the divisor m in sd; the least of the bounds so far is kept, or the present one if the mean has risen above it. If
    all differences are exactly equal to c, U = c from the larger of `min_size` and the first m with a finite r_m on.

    With `resolution` h, a score is known up to h/2, and U = mean(D) + h + (sd(D) + h) r_m. To h comes what rounding to
    float64 may have changed, where the differences are not exactly equal (`student.resolution`).

    With a `pool` of N rows, which come in a random order, the mean is that of these N differences, and normal are the
    differences given their mean. U is infinite as long as all are equal, and after N rows it is their mean.
    """

    def __init__(
        self,
        num_arms: int,
        log_alpha: np.ndarray | float,
        *,
        first: np.ndarray | int = 0,
        min_size: int = 1,
        resolution: float = 0.0,
        pool: int | None = None,
    ):
        """Begin without scores."""
        super().__init__(num_arms, first, pool)
        shape = num_arms, num_arms
        self.squares = np.zeros(shape)
        self._origin, self._apart = np.zeros(shape), np.zeros(shape)  # first difference, mean deviation from it
        self.bounds = np.full(shape, np.inf)  # of mu_l - mu_i at [l, i], the least so far
        self._size = np.zeros(num_arms)  # largest modulus of the scores of each arm
        self._log_alpha = np.asarray(log_alpha, np.float64)
        self._min_size, self._resolution = min_size, resolution

    @property
    def means(self) -> np.ndarray:
        """Mean difference of each pair, float64[K, K]; 0 without a common row."""
        return self._origin + self._apart

    def _enter_pairs(self, row: int, one: np.ndarray, other: np.ndarray, scores: np.ndarray) -> None:
        every = len(one) == len(other) == self.num_arms
        at: Any = (slice(None), slice(None)) if every else np.ix_(one, other)
        due = self._next[at] == row
        first = self._first if self._first.ndim == 0 else self._first[at]
        n = np.maximum(row - first + 1, 1).astype(np.float64)
        apart = scores[one][:, None] - scores[other]
        origin = np.where(due & (row == first), apart, self._origin[at])
        deviation = apart - origin - self._apart[at]
        mean = self._apart[at] + np.where(due, deviation / n, 0.0)
        squares = self.squares[at] + np.where(due, deviation * (deviation - deviation / n), 0.0)
        self._origin[at], self._apart[at], self.squares[at] = origin, mean, squares
        self._next[at] += due
        self._size[one] = np.maximum(self._size[one], np.abs(scores[one]))
        due &= n >= self._min_size
        if due.any():
            size = np.abs(scores[one])[:, None] + np.abs(scores[other])  # others differ by standard deviations
            level = self._log_alpha if self._log_alpha.ndim == 0 else self._log_alpha[at]
            self.bounds[at] = np.where(
                due, np.minimum(self.bounds[at], self._bound(n, origin + mean, squares, size, level)), self.bounds[at]
            )
            if row + 1 == self.pool:
                apart = self._sums(one, other) / self.pool
                self.bounds[at] = np.where(due, apart, self.bounds[at])
                self._origin[at] = np.where(due, apart, self._origin[at])
                self._apart[at] = np.where(due, 0.0, self._apart[at])

    def _bound(
        self, n: np.ndarray, means: np.ndarray, squares: np.ndarray, size: np.ndarray, log_alpha: np.ndarray
    ) -> np.ndarray:
        r, h = radius(n, log_alpha, self.pool), self._resolution + student.resolution(squares, size)
        known = np.isfinite(r) & np.isfinite(h)
        if self.pool is not None:
            known &= squares > 0  # equal differences say nothing of those that are to come
        h = np.where(known, h, 0.0)
        return np.where(known, means + h + (np.sqrt(squares / n) + h) * np.where(known, r, 0.0), np.inf)

    def upper(self, arm: int) -> np.ndarray:
        """Return the upper bounds of mu_l - mu_arm for all l, float64[K]; 0 for the arm itself."""
        bounds = self._state(self.bounds[:, arm], self.means[:, arm], arm)
        bounds[arm] = 0.0
        return bounds

    def _state(self, bounds: np.ndarray, means: np.ndarray, arm: int) -> np.ndarray:
        """Return bounds for one arm, float64[K], of which those below their estimates are those of the present."""
        below = bounds < means  # the least bound
        if not below.any():
            return bounds.copy()
        n = np.maximum(self.sizes[:, arm], 1).astype(np.float64)
        level = self._log_alpha if self._log_alpha.ndim == 0 else self._log_alpha[:, arm]
        return np.where(below, self._bound(n, means, self.squares[:, arm], self._size + self._size[arm], level), bounds)

    def claims(self) -> np.ndarray:
        """Return which arms are exceeded by which, bool[K, K]: [l, i] if mu_l < mu_i is certain at the stated level."""
        return self.ever() & (self.means < 0)

    def ever(self) -> np.ndarray:
        """Return which arms were exceeded by which at any time, bool[K, K]; it never becomes False."""
        return np.asarray(self.bounds < 0)

    def crossed(self, arm: int) -> np.ndarray:
        """Return for which arms the bounds of mu_l - mu_arm of any two times exclude each other, bool[K]."""
        return np.asarray(-self.bounds[arm] > self.bounds[:, arm])

    def differences(self, arm: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (low, estimate, high) of mu_l - mu_arm for all l, float64[K] each; NaN without a common row."""
        low, high = -self._state(self.bounds[arm], self.means[arm], arm), self.upper(arm)
        low[arm] = 0.0
        return low, np.where(self.sizes[:, arm] > 0, self.means[:, arm], np.nan), high
