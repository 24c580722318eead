"""Means and variances over runs from exact sums, independent of the order of the runs and rounded once at the end.

At each point, the values of all runs are sums of integers of 18 bits times powers of two that they share, whose sums
and products are exact in float64; Python's integers combine them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxbandit.support.types import Array

LIMB = 18  # bits; a product of two limbs has at most 36, and 2^14 of them fit in the 53 of a float64
BLOCK = 1 << 14  # largest number of runs processed at a time
VALUES = 1 << 14  # approximate number of values processed at a time, so that all temporary arrays stay in a cache
REACH = 900  # bits below the largest value within which a value can be scaled without underflow
LEAST = -1073  # exponent of the smallest subnormal number in the convention of np.frexp
UNIT = 3 * LIMB - LEAST  # every float64 is a multiple of 2^-UNIT, the unit of sums; that of squares is 2^-(2 * UNIT)


ON_DEVICE = 4  # limbs on a device: 72 bits, as for numbers of 24 bits that are at most 2^48 apart


class Limbs(NamedTuple):
    """Sums over runs as a device computes them, exact unless bits are left."""

    runs: Array  # int64[]
    finite: Array  # bool[points]
    top: Array  # int32[points], the exponent below which all values are
    sums: Array  # int64[limbs, points]
    products: Array  # int64[limbs, limbs, points], of which the upper triangle is 0
    left: Array  # bool[], whether some value has more bits


def limbs(values: Array, keep: Array) -> Limbs:
    """The sums of the runs of `values`, float[points, runs], that `keep` marks; traced with 64 bits."""
    values = jnp.where(keep, values.astype(jnp.float64), 0.0)
    finite = jnp.isfinite(values).all(1)
    rest = jnp.where(finite[:, None], values, 0.0)
    top = jnp.frexp(jnp.abs(rest).max(1))[1].astype(jnp.int32)
    rest, parts = jnp.ldexp(rest, -top[:, None]), []
    for _ in range(ON_DEVICE):
        rest = rest * 2.0**LIMB
        parts.append(jnp.rint(rest))
        rest = rest - parts[-1]
    parts = [part.astype(jnp.int64) for part in parts]
    zero = jnp.zeros(len(top), jnp.int64)
    products = [[(a * b).sum(1) if j <= i else zero for j, b in enumerate(parts)] for i, a in enumerate(parts)]
    sums = jnp.stack([part.sum(1) for part in parts])
    runs = keep.sum(dtype=jnp.int64)
    return Limbs(runs, finite, top, sums, jnp.stack([jnp.stack(row) for row in products]), (rest != 0).any())


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

    def add_limbs(self, found: Limbs) -> None:
        """Add what a device has summed, of which no bits are left."""
        self.count += int(found.runs)
        self.finite &= np.asarray(found.finite)
        self._combine(np.asarray(found.top), np.asarray(found.sums), np.asarray(found.products))

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
        sums = [limb.sum(1) for limb in limbs]
        products = [[np.einsum("pr,pr->p", a, b) for b in limbs[: i + 1]] for i, a in enumerate(limbs)]
        self._combine(top, sums, products)

    def _combine(self, top: np.ndarray, sums: Any, products: Any) -> None:
        """Add sums of limbs, and of their products with themselves and those before."""
        unit = (top + UNIT).astype(object)
        for i, total in enumerate(sums, 1):
            self.total += _integers(total) << unit - LIMB * i
            for j, product in enumerate(products[i - 1][:i], 1):
                self.square += _integers(product) * (1 if i == j else 2) << 2 * unit - LIMB * (i + j)

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
