"""Confidence sequences of the mean of the worst share of bounded scores (expected shortfall, or CVaR).

For a score X in [0, 1] and a share w, that mean is

    s = max over t of t - E[(t - X)+] / w,                                              (1)

where a w-quantile of X attains the maximum (Rockafellar and Uryasev 2000, Theorem 1). Both bounds are bets against a
value c of s, at stakes a of which the wealth is a mixture.

Lower bound. If s <= c, then E[(t - X)+] >= m(t) := max(w (t - c), 0) for every t, by (1) and because it is never
negative. Let t_i > 0 be a function of the scores before X_i. The wealth, the product of 1 + a (m(t_i) - (t_i - X_i)+) /
(t_i - m(t_i)), is then a nonnegative supermartingale, because (t - X)+ <= t, and it exceeds 1/alpha at some time with
probability at most alpha (Ville). Each factor falls with c, so that all c above s are refuted on this event only, and
the largest c that is refuted is a lower bound of s at all times at once.

Upper bound. Let X' be X rounded up to a multiple of 1/GRID; its s' is not below s. Let t' be the multiple of 1/GRID
that is a w-quantile of X', so that s' = t' - E[(t' - X')+] / w <= t'. If s' >= c, then E[(t' - X')+] <= w (t' - c), and
the wealth of t', the product of 1 + a ((t' - X'_i)+ / (w (t' - c)) - 1), is a nonnegative supermartingale. Nobody knows
t', but a c that the wealth of every t >= c refutes is refuted by that of t', too: no error probability is divided.
Factors grow with c, so that the least c that is refuted is an upper bound of s' at all times at once.

Source: bets are those of Waudby-Smith and Ramdas (2024), "Estimating means of bounded random variables by betting".
Agrawal, Koolen and Juneja (2021), "Optimal best-arm identification methods for tail-risk measures", have the bounds of
laws with a known moment. A band of the distribution function that holds at all times (Howard and Ramdas 2022, Theorem
2) bounds s as well, by its half width over w, which was 3 to 20 times as wide for w = 1/4 and 200 or 1,000 scores.
"""

import bisect
import math
from collections.abc import Iterable

import numpy as np

from jaxbandit.base.arguments import OpenUnit
from jaxbandit.base.calls import checked
from jaxbandit.theory.comparisons.betting import log_mixture

GRID = 120  # thresholds t of the upper bound, among them many simple fractions
EVERY = 10  # scores between two sizes whose upper bound is remembered, and the inverse of their share of a long sample
STAKES = 0.98 * 2.0 ** -np.arange(8)
_LOG_WEIGHTS = -np.log((np.arange(8) + 1.0) * (np.arange(8) + 2.0) * 8 / 9)  # which add up to 1
_HALVINGS = 17  # of [0, 1]: a bound is too far outside by at most 1e-5
_ROUNDING = 1e-9  # by which a score may be above a threshold that it equals but for rounding
_SMALL = 1e-12  # in place of a mean of 0, which every positive number refutes


@checked
def worst_mean(scores: Iterable[float], worst: OpenUnit) -> float:
    """Return the mean of the smallest share `worst` of n >= 1 scores, of which one may count in part."""
    ordered = np.sort(np.asarray(scores if isinstance(scores, np.ndarray) else list(scores), np.float64))
    counts = np.clip(worst * len(ordered) - np.arange(len(ordered)), 0.0, 1.0)
    return float(counts @ ordered / counts.sum())


class ShortfallBounds:
    """Bounds of the mean of the worst share of scores in [least, most] that arrive one after the other.

    `ends` has (low, high), or (inf, -inf) once bounds of two times exclude each other, so that one of them is false.
    The lower bound is the largest of all times, and the upper bound the smaller one of that of the present scores and
    of those of sizes that do not depend on when one looks.
    """

    def __init__(self, worst: float, alpha: float, least: float = 0.0, most: float = 1.0):
        """Begin without scores; each of the two bounds may be wrong at some time with probability alpha."""
        self._worst, self._enough, self._least, self._width = worst, -math.log(alpha), least, most - least
        self._low, self._high, self._least_high, self._next = 0.0, 1.0, 1.0, EVERY
        self._ordered: list[float] = []
        self._scores: list[float] = []
        self._thresholds: list[float] = []  # for each score, from those before it
        self._counts = np.zeros(GRID + 1)  # of the scores rounded up

    @property
    def ends(self) -> tuple[float, float]:
        """The largest lower and the smallest upper bound so far."""
        if self._low > self._high:
            return math.inf, -math.inf
        return self._least + self._width * self._low, self._least + self._width * self._high

    def add(self, scores: Iterable[float]) -> None:
        """Take further scores in the order in which they were observed."""
        new = np.clip((np.asarray(list(scores), np.float64) - self._least) / self._width, 0.0, 1.0).tolist()
        if not new:
            return
        for score in new:
            rank = math.ceil(self._worst * len(self._ordered))
            self._thresholds.append(self._ordered[rank - 1] if rank else 0.0)
            bisect.insort(self._ordered, score)
            self._scores.append(score)
            self._counts[math.ceil(score * GRID - _ROUNDING)] += 1
            if len(self._scores) == self._next:
                self._least_high = min(self._least_high, self._upper())
                self._next += max(EVERY, self._next // EVERY)
        self._low, self._high = self._lower(), min(self._least_high, self._upper())

    def _lower(self) -> float:
        thresholds, scores = np.array([self._thresholds, self._scores])
        bets = thresholds > 0
        thresholds, short = thresholds[bets], np.maximum(thresholds - scores, 0.0)[bets]
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS if len(short) else 0):
            middle = (low + high) / 2
            least = np.maximum(self._worst * (thresholds - middle), 0.0)
            logs = np.cumsum(np.log1p(STAKES * ((least - short) / (thresholds - least))[:, None]), axis=0)
            low, high = (middle, high) if log_mixture(logs, _LOG_WEIGHTS).max() >= self._enough else (low, middle)
        return low

    def _upper(self) -> float:
        values = np.flatnonzero(self._counts) / GRID
        counts, knots = self._counts[self._counts > 0], np.arange(1, GRID + 1) / GRID
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            over = knots[knots >= middle]
            most = np.maximum(self._worst * (over - middle), _SMALL)
            short = np.maximum(over[:, None] - values, 0.0) / most[:, None]
            logs = np.einsum("v,tvs->ts", counts, np.log1p(STAKES * (short - 1)[..., None]))
            low, high = (low, middle) if log_mixture(logs, _LOG_WEIGHTS).min() >= self._enough else (middle, high)
        return min(high + _ROUNDING, 1.0)
