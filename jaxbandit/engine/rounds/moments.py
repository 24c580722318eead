"""Means and variances over runs from exact sums, independent of the order of the runs and rounded once at the end.

At each point, the values of all runs are sums of integers of 18 bits times powers of two that they share, whose sums
and products are exact in float64; Python's integers combine them.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

LIMB = 18  # bits; a product of two limbs has at most 36, and 2^14 of them fit in the 53 of a float64
BLOCK = 1 << 14  # largest number of runs processed at a time
VALUES = 1 << 14  # approximate number of values processed at a time, so that all temporary arrays stay in a cache
REACH = 900  # bits below the largest value within which a value can be scaled without underflow
LEAST = -1073  # exponent of the smallest subnormal number in the convention of np.frexp
UNIT = 3 * LIMB - LEAST  # every float64 is a multiple of 2^-UNIT, the unit of sums; that of squares is 2^-(2 * UNIT)


class Moments:
    """Exact running sums over runs, each of which has `points` values."""

    def __init__(self, points: int):
        self.count = 0  # number of runs included
        self.finite = np.ones(points, bool)
        self.total = np.zeros(points, object)  # Python integers, which do not overflow
        self.square = np.zeros(points, object)

    def add(self, values: np.ndarray, keep: np.ndarray) -> None:
        """Add the runs of `values`, float[points, runs], that `keep` marks; a point not finite in one is nan."""
        place = np.flatnonzero(keep)
        self.count += len(place)
        parts = np.split(place, range(0, len(place), max(min(BLOCK, VALUES // len(values)), 1))[1:])
        for part in parts:
            self.finite &= np.isfinite(values[:, part]).all(1)
        for part in parts:
            if len(part):
                self._add(np.where(self.finite[:, None], values[:, part].astype(np.float64), 0.0))

    def plain(self) -> dict[str, Any]:
        """The sums as plain data, integers of any size as decimal strings."""
        total, square = ([str(n) for n in sums] for sums in (self.total, self.square))
        return {"count": self.count, "finite": self.finite.tolist(), "total": total, "square": square}

    def add_sums(self, sums: Mapping[str, Any]) -> None:
        """Add the sums of other runs, as returned by `plain`."""
        self.count += sums["count"]
        self.finite &= np.array(sums["finite"], bool)
        self.total += np.array([int(n) for n in sums["total"]], object)
        self.square += np.array([int(n) for n in sums["square"]], object)

    def _add(self, values: np.ndarray) -> None:
        size = np.abs(values)
        top = np.frexp(size.max(1))[1]  # every value is below 2^top
        tiny = size < np.ldexp(1.0, top - REACH)[:, None]
        if size[tiny].any():
            self._add(np.where(tiny, values, 0.0))
            values = np.where(tiny, 0.0, values)
        limbs, rest = [], np.ldexp(values, -top[:, None])
        while rest.any():
            rest *= 2.0**LIMB
            limbs.append(np.rint(rest))
            rest -= limbs[-1]
        unit = (top + UNIT).astype(object)
        for i, limb in enumerate(limbs, 1):
            self.total += _integers(limb.sum(1)) << unit - LIMB * i
            for j, other in enumerate(limbs[:i], 1):
                products = _integers(np.einsum("pr,pr->p", limb, other)) * (1 if i == j else 2)
                self.square += products << 2 * unit - LIMB * (i + j)

    def mean(self) -> np.ndarray:
        """Mean over the included runs, float64[points], correctly rounded; nan if there are none."""
        return self._ratio(self.total, self.count << UNIT)

    def variance(self) -> np.ndarray:
        """Sample variance with divisor count - 1, float64[points]; nan for fewer than two included runs."""
        return self._ratio(self.count * self.square - self.total**2, self.count * (self.count - 1) << 2 * UNIT)

    def _ratio(self, above: np.ndarray, below: int) -> np.ndarray:
        known = self.finite & (below > 0)
        return np.array([_nearest(n, below) if flag else np.nan for n, flag in zip(above, known, strict=True)])


def _integers(values: np.ndarray) -> np.ndarray:
    """Return whole numbers as Python's integers."""
    return values.astype(np.int64).astype(object)


def _nearest(above: int, below: int) -> float:
    """above / below, correctly rounded; inf if that is too large for a float, as a variance may be."""
    try:
        return above / below
    except OverflowError:
        return float("inf")
