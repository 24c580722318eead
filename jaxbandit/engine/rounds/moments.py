"""Means and variances over runs from exact sums, independent of the order of the runs and rounded once at the end.

A float is an integer times a power of two. The integer is split into three limbs of 18 bits. For all values with the
same exponent, sums of limbs and of products of two limbs are then exact in float64, and Python's integers combine
them. Hence results do not depend on tiles, workers or resuming, and doubling all values doubles the mean exactly.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

LIMB = 18  # bits; a product of two limbs has at most 36, and 2^14 sums of three products fit in the 53 of a float64
BLOCK = 1 << 14  # largest number of runs processed at a time
VALUES = 1 << 16  # approximate number of values processed at a time, each of which needs a dozen temporary float64
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
        """Add runs with values float[points, runs]; runs for which `keep`, bool[runs], is False are left out.

        A point at which any included run is not finite has mean nan.
        """
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
        mantissa, exponent = np.frexp(values)
        lowest = int(exponent.min())
        width = int(exponent.max()) - lowest + 1
        place = (np.arange(len(values))[:, None] * width + (exponent - lowest)).ravel()  # index of (point, exponent)
        used = np.flatnonzero(np.bincount(place))
        point, shift = used // width, (used % width + (lowest - LEAST)).astype(object)

        def joined(*parts: np.ndarray) -> np.ndarray:
            """Sums of the parts at each index in use as Python integers; the first part is the most significant."""
            whole = np.zeros(len(used), object)
            for part in parts:
                whole = (whole << LIMB) + np.bincount(place, part)[used].astype(np.int64).astype(object)
            return whole

        limbs, rest = [], mantissa.ravel()
        for _ in range(3):
            rest = rest * 2.0**LIMB
            limbs.append(np.rint(rest))
            rest = rest - limbs[-1]
        a, b, c = limbs
        np.add.at(self.total, point, joined(a, b, c) << shift)
        np.add.at(self.square, point, joined(a * a, 2 * a * b, 2 * a * c + b * b, 2 * b * c, c * c) << 2 * shift)

    def mean(self) -> np.ndarray:
        """Mean over the included runs, float64[points], correctly rounded; nan if there are none."""
        return self._ratio(self.total, self.count << UNIT)

    def variance(self) -> np.ndarray:
        """Sample variance with divisor count - 1, float64[points]; nan for fewer than two included runs."""
        return self._ratio(self.count * self.square - self.total**2, self.count * (self.count - 1) << 2 * UNIT)

    def _ratio(self, above: np.ndarray, below: int) -> np.ndarray:
        known = self.finite & (below > 0)
        return np.array([_nearest(n, below) if flag else np.nan for n, flag in zip(above, known, strict=True)])


def _nearest(above: int, below: int) -> float:
    """above / below, correctly rounded; inf if that is too large for a float, as a variance may be."""
    try:
        return above / below
    except OverflowError:
        return float("inf")
