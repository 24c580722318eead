"""Comparisons of the same quantile of all variants, by order statistics: for any outcomes, without a range.

Each variant has a lower and an upper bound of its quantile, for all numbers of visitors at once, and all of them hold
together with probability at least 1 - delta.
"""

from collections.abc import Sequence

import numpy as np

from jaxbandit.decide.variants.bounds import NO_PATH, Contrast, Lift
from jaxbandit.decide.variants.pairs import Pairs
from jaxbandit.support.columns import LARGEST
from jaxbandit.theory.comparisons.arms import ArmBounds
from jaxbandit.theory.comparisons.looks import sample_sizes
from jaxbandit.theory.quantile_bounds import quantile_ranks


class Quantiles:
    """A quantile of each variant with its interval, at several numbers of visitors.

    Only the bounds at present count, so that the quantile of the sample is never outside. An open outcome may be any
    number.
    """

    def __init__(self, pairs: Pairs, p: float, level: np.ndarray, maximize: bool, left_out: Sequence[int] = ()):
        """Compute the quantiles of probability p; `level` is that of the interval of each variant.

        Variants that are `left_out` are not compared with, and are excluded.
        """
        self._ordered = pairs.log.ordered
        self._paths = [
            _path(pairs.log.outcome[rows], p, float(alpha), ordered=self._ordered)
            for rows, alpha in zip(pairs.rows, level, strict=True)
        ]
        ends = np.array([path[-1, 1:] if len(path) else (np.nan, -np.inf, np.inf) for path in self._paths])
        self.value, self.low, self.high = ends.T
        low, high = (self.low.copy(), self.high.copy()) if maximize else (-self.high, -self.low)
        low[list(left_out)] = high[list(left_out)] = -LARGEST  # below all others
        self.comparison = ArmBounds(low, high)

    def contrast(self, v: int, control: int) -> Contrast:
        """Return the quantile of a variant minus that of the control."""
        one, other = self._paths[v], self._paths[control]
        if not min(len(one), len(other)):
            return Contrast(0, np.nan, -np.inf, np.inf)
        common, i, j = np.intersect1d(one[:, 0], other[:, 0], return_indices=True)
        with np.errstate(invalid="ignore"):  # of infinite bounds
            apart = [one[i, 1] - other[j, 1], one[i, 2] - other[j, 3], one[i, 3] - other[j, 2]]
            now = self.value[v] - self.value[control]
            low, high = self.low[v] - self.high[control], self.high[v] - self.low[control]
        path = np.stack([common, *apart], axis=1) if self._ordered else NO_PATH
        return Contrast(int(min(one[-1, 0], other[-1, 0])), float(now), float(low), float(high), path)

    def lift(self, v: int, control: int) -> Lift:
        """Return by what share the quantile of a variant is above that of the control, if that one is above 0."""
        if not self.low[control] > 0:
            return Lift()
        low = self.low[v] / self.high[control] if np.isfinite(self.low[v]) else -np.inf  # and not NaN beside inf
        difference, base = float(self.value[v] - self.value[control]), float(self.value[control])
        return Lift.of_share(difference, base, float(low) - 1, float(self.high[v] / self.low[control]) - 1)


def _path(outcome: np.ndarray, p: float, alpha: float, *, ordered: bool) -> np.ndarray:
    """Return the quantile of the first visitors with its bounds, float64[looks, 4]: visitors, quantile, low, high."""
    n = len(outcome)
    if not n:
        return np.zeros((0, 4))
    sizes = sample_sizes(n) if ordered else np.array([n])
    ranks, path = quantile_ranks(n, p, alpha / 2), np.empty((len(sizes), 4))
    for look, size in enumerate(sizes.tolist()):
        least, most = (np.sort(np.where(np.isnan(outcome[:size]), end, outcome[:size])) for end in (-np.inf, np.inf))
        low = least[ranks.low[size]] if ranks.low[size] >= 0 else -np.inf
        high = most[ranks.high[size] - 1] if ranks.high[size] <= size else np.inf
        known = np.isfinite(outcome[:size])
        middle = np.quantile(outcome[:size][known], p, method="inverted_cdf") if known.any() else np.nan
        path[look] = size, middle, low, high
    return path
