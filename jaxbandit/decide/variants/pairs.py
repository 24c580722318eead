"""Comparisons of all pairs of variants of a log: which visitors are paired, and the bounds of the differences."""

import itertools
from collections.abc import Collection, Sequence
from fractions import Fraction

import numpy as np

from jaxbandit.decide.variants import bounds
from jaxbandit.decide.variants.bounds import Contrast, Lift
from jaxbandit.decide.variants.outcomes import Kind
from jaxbandit.decide.variants.stages import Stages
from jaxbandit.decide.variants.visitors import ROWWISE, Visitors
from jaxbandit.theory.comparisons.achieved import Comparison

MOST_OF_FEWER = 4  # visitors of the smaller variant in a pair, if the planned shares are not equal


class Pairs:
    """The visitors of a log whose outcomes are final, in pairs of two variants.

    Without blocks, the i-th visitor of one variant is paired with the i-th of the other, counted from the later entry
    if they are of different stages; with blocks, the two visitors of a block. If the planned shares of two variants are
    as p to q, the mean of the i-th p visitors is paired with that of the i-th q. An open outcome is at least the least
    and at most the largest possible value; without a range, pairs end where an outcome is open.
    """

    def __init__(self, log: Visitors, stages: Stages, kind: Kind, planned: np.ndarray | None = None):
        """Prepare the pairs; `planned` is float64[variants], shares that were fixed in advance, or None."""
        self.log, self.kind, self._stages, self._planned = log, kind, stages, planned
        self.rows = [np.flatnonzero((log.variant == v) & log.final) for v in range(len(log.names))]
        open_ = np.isnan(log.outcome)
        self.low, self.high = (np.where(open_ & np.isfinite(end), end, log.outcome) for end in (kind.low, kind.high))

    def of_rows(self, rows: np.ndarray, stages: Stages) -> "Pairs":
        """Return the pairs among some of the visitors, bool[rows], of the same variants."""
        some = {name: None if (x := getattr(self.log, name)) is None else x[rows] for name in ROWWISE}
        return Pairs(self.log._replace(**some), stages, self.kind, self._planned)

    def mean(self, v: int) -> float:
        """Return the mean outcome of a variant, or the ratio; open ones count as the least value; NaN without any."""
        rows = self.rows[v][np.isfinite(self.low[self.rows[v]])]
        size = float(len(rows) if self.log.per is None else self.log.per[rows].sum())
        return float(self.low[rows].sum()) / size if size else np.nan

    def rows_of(self, one: int, other: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of the paired visitors of two variants, int64[pairs, p] and int64[pairs, q]."""
        i, j = self.rows[one], self.rows[other]
        if self._stages.stage[one] != self._stages.stage[other]:
            start = max(self._stages.entry[one], self._stages.entry[other])
            i, j = i[i >= start], j[j >= start]
        if self.log.block is None:
            p, q = (1, 1) if self._planned is None else numbers_of(self._planned[one], self._planned[other])
            pairs = min(len(i) // p, len(j) // q)
            i, j = i[: p * pairs].reshape(pairs, p), j[: q * pairs].reshape(pairs, q)
        else:
            _, at_i, at_j = np.intersect1d(self.log.block[i], self.log.block[j], return_indices=True)
            i, j = i[at_i], j[at_j]
            order = np.argsort(np.maximum(i, j))
            i, j = i[order][:, None], j[order][:, None]
        if not self.kind.bounded:
            open_ = np.isnan(self.log.outcome[i]).any(axis=1) | np.isnan(self.log.outcome[j]).any(axis=1)
            end = int(np.argmax(open_)) if open_.any() else len(i)
            i, j = i[:end], j[:end]
        return i, j

    def _sides(self, one: int, other: int) -> tuple[bounds.Sides, bounds.Sides, bounds.More]:
        """Return the least and the largest possible outcomes of the pairs of two variants, and what else they have."""
        i, j = self.rows_of(one, other)
        more = (None if x is None else (x[i], x[j]) for x in (self.log.shift, self.log.per))
        return (self.low[i], self.low[j]), (self.high[i], self.high[j]), bounds.More(*more)

    def lift(self, one: int, other: int, alpha: float, *, stated: bool) -> Lift:
        """Return by what share the mean of one variant is above that of another, with bounds at level alpha each."""
        low, high, more = self._sides(one, other)
        return bounds.lift(low, high, self.kind, alpha, stated=stated, more=more)

    def contrast(self, one: int, other: int, alpha: float, *, history: bool) -> Contrast:
        """Return the mean outcome of one variant minus that of another, with bounds at level alpha each."""
        low, high, more = self._sides(one, other)
        names = self.log.names[one], self.log.names[other]
        found = bounds.contrast(low, high, self.kind, alpha, names, history and self.log.ordered, more)
        if not found.missing or not any(np.isnan(self.log.outcome[self.rows[v]]).any() for v in (one, other)):
            return found
        until = f"pairs end at the first visitor without an outcome, after {found.pairs:,}"
        return found._replace(missing=f"{found.missing}; {until}")


def numbers_of(one: float, other: float) -> tuple[int, int]:
    """Return how many visitors of two variants with these planned shares are compared as a pair.

    The smaller number is at most 4, and the other one is not rounded up if it is large.
    """
    ratio = Fraction(max(one, other) / min(one, other)).limit_denominator(MOST_OF_FEWER)
    if ratio > MOST_OF_FEWER:
        ratio = Fraction(int(max(one, other) / min(one, other) + 1e-9))
    many, few = ratio.numerator, ratio.denominator
    return (many, few) if one >= other else (few, many)


class AllPairs(Comparison):
    """Bounds of all pairs at present.

    If every variant is worse than another one, nobody has any bounds.
    """

    def __init__(
        self,
        pairs: Pairs,
        level: np.ndarray,
        maximize: bool,
        withdrawn: Collection[tuple[int, int]] = (),
        left_out: Sequence[int] = (),
    ):
        """Compute the bounds.

        Args:
          pairs: the paired visitors.
          level: float64[variants, variants], error probability of each pair in one direction; in both directions for
            outcomes without a range, whose bounds hold in the limit only.
          maximize: whether larger outcomes are better; otherwise the differences change their signs.
          withdrawn: pairs of which nothing is known, because their bounds contradict each other.
          left_out: variants that are not compared with, and are excluded.
        """
        self.num_arms, self.missing = len(level), ""
        self._upper = np.zeros(level.shape)
        for i, j in itertools.combinations(range(self.num_arms), 2):
            one, other = (i, j) if maximize else (j, i)
            if (i, j) in withdrawn or (j, i) in withdrawn:
                self._upper[i, j] = self._upper[j, i] = np.inf
                continue
            alpha = level[i, j] if pairs.kind.bounded else level[i, j] / 2  # two equal ones are apart with level[i, j]
            found = pairs.contrast(i, j, float(alpha), history=False)
            self._upper[one, other], self._upper[other, one] = found.high, -found.low
            self.missing = self.missing or found.missing
        self._upper[:, list(left_out)] = np.inf
        self._upper[list(left_out)] = -np.inf
        self._claims = self._upper < 0
        self.cycle = bool(self._claims.any(axis=1).all())
        if self.cycle:
            self._claims[:] = False
            self._upper[~np.eye(self.num_arms, dtype=bool)] = np.inf

    def upper(self, arm: int) -> np.ndarray:
        """Return how much better each variant is than this one at most, float64[variants]; 0 for itself."""
        return self._upper[:, arm]

    def claims(self) -> np.ndarray:
        """Return which variants are worse than which for sure, bool[variants, variants]."""
        return self._claims
