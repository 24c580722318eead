"""What the values of two versions tell: whether one is at most a margin times the other, at any number of pairs.

Of the two versions, `small` is the one that has to be at most the margin times `large`: new and old if small values are
good, and otherwise old and new.
"""

import math
from typing import NamedTuple, Protocol

import numpy as np

from jaxbandit.decide.core.wording import statistic_name
from jaxbandit.decide.tuning.criterion import RARE, UNSEEN, Criterion, Stage
from jaxbandit.decide.tuning.evidence import Evidence
from jaxbandit.decide.tuning.reporting import PRICE, outlier_remarks
from jaxbandit.theory.comparisons.constancy import changes
from jaxbandit.theory.comparisons.contradiction import contradiction, of_comparison
from jaxbandit.theory.quantile_bounds import QuantileBounds

SMALL, LARGE = 0, 1  # columns of the values of pairs, and numbers of the two versions in the evidence


class Bounds(NamedTuple):
    """What is known of two versions; each bound is wrong at some time with probability delta."""

    ratio: float  # of what is compared, NaN without a value
    ratio_low: float = math.nan  # NaN for means
    ratio_high: float = math.nan
    excess_low: float = math.nan  # of the mean of `small` minus the margin times that of `large`; NaN for quantiles
    excess_high: float = math.nan


class Statement(Protocol):
    """What is known of two versions as pairs of values come."""

    words: str  # what is compared
    statistic: str  # "median", "mean" or such as "0.9-quantile"
    assumption: str  # which nobody has checked, besides what the kind of the calls has

    def enter(self, values: np.ndarray) -> None:
        """Take the values of further pairs, float64[pairs, 2], those of `small` first."""
        ...

    def verdict(self) -> str:
        """Return "pass", "fail", or "" as long as neither is known."""
        ...

    def bounds(self) -> Bounds:
        """Return what is known at present."""
        ...

    def alert(self) -> tuple[str, tuple[str, ...]]:
        """Return what the values contradict, "" if nothing, and remarks on their order and their law."""
        ...


def statement(
    names: tuple[str, str],
    *,
    margin: float,
    quantile: float | None,
    delta: float,
    score_range: tuple[float, float] | None,
) -> Statement:
    """Return the statement before the first value; `names` are those of `small` and `large`."""
    if quantile == 0.5:
        return RatioMedian(names, margin, delta)
    return Versions(names, margin, quantile, delta, score_range)


class RatioMedian:
    """The median of the ratio of the two values of a pair, in which changes that both versions share cancel."""

    statistic, assumption = "median", ""

    def __init__(self, names: tuple[str, str], margin: float, delta: float):
        """Begin without values."""
        self.words = f"the median of {' / '.join(names)} within a pair"
        self._margin, self._delta, self._ratios = margin, delta, np.zeros(0)
        self._median = QuantileBounds(0.5, delta)

    def enter(self, values: np.ndarray) -> None:
        """Take the values of further pairs, float64[pairs, 2]; a ratio of 0 to 0 is 1."""
        small, large = values.T
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(small == large, 1.0, small / large)
        self._median.add(ratios)
        self._ratios = np.concatenate([self._ratios, ratios])

    def verdict(self) -> str:
        """Return "pass", "fail", or "" as long as neither is known."""
        low, high = self._median.ends
        if low > high:
            return ""
        return "pass" if high <= self._margin else "fail" if low > self._margin else ""

    def bounds(self) -> Bounds:
        """Return what is known at present."""
        low, high = self._median.ends
        ratio = float(np.quantile(self._ratios, 0.5, method="inverted_cdf"))
        return Bounds(ratio, max(low, 0.0), high) if low <= high else Bounds(ratio, 0.0, math.inf)

    def alert(self) -> tuple[str, tuple[str, ...]]:
        """Return what the ratios contradict, "" if nothing, and remarks on their order."""
        order, delta = changes([self._ratios], names=["the pairs"], what="ratios"), min(2 * self._delta, 1.0)
        found = "bounds of the median at two times exclude each other" if self._median.crossed else ""
        said = contradiction(found=found, delta=delta) or contradiction(found=order.contradiction)
        return said, order.remarks


