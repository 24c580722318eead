"""The interval of the mean of a bounded variable by bets whose stakes look at the rows before them.

Rows need not be independent, but their order matters for the width. docs/mathematics.md has the proof.
"""

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.theory.intervals import CONFIDENCE, Interval

HALVINGS = 26  # of [0, 1]: the ends are too far outside by at most 1.5e-8


def betting_interval(values: ArrayLike, confidence: float = CONFIDENCE) -> Interval[float]:
    """Return the interval of the mean of `values` in [0, 1], float[n], n >= 1, each with this mean given those before.

    With v_0 = 1/4, mu_i = (1/2 + sum_{j<=i} X_j)/(i + 1) and v_i = (1/4 + sum_{j<=i} (X_j - mu_j)^2)/(i + 1), the stake
    against m is min(sqrt(2 log(2/alpha)/(n v_{i-1})), 1/(2m)). The lower end is the largest m against which the largest
    wealth reaches 2/alpha, 0 if there is none; the upper end is the same for 1 - X.

    Guarantee: coverage of at least `confidence` for every n, however skewed the values are.

    Source: Waudby-Smith and Ramdas (2024), "Estimating means of bounded random variables by betting".
    """
    values = _unit_values("betting_interval", values, confidence, "1 value")
    n, enough = len(values), np.log(2 / (1 - confidence))
    count = np.arange(2, n + 2)  # of the rows up to each one, and one more
    centers = (0.5 + np.cumsum(values)) / count
    spread = (0.25 + np.cumsum((values - centers) ** 2)) / count
    stakes = np.sqrt(2 * enough / (n * np.concatenate([[0.25], spread[:-1]])))
    low, high = _lower(values, stakes, enough), 1 - _lower(1 - values, stakes, enough)
    se = float(values.std(ddof=1)) / n**0.5 if n > 1 else 0.0
    return Interval(float(values.mean()), se, low, high)


def _lower(values: np.ndarray, stakes: np.ndarray, enough: float) -> float:
    """Return the largest mean against which the log wealth reaches `enough`; the wealth falls with the mean."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        mean = (low + high) / 2
        wealth = np.log1p(np.minimum(stakes, 1 / (2 * mean)) * (values - mean)).cumsum().max()
        low, high = (mean, high) if wealth >= enough else (low, mean)
    return low


def empirical_bernstein(values: ArrayLike, confidence: float = CONFIDENCE) -> Interval[float]:
    """Return the interval of the mean of independent `values` in [0, 1], float[n], n >= 2, by their sample variance V.

    Its ends are mean +- (sqrt(2 V log(4/alpha)/n) + 7 log(4/alpha)/(3 (n - 1))), which may be outside [0, 1].

    Guarantee: coverage of at least `confidence` for every n. It is wider than `betting_interval`.

    Source: Maurer and Pontil (2009), "Empirical Bernstein bounds and sample variance penalization", Theorem 4.
    """
    values = _unit_values("empirical_bernstein", values, confidence, "2 values")
    n, log = len(values), np.log(4 / (1 - confidence))
    mean, variance = float(values.mean()), float(values.var(ddof=1))
    half = float(np.sqrt(2 * variance * log / n) + 7 * log / (3 * (n - 1)))
    return Interval(mean, (variance / n) ** 0.5, mean - half, mean + half)


def _unit_values(where: str, values: ArrayLike, confidence: float, fewest: str) -> np.ndarray:
    values = np.asarray(values, np.float64)
    enough = len(values) >= int(fewest[0])
    if not enough or not np.all((values >= 0) & (values <= 1)) or not 0 < confidence < 1:
        given = f"{where}: {len(values)} values at confidence = {confidence}"
        raise ValueError(f"{given}, must be at least {fewest}, all in [0, 1], and a confidence in (0, 1)")
    return values
