"""Bounds of a variant's mean, and of the difference of two means, for all numbers of visitors at once."""

import math
from typing import NamedTuple

import numpy as np

from jaxbandit.decide.variants.outcomes import Kind
from jaxbandit.theory.comparisons import asymptotic, looks, ratios
from jaxbandit.theory.comparisons.contradiction import contradictory
from jaxbandit.theory.proportions import rate_bounds

NO_PATH = np.zeros((0, 4))


Sides = tuple[np.ndarray, np.ndarray]  # outcomes of two variants in pairs, float64[pairs, visitors] each


class Contrast(NamedTuple):
    """What is compared of two variants, of the first minus that of the second, with bounds that hold at all times.

    Along the path, the bounds are those of that number of pairs alone, and the estimate is between them. If the lower
    bound at one number is above the upper bound at another, nothing is known at present.
    """

    pairs: int
    value: float  # over the pairs, NaN without one; open outcomes count as the least value
    low: float  # -inf and inf where nothing is stated
    high: float
    path: np.ndarray = NO_PATH  # float64[looks, 4]: pairs, value, low, high
    missing: str = ""  # what has to come before anything is stated
    contradicted: int = 0  # number of pairs at which a bound is first beyond another one, 0: never


class More(NamedTuple):
    """What numbers without a range have beside outcomes."""

    shift: Sides | None = None  # what is subtracted from outcomes, except to count them
    per: Sides | None = None  # denominators: the ratio of sums is compared


OUTCOMES = More()  # nothing


def contrast(
    low: Sides,
    high: Sides,
    kind: Kind,
    alpha: float,
    names: tuple[str, str],
    history: bool = True,
    more: More = OUTCOMES,
) -> Contrast:
    """Return the difference of the means of two variants; each bound is wrong at some time with probability alpha.

    Open outcomes have the least value in `low`, and the largest one in `high`. With `history` the path has smaller
    numbers of pairs, which are in the order of arrival. The names of the variants are for what is missing.
    """
    missing, width = "", kind.high - kind.low
    n = len(low[0])
    if not n:
        return Contrast(0, np.nan, -width, width, missing="" if kind.bounded else f"no pair of {' and '.join(names)}")
    sizes = looks.sample_sizes(n) if history else np.array([n])
    if kind.bounded:
        value = np.cumsum(_gaps(low[0], low[1]))[sizes - 1] / sizes
        above = width * looks.upper_bounds(_gaps(high[0], low[1]) / width, math.log(alpha), sizes)
        below = -width * looks.upper_bounds(-_gaps(low[0], high[1]) / width, math.log(alpha), sizes)
    else:
        value, half, missing = in_the_limit(low, more, sizes, alpha, names)
        known = np.isfinite(half)
        below, above = np.where(known, value - half, -np.inf), np.where(known, value + half, np.inf)
    bad = contradictory(np.maximum.accumulate(below), np.minimum.accumulate(above))
    end = int(np.argmax(bad)) if bad.any() else len(sizes)
    path = np.stack([sizes, value, below, above], axis=1)[:end] if history else NO_PATH
    if bad.any():
        return Contrast(n, float(value[-1]), -np.inf, np.inf, path, contradicted=int(sizes[end]))
    return Contrast(n, float(value[-1]), float(below[-1]), float(above[-1]), path, missing)


class Lift(NamedTuple):
    """By what share a mean is above that of the control, over the pairs; NaN, -inf and inf where it is not known."""

    value: float = np.nan
    low: float = -np.inf
    high: float = np.inf

    @classmethod
    def of_share(cls, difference: float, base: float, low: float, high: float) -> "Lift":
        """Return a difference as a share of a mean, with bounds; they are unknown if they lack it, or are empty."""
        value = difference / base if base > 0 else np.nan
        bad = contradictory(*(np.array([1 + x]) for x in (low, high, value)))[0]  # a ratio of 1 has been rounded
        return cls(value) if bad else cls(value, low, high)


NO_LIFT = Lift(0.0, 0.0, 0.0)  # of the control over itself


def lift(low: Sides, high: Sides, kind: Kind, alpha: float, *, stated: bool, more: More = OUTCOMES) -> Lift:
    """Return the lift of one variant over another; each bound is wrong at some time with probability alpha.

    The outcomes are those of `contrast`. Without a range nothing is stated unless the difference is (`stated`), and
    neither if outcomes may be below 0.
    """
    if not len(low[0]):
        return Lift()
    (mean, base), (one, other) = linear(low, more, len(low[0]))
    difference = float((one - other).mean()) if more.per is None else mean - base
    if kind.bounded and kind.low >= 0:
        most, most_other = (y.mean(axis=1) / kind.high for y in high)
        upper = ratios.largest_ratio(most, other / kind.high, math.log(alpha)) - 1
        lower = ratios.least_ratio(one / kind.high, most_other, math.log(alpha)) - 1
    elif not kind.bounded and stated:
        lower, upper = ratios.normal_lift(difference, base, one, other, math.log(alpha))
    else:
        lower, upper = -np.inf, np.inf
    return Lift.of_share(difference, base, lower, upper)


