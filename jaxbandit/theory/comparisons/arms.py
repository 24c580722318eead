"""Comparisons from one bound on either side of each arm's own mean, rate or quantile."""

import numpy as np

from jaxbandit.theory.comparisons.achieved import Comparison
from jaxbandit.theory.comparisons.pairs import radius
from jaxbandit.theory.solvers import student


class ArmBounds(Comparison):
    """Differences of arms of which each has a lower and an upper bound, with the interface of `PairedDifferences`.

    If each of the K lower and K upper bounds is wrong with probability at most delta/K, then all that is used about the
    best arm holds with probability 1 - delta: the upper bound of the best arm and the lower bounds of the K - 1 others.
    """

    def __init__(self, low: np.ndarray, high: np.ndarray):
        """Compare arms with these bounds, float64[K] each; -inf and inf where nothing is known."""
        self.num_arms = len(low)
        self._low, self._high = np.asarray(low, np.float64), np.asarray(high, np.float64)

    def upper(self, arm: int) -> np.ndarray:
        """Return the upper bounds of mu_l - mu_arm for all l, float64[K]; 0 for the arm itself."""
        known = np.isfinite(self._high) & np.isfinite(self._low[arm])
        bounds = np.where(known, np.where(known, self._high, 0.0) - np.where(known, self._low[arm], 0.0), np.inf)
        bounds[arm] = 0.0
        return bounds

    def claims(self) -> np.ndarray:
        """Return which arms are exceeded by which, bool[K, K]: [l, i] if mu_l < mu_i is certain at the stated level."""
        known = self._low <= self._high  # an empty interval makes no arm worse than another one
        return np.asarray((self._high[:, None] < self._low) & known & known[:, None])

    def ever(self) -> np.ndarray:
        """Return which arms are exceeded by which, bool[K, K], as these bounds are all that is known."""
        return self.claims()

    def crossed(self, arm: int) -> np.ndarray:
        """Return for which arms nothing can be the difference from this one, because an interval is empty, bool[K]."""
        low, _, high = self.differences(arm)
        return (low > high) & (np.arange(self.num_arms) != arm)

    def differences(self, arm: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (low, estimate, high) of mu_l - mu_arm for all l, float64[K] each; estimates are NaN here."""
        empty = (self._low > self._high) | (self._low[arm] > self._high[arm])
        with np.errstate(invalid="ignore"):
            low, high = self._low - self._high[arm], self._high - self._low[arm]
        low[arm] = high[arm] = 0.0
        return np.where(empty, np.inf, low), np.full(self.num_arms, np.nan), np.where(empty, -np.inf, high)


def normal_arms(
    n: np.ndarray, means: np.ndarray, variances: np.ndarray, log_alpha: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper bounds of the means of normal scores for all sample sizes at once, float64[K] each.

    `n` are the sample sizes, int64[K], 0 without a score; `means` and `variances`, with divisor n, are float64[K]; and
    `log_alpha` is the log of the level of each of the 2 K bounds.
    """
    sizes = np.maximum(np.asarray(n, np.float64), 1)
    r = radius(sizes, log_alpha)
    center = np.where(np.isfinite(means), means, 0.0)
    half = np.where(np.asarray(n) > 0, normal_reach(variances, np.abs(center), r), np.inf)
    return center - half, center + half


def normal_reach(variances: np.ndarray, size: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return how far the mean of normal scores may be from their average, float64[K], inf where they are all equal.

    `variances` have divisor n, NaN without a score; `size` are the moduli of the averages, by which scores may have
    been rounded; and `r` is the radius in units of the standard deviation, inf if there is none.
    """
    known = np.isfinite(r) & (variances > 0)
    rounding = student.resolution(np.where(known, variances, 0.0), size)
    known &= np.isfinite(rounding)
    rounding = np.where(known, rounding, 0.0)
    reach = rounding + (np.sqrt(np.where(known, variances, 0.0)) + rounding) * np.where(known, r, 0.0)
    return np.where(known, reach, np.inf)
