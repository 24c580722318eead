"""Means and variances over runs: exact sums, in whatever order the runs arrive, rounded once at the end.

A float is an integer times a power of two. Its integer is cut into three limbs of 18 bits, so that the limbs, and the
products of two, of all values with one exponent sum in float64 without rounding; Python's integers put the sums
together. Hence no result depends on tiles, workers or resume, and twice all values have twice the mean, to the bit.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

LIMB = 18  # bits: a product of two limbs has at most 36, and 2^14 sums of three of them fit the 53 of a float64
BLOCK = 1 << 14  # runs at a time
VALUES = 1 << 16  # values at a time, about: each needs a dozen float64 meanwhile
LEAST = -1073  # exponent of the smallest subnormal number, by np.frexp
UNIT = 3 * LIMB - LEAST  # sums are in units of 2^-UNIT, sums of squares in its square: every float64 is a multiple


class Moments:
    """Exact running sums of `points` values a run."""

    def __init__(self, points: int):
        self.count = 0  # runs that count
        self.finite = np.ones(points, bool)
        self.total = np.zeros(points, object)  # Python integers: no overflow, ever
        self.square = np.zeros(points, object)

    def add(self, values: np.ndarray, keep: np.ndarray) -> None:
        """Add runs: values is float[points, runs]; a run counts, at every point, where keep, bool[runs], is True.

        A point at which a run that counts is not finite has mean nan.
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
        """Add what `plain` of other runs returned."""
        self.count += sums["count"]
        self.finite &= np.array(sums["finite"], bool)
        self.total += np.array([int(n) for n in sums["total"]], object)
        self.square += np.array([int(n) for n in sums["square"]], object)

    def _add(self, values: np.ndarray) -> None:
        mantissa, exponent = np.frexp(values)
        lowest = int(exponent.min())
        width = int(exponent.max()) - lowest + 1
        place = (np.arange(len(values))[:, None] * width + (exponent - lowest)).ravel()  # of its point and exponent
        used = np.flatnonzero(np.bincount(place))
        point, shift = used // width, (used % width + (lowest - LEAST)).astype(object)

        def joined(*parts: np.ndarray) -> np.ndarray:
            """Sums of the parts at each place in use, the first the highest, as Python integers."""
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
        """Mean over the runs that count, float64[points], the nearest float; nan where none counts."""
        return self._ratio(self.total, self.count << UNIT)

    def variance(self) -> np.ndarray:
        """Sample variance (divisor count - 1; nan for fewer than two runs that count), float64[points]."""
        return self._ratio(self.count * self.square - self.total**2, self.count * (self.count - 1) << 2 * UNIT)

    def _ratio(self, above: np.ndarray, below: int) -> np.ndarray:
        known = self.finite & (below > 0)
        return np.array([_nearest(n, below) if flag else np.nan for n, flag in zip(above, known, strict=True)])


def _nearest(above: int, below: int) -> float:
    """above / below, rounded once; inf where that is too large, as a variance may be."""
    try:
        return above / below
    except OverflowError:
        return float("inf")