class Versions:
    """A quantile or the mean of either version; one of them times the margin is compared with the other."""

    def __init__(
        self,
        names: tuple[str, str],
        margin: float,
        quantile: float | None,
        delta: float,
        score_range: tuple[float, float] | None,
    ):
        """Begin without values."""
        self.statistic, self._names, self._margin, self._pairs = statistic_name(quantile), names, margin, 0
        self.words, self.assumption = f"the {self.statistic} of {names[SMALL]} divided by that of {names[LARGE]}", ""
        self._normal = score_range is None and quantile is None
        if self._normal:
            difference = f"{names[SMALL]} - {margin:g} x {names[LARGE]}"
            self.assumption = f"the differences {difference} in a pair are normal; {RARE}"
        if score_range is not None:
            self.assumption = f"all values are in [{score_range[0]:g}, {score_range[1]:g}]"
            score_range = (score_range[0], margin * score_range[1])  # of values times the margin, too
        least = UNSEEN if self._normal else 1
        criterion = Criterion(delta=delta, quantile=quantile, score_range=score_range, min_trainings=least)
        self._evidence = Evidence(criterion, [Stage(2, 0, True)])

    def enter(self, values: np.ndarray) -> None:
        """Take the values of further pairs, float64[pairs, 2]."""
        rows = np.arange(self._pairs, self._pairs + len(values))
        for version, by in ((SMALL, 1.0), (LARGE, self._margin)):
            self._evidence.enter(np.full(len(rows), version), rows, by * values[:, version])
        self._pairs += len(values)

    def verdict(self) -> str:
        """Return "pass", "fail", or "" as long as neither is known.

        Raises:
          ValueError: the values are no normal numbers.
        """
        comparison = self._evidence.comparison()
        worse, excess = bool(comparison.claims()[LARGE, SMALL]), float(comparison.upper(LARGE)[SMALL])
        found = "fail" if worse else "pass" if excess <= 0 else ""
        if found and self._normal and not self._evidence.varies():
            raise ValueError("all values of a version are the same, so that they are not normal; give quantile=0.5")
        return found

    def bounds(self) -> Bounds:
        """Return what is known at present."""
        small, large = self._evidence.location().tolist()
        ratio = _quotient(small, large / self._margin, math.nan)
        if self._evidence.criterion.quantile is None:
            low, _, high = (float(ends[SMALL]) for ends in self._evidence.comparison().differences(LARGE))
            return Bounds(ratio, excess_low=low, excess_high=high)
        low, high = self._evidence.bounds()
        least = _quotient(low[SMALL], high[LARGE] / self._margin, 0.0)
        return Bounds(ratio, least, _quotient(high[SMALL], low[LARGE] / self._margin, math.inf))

    def alert(self) -> tuple[str, tuple[str, ...]]:
        """Return what the values contradict, "" if nothing, and remarks on their order and their law."""
        evidence, delta = self._evidence, self._evidence.criterion.delta
        if self._normal or evidence.criterion.score_range is not None:  # pairs may change together
            differences = np.subtract(evidence.samples[SMALL], evidence.samples[LARGE])
            order = changes([differences], names=["the pairs"], what="differences")
        else:
            order = changes(list(map(np.array, evidence.samples)), together=False, names=self._names, what="values")
        found = of_comparison(evidence.comparison(), [SMALL], names=self._names, noun="version", delta=delta)
        remarks = outlier_remarks(evidence.outliers(SMALL), self._names, f"{PRICE}; or give a quantile")
        return found or contradiction(found=order.contradiction), (*order.remarks, *remarks)


def _quotient(one: float, other: float, unknown: float) -> float:
    """Return the ratio of two bounds of numbers that are not negative, `unknown` where it has none."""
    return float(max(one, 0.0) / other) if math.isfinite(one) and math.isfinite(other) and other > 0 else unknown
