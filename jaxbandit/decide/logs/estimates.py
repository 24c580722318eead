"""Estimates of the value of a policy from the rows of a log, each with its interval or the reason that it has none.

Rewards are in [0, 1] here; only IPS, which changes with their origin, is of the rewards as they are. With w_i the
probability of row i's action under the policy over its propensity, and q a model of mean rewards, the rows whose mean
is the estimate are

    IPS  w_i r_i          DR  sum_a e(a|x_i) q(x_i, a) + w_i (r_i - q(x_i, a_i)).

Rows of DR are in [-W, 1 + W] if q is in [0, 1] and no weight exceeds W.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxbandit.support import special
from jaxbandit.theory.betting_interval import betting_interval, empirical_bernstein
from jaxbandit.theory.intervals import Interval

NORMAL, BETTING, BERNSTEIN = "normal", "betting", "empirical Bernstein"
# Least ESS min(v, 1 - v) for a normal interval, v = SNIPS: measured (benchmarks/results/contexts.md), not proved.
ENOUGH = 30.0


class Rows(NamedTuple):
    """What the estimates of a policy need of each row."""

    weight: np.ndarray  # float64[n]
    reward: np.ndarray  # float64[n] in [0, 1]
    fitted: np.ndarray  # float64[n], rows of DR with a model of the other folds
    predictable: np.ndarray  # float64[n], rows of DR with a model in [0, 1] of the rows before
    bound: float  # W: no weight exceeds it
    doubt: str  # why that is not proved for all contexts and arms; "" if it is
    mass: float  # of the policy on arms about whose rewards the rows say nothing, which bounds the bias
    best: str = "SNIPS"  # the estimator of the headline where no normal interval is shown: "SNIPS" or "DR"

    @property
    def proved(self) -> bool:
        """Whether the weights are right and W is their bound, so that a betting interval is proved."""
        return not self.doubt

    @property
    def inverse(self) -> np.ndarray:
        """The rows of IPS for rewards in [0, 1], float64[n]."""
        return self.weight * self.reward

    @property
    def center(self) -> float:
        """The best estimate where no normal interval is shown; NaN if all weights are 0."""
        return float(self.fitted.mean()) if self.best == "DR" else self_normalized(self, 0.5).value


def doubly_robust(chances: np.ndarray, model: np.ndarray, actions: np.ndarray, weight: np.ndarray, reward: np.ndarray):
    """Return the rows of DR, float64[n], given e and q, float64[n, num_arms] each."""
    own = model[np.arange(len(actions)), actions]
    return np.einsum("ij,ij->i", chances, model) + weight * (reward - own)


def normal(rows: np.ndarray, confidence: float) -> Interval[float]:
    """Return the mean of rows with its normal interval."""
    mean, se = float(rows.mean()), float(rows.std(ddof=1)) / len(rows) ** 0.5
    half = _quantile(confidence) * se
    return Interval(mean, se, mean - half, mean + half)


def self_normalized(rows: Rows, confidence: float) -> Interval[float]:
    """Return SNIPS, sum w r/sum w, with the normal interval of a ratio; NaN if all weights are 0."""
    total = float(rows.weight.sum())
    if total == 0:
        return Interval(np.nan, np.nan, np.nan, np.nan)
    value = float(rows.inverse.sum()) / total
    se = float(np.sqrt(np.sum((rows.weight / total * (rows.reward - value)) ** 2)))
    half = _quantile(confidence) * se
    return Interval(value, se, value - half, value + half)


def betting(rows: np.ndarray, low: float, high: float, confidence: float) -> Interval[float]:
    """Return the mean of rows in [low, high] with its betting interval."""
    return _bounded(betting_interval, rows, low, high, confidence)


def bernstein(rows: np.ndarray, low: float, high: float, confidence: float) -> Interval[float]:
    """Return the mean of rows in [low, high] with its empirical Bernstein interval."""
    return _bounded(empirical_bernstein, rows, low, high, confidence)


def _bounded(
    interval: Callable[[np.ndarray, float], Interval[float]],
    rows: np.ndarray,
    low: float,
    high: float,
    confidence: float,
) -> Interval[float]:
    width = high - low
    unit = interval(np.clip((rows - low) / width, 0.0, 1.0), confidence)  # beyond the range by rounding only
    return Interval(float(rows.mean()), width * unit.se, low + width * unit.low, low + width * unit.high)


def effective_rows(weight: np.ndarray) -> float:
    """Return the effective sample size (sum w)^2/sum w^2, 0 if all weights are 0."""
    largest = float(weight.max(initial=0.0))
    return float(np.sum(weight / largest)) ** 2 / float(np.sum((weight / largest) ** 2)) if largest else 0.0


def enough(rows: Rows) -> float:
    """Return ESS min(v, 1 - v), which must be at least `ENOUGH` for a normal interval; v is SNIPS."""
    total = float(rows.weight.sum())
    value = float(rows.inverse.sum()) / total if total else 0.0
    return effective_rows(rows.weight) * min(value, 1 - value)


def _quantile(confidence: float) -> float:
    return float(special.ndtri((1 + confidence) / 2))
