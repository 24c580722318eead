"""Comparisons of all pairs of variants of a log: which visitors are paired, and the bounds of the differences."""

from typing import NamedTuple

import numpy as np

from jaxbandit.decide.variants import bounds
from jaxbandit.decide.variants.bounds import Kind, Upper
from jaxbandit.decide.variants.stages import Stages
from jaxbandit.decide.variants.visitor_log import Log


class Pairs:
    """The visitors of a log whose outcomes are final, in pairs of two variants.

    Without blocks, the i-th visitor of one variant is paired with the i-th of the other, counted from the later entry
    if they are of different stages; with blocks, the two visitors of a block. An open outcome is at least the least
    and at most the largest possible value; without a range, pairs end where an outcome is open.
    """

    def __init__(self, log: Log, stages: Stages, final: np.ndarray, kind: Kind):
        """Prepare the pairs.

        Args:
          log: the visitors.
          stages: when the variants entered.
          final: bool[rows], whether the outcome of a visitor cannot change any more, as far as time says.
          kind: what the outcomes are.
        """
        self._log, self._stages, self._kind = log, stages, kind
        self.rows = [np.flatnonzero((log.variant == v) & final) for v in range(len(log.names))]
        self.low, self.high = (filled(log.outcome, end) for end in (kind.low, kind.high))

    def rows_of(self, one: int, other: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of the paired visitors of two variants, int64[pairs] each."""
        i, j = self.rows[one], self.rows[other]
        if self._stages.stage[one] != self._stages.stage[other]:
            start = max(self._stages.entry[one], self._stages.entry[other])
            i, j = i[i >= start], j[j >= start]
        if self._log.block is None:
            pairs = min(len(i), len(j))
            i, j = i[:pairs], j[:pairs]
        else:
            _, at_i, at_j = np.intersect1d(self._log.block[i], self._log.block[j], return_indices=True)
            i, j = i[at_i], j[at_j]
            order = np.argsort(np.maximum(i, j))
            i, j = i[order], j[order]
        if not self._kind.bounded:
            known = np.isfinite(self._log.outcome[i]) & np.isfinite(self._log.outcome[j])
            end = len(known) if known.all() else int(np.argmin(known))
            i, j = i[:end], j[:end]
        return i, j

    def upper(self, one: int, other: int, alpha: float) -> Upper:
        """Return upper bounds of the mean outcome of one variant minus that of another."""
        i, j = self.rows_of(one, other)
        return bounds.upper(self.high[i] - self.low[j], self._kind, alpha)


def filled(outcome: np.ndarray, end: float) -> np.ndarray:
    """Return outcomes with an end of the range where they are open, or still NaN if it is infinite."""
    return np.where(np.isnan(outcome), end if np.isfinite(end) else np.nan, outcome)


class AllPairs:
    """Bounds of all pairs at a moment, with the interface that `theory.comparisons.achieved` reads.

    The best variant is excluded only if a bound is false. So if every variant is, which has probability at most delta,
    nobody is excluded, and `contradiction` is True.
    """

    def __init__(self, pairs: Pairs, level: np.ndarray, maximize: bool):
        """Compute the bounds.

        Args:
          pairs: the paired visitors.
          level: float64[variants, variants], error probability of each pair in one direction.
          maximize: whether larger outcomes are better; otherwise the differences change their signs.
        """
        self.num_arms = len(level)
        self._upper, self._claims = np.zeros(level.shape), np.zeros(level.shape, bool)
        for i, j in np.argwhere(~np.eye(self.num_arms, dtype=bool)).tolist():
            found = pairs.upper(i, j, float(level[i, j]))
            at = (i, j) if maximize else (j, i)
            self._upper[at], self._claims[at] = found.last, found.negative
        self.contradiction = bool(self._claims.any(axis=1).all())
        self._claims &= not self.contradiction

    def excluded(self) -> np.ndarray:
        """Return which variants are worse than another one for sure, bool[variants]."""
        return np.asarray(self._claims.any(axis=1))

    def upper(self, arm: int) -> np.ndarray:
        """Return how much better each variant is than this one at most, float64[variants]; 0 for itself."""
        return self._upper[:, arm]

    def claims(self) -> np.ndarray:
        """Return which variants are worse than which for sure, bool[variants, variants]."""
        return self._claims


class Difference(NamedTuple):
    """The difference between a variant and the control, with its interval."""

    pairs: int
    value: float  # mean over the pairs, NaN without one; open outcomes count as the least value
    low: float
    high: float
    path: np.ndarray  # float64[looks, 4]: pairs, value, low, high


def difference(pairs: Pairs, v: int, control: int, alpha: float) -> Difference:
    """Return the mean outcome of a variant minus that of the control, which is outside the interval with alpha."""
    i, j = pairs.rows_of(v, control)
    above, below = pairs.upper(v, control, alpha / 2), pairs.upper(control, v, alpha / 2)
    if not len(i):
        return Difference(0, np.nan, -below.last, above.last, np.zeros((0, 4)))
    means = np.cumsum(pairs.low[i] - pairs.low[j])[above.sizes - 1] / above.sizes
    path = np.stack([above.sizes, means, -below.bounds, above.bounds], axis=1)
    return Difference(len(i), float(means[-1]), -below.last, above.last, path)