def _gaps(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the differences of pairs, in each of which the outcomes of a variant are averaged."""
    return np.asarray(one.mean(axis=1) - other.mean(axis=1))


def linear(sides: Sides, more: More, n: int) -> tuple[tuple[float, float], np.ndarray]:
    """Return the mean, or ratio of sums, of two variants in the first n pairs, and what each pair adds, float64[2, n].

    The error of a ratio is, but for a part that is negligible for many pairs, the mean of (y - ratio m) over the mean
    of the denominators m.
    """
    values, terms = [], np.empty((2, n))
    for side in (0, 1):
        y = sides[side][:n] if more.shift is None else sides[side][:n] - more.shift[side][:n]
        terms[side] = y.mean(axis=1)
        values.append(float(terms[side].mean()))
        if more.per is not None:
            m = more.per[side][:n].mean(axis=1)
            values[side] = values[side] / float(m.mean()) if m.any() else np.nan
            terms[side] = (terms[side] - values[side] * m) / m.mean() if m.any() else 0.0
    return (values[0], values[1]), terms


def _moments(sides: Sides, more: More, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return differences, and the standard deviation and squared skewness of what each pair adds, float64[looks]."""
    if more.per is None:
        _, terms = linear(sides, more, len(sides[0]))
        return asymptotic.moments(terms[0] - terms[1], sizes)
    found = np.full((3, len(sizes)), np.nan)
    for k, n in enumerate(sizes.tolist()):
        (one, other), terms = linear(sides, more, n)
        found[0, k] = one - other
        if n >= asymptotic.FEWEST:
            found[1:, k] = [x[0] for x in asymptotic.moments(terms[0] - terms[1], np.array([n]))[1:]]
    return found[0], found[1], np.where(np.isnan(found[2]), np.inf, found[2])


def in_the_limit(
    sides: Sides, more: More, sizes: np.ndarray, alpha: float, names: tuple[str, str]
) -> tuple[np.ndarray, np.ndarray, str]:
    """Return means of differences and half the width of their intervals, float64[looks], and what is missing."""
    value, sd, skew2 = _moments(sides, more, sizes)
    counts = [_uncommon(y.ravel(), sizes * y.shape[1]) for y in sides]
    known = asymptotic.suffices(sizes, np.minimum(*counts), skew2) & np.isfinite(value)
    half = np.where(known, sd * asymptotic.radius(sizes, math.log(alpha)), np.inf)
    return value, half, "" if known[-1] else _lack(sides, [int(count[-1]) for count in counts], skew2[-1], names)


def _uncommon(values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return how many numbers are other than the commonest one, int64[looks], FEWEST_UNCOMMON if more are later."""
    n, prefix = int(sizes[-1]), 1024
    while prefix < n and asymptotic.uncommon(values[:prefix], np.array([prefix]))[0] < asymptotic.FEWEST_UNCOMMON:
        prefix *= 2  # more numbers never make it less
    few = sizes[sizes <= prefix]
    enough = np.full(len(sizes) - len(few), asymptotic.FEWEST_UNCOMMON)
    return np.concatenate([asymptotic.uncommon(values[:prefix], few), enough])


def _lack(sides: Sides, counts: list[int], skew2: float, names: tuple[str, str]) -> str:
    """Return what has to come before anything is stated."""
    for y, count, name in zip(sides, counts, names, strict=True):
        if count < asymptotic.FEWEST_UNCOMMON:
            found, times = np.unique(y.ravel(), return_counts=True)
            outcome = f"an outcome other than {found[np.argmax(times)]:g}"
            return f"{count} of {asymptotic.FEWEST_UNCOMMON} visitors of {name} with {outcome}"
    size, what = len(sides[0]), f"pairs of {' and '.join(names)}"
    if size < asymptotic.FEWEST:
        return f"{size:,} of {asymptotic.FEWEST:,} {what}"
    if not math.isfinite(skew2):
        return f"all {size:,} {what} have the same difference"
    return f"{size:,} of {math.ceil(asymptotic.PER_SKEW * skew2):,} {what} that outcomes as skewed as these need"


def mean_interval(
    low: np.ndarray, high: np.ndarray, kind: Kind, alpha: float, per: np.ndarray | None = None
) -> tuple[float, float]:
    """Return an interval of the mean outcome of one variant at present; it never lacks the mean itself.

    `low` and `high` are the outcomes in the order of arrival, float64[n], with the least and with the largest value
    where they are open. The mean is outside at some time with probability alpha.
    """
    n = len(low)
    if not n:
        return kind.low, kind.high
    if kind.binary:
        return float(rate_bounds(low.sum(), n, alpha)[0]), float(rate_bounds(high.sum(), n, alpha)[1])
    size = np.array([n])
    if not kind.bounded:
        more = More(per=None if per is None else (per[:, None], per[:, None]))
        (value, _), terms = linear((low[:, None], low[:, None]), more, n)
        _, sd, skew2 = asymptotic.moments(terms[0], size)
        if not np.isfinite(value) or not asymptotic.suffices(size, asymptotic.uncommon(low, size), skew2)[0]:
            return -np.inf, np.inf
        half = sd[0] * asymptotic.radius(size, math.log(alpha / 2))[0]
        return float(value - half), float(value + half)
    width, log_alpha = kind.high - kind.low, math.log(alpha / 2)
    above = looks.upper_bounds((high - kind.low) / width, log_alpha, size)[-1]
    below = looks.upper_bounds((kind.high - low) / width, log_alpha, size)[-1]
    return float(kind.high - width * below), float(kind.low + width * above)
