"""A search over fixed folds, which are all there is: bounds without probability, and the answer of a full search.

The folds are neither independent nor a sample of anything, so nothing is assumed about missing ones but the range
[low, high] of a score. The mean m_k of configuration k over all folds is at most the mean U_k of its known scores and
`high` for each missing one, and at least L_k with `low`. So configuration b is at most max U_k - L_b below the best
one, and k is excluded once U_k < L_j for some j. An infinite end of the range excludes nothing. Only fits before the
best mean is known could be saved, so the configuration that leads after the first fold is completed first.
"""

import math
from collections.abc import Iterator

import numpy as np

from jaxbandit.base.contract import Promise
from jaxbandit.decide.core.certificate import Certificate
from jaxbandit.decide.integrations.sklearn_ranges import Range
from jaxbandit.decide.tuning.allocation import DRAW
from jaxbandit.decide.tuning.evidence import Request

TOLERANCE = 1e-12  # relative to the scores; their sums are rounded
FOLDS = (
    "the means are over these {} folds of this data set alone; folds are neither independent nor a random sample, so "
    "nothing is guaranteed for other splits or other data"
)
MEASURED = "an estimator that draws random numbers would score otherwise if it were fitted again; the scores count"


class FoldSearch:
    """The scores of configurations on fixed folds, and which are needed next."""

    def __init__(
        self,
        count: int,
        num_folds: int,
        limits: Range,
        *,
        epsilon: float | None,
        max_fits: int | None,
        everything: bool,
        seed: int,
    ):
        """Begin without scores.

        Args:
          count: number of configurations.
          num_folds: number of folds, F.
          limits: the range of a score.
          epsilon: difference between means at which the search ends; None means 0.
          max_fits: number of fits after which it ends, None for no limit; whoever fits has to obey it.
          everything: whether all folds of all configurations are scored.
          seed: seed of the order of the configurations if there are more than `max_fits`.
        """
        self._low, self._high = limits
        self._epsilon = epsilon or 0.0
        self._max_fits, self.everything, self._seed = max_fits, everything, seed
        self.scores = np.full((count, num_folds), np.nan)
        self.fits = np.zeros(count, np.int64)
        self.failed = np.zeros(count, bool)

    def requests(self) -> Iterator[Request]:
        """Yield the pairs of a configuration and a fold to score next."""
        count, num_folds = self.scores.shape
        first = np.arange(count)
        if self._max_fits is not None and self._max_fits < count:
            first = np.random.default_rng((self._seed, DRAW)).permutation(count)
        yield Request(first, np.zeros(count, np.int64))
        while not self.stopped:
            waiting = np.flatnonzero(~self.excluded() & (self.fits < num_folds))
            if (leader := self.best) in waiting and not self.everything and math.isfinite(self._high):
                rest = np.arange(self.fits[leader], num_folds)
                yield Request(np.full(len(rest), leader), rest)
                continue
            order = waiting[np.lexsort((waiting, -np.nan_to_num(self.means()[waiting]), -self.fits[waiting]))]
            if self._max_fits is not None:
                # As many configurations as can be scored on all folds with what is left of the budget.
                left = int(self._max_fits - self.fits.sum())
                order = order[: max(left // int(num_folds - self.fits[order[0]]), 1)]
            yield Request(order, self.fits[order])

    def enter(self, arms: np.ndarray, folds: np.ndarray, scores: np.ndarray) -> None:
        """Take scores, NaN for a fit without a score, of each configuration in the order of the folds."""
        self.scores[arms, folds] = scores
        np.add.at(self.fits, arms, 1)
        self.failed[arms[np.isnan(scores)]] = True

    def means(self) -> np.ndarray:
        """Return the means of the known scores, float64[K], NaN if there are none or a fit failed."""
        known = self.scores[:, : int(self.fits.max(initial=0))]
        n = np.maximum(self.fits, 1)
        means = np.where(self.fits == self.scores.shape[1], _mean(self.scores), np.nansum(known, 1) / n)
        return np.where(self.failed | (self.fits == 0), np.nan, means)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and upper bounds of the means over all folds, float64[K] each; -inf after a failure."""
        num_folds = self.scores.shape[1]
        missing, means = num_folds - self.fits, np.nan_to_num(self.means())
        ends = []
        for end in (self._low, self._high):
            rest = np.where(missing > 0, end, 0.0) * np.maximum(missing, 1)
            bound = np.where(missing > 0, (means * self.fits + rest) / num_folds, means)
            ends.append(np.where(self.failed, -np.inf, bound))
        return ends[0], ends[1]

    def excluded(self) -> np.ndarray:
        """Return which configurations cannot be the best, bool[K]."""
        if self.everything:
            return np.zeros(len(self.failed), bool)
        low, high = self.bounds()
        leader = int(np.argmax(low))
        most = low[leader]
        if not math.isfinite(most):
            return self.failed.copy()
        below = high < most - TOLERANCE * self._size()
        # Nobody can exceed the end of the range, and the first of equal configurations is recommended.
        later = np.arange(len(low)) > leader if most >= self._high else np.zeros(len(low), bool)
        return self.failed | below | later

    def _size(self) -> float:
        """The largest modulus of what is summed, to which rounding is relative: a metric may be of any scale."""
        known = float(np.nanmax(np.abs(self.scores), initial=0.0))
        return max(known, abs(self._high)) if math.isfinite(self._high) else known

    @property
    def best(self) -> int:
        """The configuration with the largest mean among those with the most folds; the first one if all fits failed."""
        n = np.where(self.failed, -1, self.fits)
        return int(np.argmax(np.where(n == n.max(), np.nan_to_num(self.means(), nan=-np.inf), -np.inf)))

    def achieved(self, arm: int) -> float:
        """Return by how much at most the mean of a configuration is below the best one, with certainty."""
        low, high = self.bounds()
        rivals = ~self.excluded() & ~self.failed
        rivals[arm] = False
        if self.failed[arm]:
            return math.inf
        return max(0.0, float(high[rivals].max() - low[arm])) if rivals.any() else 0.0

    @property
    def stopped(self) -> bool:
        """Whether the search ends by itself."""
        unfinished = ~self.failed & (self.fits < self.scores.shape[1]) & ~self.excluded()
        if self.everything:
            return bool((self.fits == self.scores.shape[1]).all())
        return not unfinished.any() or (0 < self._epsilon >= self.achieved(self.best))

    def certificate(self, arm: int, names: tuple[str, ...], remarks: tuple[str, ...]) -> Certificate:
        """Return what is known of a configuration."""
        low, high = self.bounds()
        excluded, assumptions = self.excluded(), [FOLDS.format(self.scores.shape[1]), MEASURED]
        if math.isfinite(self._low) or math.isfinite(self._high):
            assumptions.append(f"each score is in [{self._low:g}, {self._high:g}]")
        return Certificate(
            rule="fixed folds",
            guarantee=Promise(0.0, self._epsilon),
            stopped=self.stopped,
            recommendation=np.array([arm], np.int32),
            pulls=self.fits.copy(),
            means=self.means(),
            low=low,
            high=high,
            coverage=1.0,
            survivors=~(excluded | self.failed),
            assumptions=tuple(assumptions),
            achieved=self.achieved(arm),
            excluded=excluded | self.failed,
            names=names,
            over="folds",
            notes=remarks,
        )


def _mean(scores: np.ndarray) -> np.ndarray:
    return np.average(scores, axis=1)  # as scikit-learn does, so that ties are the same
