"""Bounds of a variant's mean, and of the difference of two means, for all numbers of visitors at once."""

import math
from typing import NamedTuple

import numpy as np

from jaxbandit.decide.variants.outcomes import Kind
from jaxbandit.theory.comparisons import asymptotic, looks
from jaxbandit.theory.comparisons.contradiction import contradictory
from jaxbandit.theory.proportions import rate_bounds


class Sides(NamedTuple):
    """The outcomes of two variants in pairs: single visitors, or several of either for each pair."""

    low: tuple[np.ndarray, np.ndarray]  # float64[pairs, visitors], with the least value where an outcome is open
    high: tuple[np.ndarray, np.ndarray]  # the same with the largest value

    @property
    def least(self) -> np.ndarray:
        """The differences of the pairs if what is open of the first is least and of the second is largest."""
        return np.asarray(self.low[0].mean(axis=1) - self.high[1].mean(axis=1))

    @property
    def most(self) -> np.ndarray:
        """The differences of the pairs if what is open of the first is largest and of the second is least."""
        return np.asarray(self.high[0].mean(axis=1) - self.low[1].mean(axis=1))

    @property
    def shown(self) -> np.ndarray:
        """The differences of the pairs if all that is open is least."""
        return np.asarray(self.low[0].mean(axis=1) - self.low[1].mean(axis=1))


class Bounds(NamedTuple):
    """The difference of two means at several numbers of pairs: estimates, and bounds that hold at all of them at once.

    At each number of pairs, the bounds are those of that number alone, and the estimate is between them. If the lower
    bound at one number is above the upper bound at another, one of the two was false, and nothing is known at present.
    """

    sizes: np.ndarray  # int64[looks]
    value: np.ndarray  # float64[looks]
    low: np.ndarray  # float64[looks], -inf and inf where nothing is stated
    high: np.ndarray
    ends: tuple[float, float]  # the bounds at present
    missing: str = ""  # what has to come before anything is stated
    contradicted: int = 0  # number of pairs at which a bound is first beyond another one, 0: never


def difference(sides: Sides, kind: Kind, alpha: float, names: tuple[str, str], history: bool = True) -> Bounds:
    """Return the difference of the means of two variants, with bounds.

    Args:
      sides: the outcomes.
      kind: what the outcomes are.
      alpha: probability with which each of the two bounds may be wrong at some number of pairs.
      names: of the variants, for what is missing.
      history: whether bounds at smaller numbers of pairs are computed too, which are in the order of arrival.
    """
    n = len(sides.shown)
    sizes = looks.sample_sizes(n) if history or not n else np.array([n])
    if not kind.bounded:
        return _asymptotic(sides, sizes, alpha, names)
    width = kind.high - kind.low
    if not n:
        return Bounds(sizes, np.zeros(0), np.zeros(0), np.zeros(0), (-width, width))
    value = np.cumsum(sides.shown)[sizes - 1] / sizes
    high = width * looks.upper_bounds(sides.most / width, math.log(alpha), sizes)
    low = -width * looks.upper_bounds(-sides.least / width, math.log(alpha), sizes)
    return _with_present(sizes, value, low, high)


def _with_present(sizes: np.ndarray, value: np.ndarray, low: np.ndarray, high: np.ndarray, missing: str = "") -> Bounds:
    """Return bounds with those at present, or without any from where one is beyond another one."""
    bad = contradictory(np.maximum.accumulate(low), np.minimum.accumulate(high))
    if not bad.any():
        return Bounds(sizes, value, low, high, (float(low[-1]), float(high[-1])), missing)
    end = int(np.argmax(bad))
    size = int(sizes[end])
    return Bounds(sizes[:end], value[:end], low[:end], high[:end], (-np.inf, np.inf), contradicted=size)


def _asymptotic(sides: Sides, sizes: np.ndarray, alpha: float, names: tuple[str, str]) -> Bounds:
    """Return asymptotic bounds, at each number of pairs those of that number alone."""
    value, sd, skew2 = asymptotic.moments(sides.shown, sizes)
    if not len(sizes):
        return Bounds(sizes, value, value, value, (-np.inf, np.inf), f"no pair of {' and '.join(names)}")
    counts = [asymptotic.uncommon(y.ravel(), sizes * y.shape[1]) for y in sides.low]
    known = asymptotic.suffices(sizes, np.minimum(*counts), skew2)
    half = np.where(known, sd * asymptotic.radius(sizes, math.log(alpha)), np.inf)
    missing = ""
    if not known[-1]:
        lacks = [
            _lacks_outcomes(y.ravel(), int(k[-1]), name) for y, k, name in zip(sides.low, counts, names, strict=True)
        ]
        missing = next(filter(None, lacks), "") or _lacks_rows(sizes[-1], skew2[-1], f"pairs of {' and '.join(names)}")
    return _with_present(sizes, value, value - half, value + half, missing)


def _lacks_outcomes(values: np.ndarray, count: int, name: str) -> str:
    """Return a phrase if too few outcomes are other than the commonest one, or ""."""
    if count >= asymptotic.FEWEST_UNCOMMON:
        return ""
    found, times = np.unique(values, return_counts=True)
    common = f"{found[np.argmax(times)]:g}"
    return f"{count} of {asymptotic.FEWEST_UNCOMMON} visitors of {name} with an outcome other than {common}"


def _lacks_rows(size: int, skew2: float, what: str) -> str:
    if size < asymptotic.FEWEST:
        return f"{size:,} of {asymptotic.FEWEST:,} {what}"
    if not math.isfinite(skew2):
        return f"all {size:,} {what} have the same difference"
    return f"{size:,} of {math.ceil(asymptotic.PER_SKEW * skew2):,} {what} that outcomes as skewed as these need"


def mean_interval(low: np.ndarray, high: np.ndarray, kind: Kind, alpha: float) -> tuple[float, float]:
    """Return an interval of the mean outcome of one variant at present; it never lacks the mean itself.

    Args:
      low: float64[n], outcomes in the order of arrival, with the least value where they are open.
      high: float64[n], the same with the largest value.
      kind: what the outcomes are.
      alpha: probability with which the mean may be outside at some time.
    """
    n = len(low)
    if not n:
        return kind.low, kind.high
    if kind.binary:
        return float(rate_bounds(low.sum(), n, alpha)[0]), float(rate_bounds(high.sum(), n, alpha)[1])
    size = np.array([n])
    if not kind.bounded:
        mean, sd, skew2 = asymptotic.moments(low, size)
        if not asymptotic.suffices(size, asymptotic.uncommon(low, size), skew2)[0]:
            return -np.inf, np.inf
        half = sd[0] * asymptotic.radius(size, math.log(alpha / 2))[0]
        return float(mean[0] - half), float(mean[0] + half)
    width, log_alpha = kind.high - kind.low, math.log(alpha / 2)
    above = looks.upper_bounds((high - kind.low) / width, log_alpha, size)[-1]
    below = looks.upper_bounds((kind.high - low) / width, log_alpha, size)[-1]
    return float(kind.high - width * below), float(kind.low + width * above)
