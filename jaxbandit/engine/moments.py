"""Means and variances over runs, exact whatever the order in which the runs arrive.

Each value is rounded once to a multiple of 2^-20 and summed in integers, so that the result does not depend on tiles,
workers or resume, and no float32 sum ever enters a reported mean.
"""

import numpy as np

UNIT = 2.0**20
HALF = 24  # bits of the low part: products of two parts, summed over BLOCK runs, fit 64 bits
BLOCK = 1 << 14
LARGE = 2.0**28  # from here on products need Python integers


class Moments:
    """Exact running sums of `points` values a run."""

    def __init__(self, points: int):
        self.count = 0
        self.finite = np.ones(points, bool)
        self.total = np.zeros(points, object)  # Python integers: no overflow, ever
        self.square = np.zeros(points, object)

    def add(self, values: np.ndarray) -> None:
        """Add runs: values is float[points, runs]. A point with a value that is not finite has mean nan."""
        values = np.asarray(values, np.float64)
        self.count += values.shape[1]
        self.finite &= np.isfinite(values).all(1)
        values = np.where(self.finite[:, None], values, 0.0)
        if np.abs(values).max(initial=0.0) >= LARGE:
            units = np.vectorize(int, otypes=[object])(np.rint(values * UNIT))
            self.total += units.sum(1)
            self.square += (units * units).sum(1)
            return
        for start in range(0, values.shape[1], BLOCK):
            units = np.rint(values[:, start : start + BLOCK] * UNIT).astype(np.int64)
            high, low = units >> HALF, units & ((1 << HALF) - 1)
            self.total += units.sum(1).astype(object)
            high_high, high_low, low_low = (
                (a * b).sum(1).astype(object) for a, b in ((high, high), (high, low), (low, low))
            )
            self.square += high_high * (1 << 2 * HALF) + high_low * (1 << HALF + 1) + low_low

    def mean(self) -> np.ndarray:
        """Mean over the runs so far, float64[points]."""
        mean = np.array([int(t) / (self.count * int(UNIT)) for t in self.total])
        return np.where(self.finite, mean, np.nan)

    def variance(self) -> np.ndarray:
        """Sample variance (divisor count - 1; nan for one run), float64[points]."""
        if self.count < 2:
            return np.full(len(self.total), np.nan)
        scale = self.count * (self.count - 1) * int(UNIT) ** 2
        pairs = zip(self.total, self.square, strict=True)
        variance = np.array([(self.count * int(s) - int(t) ** 2) / scale for t, s in pairs])
        return np.where(self.finite, variance, np.nan)
