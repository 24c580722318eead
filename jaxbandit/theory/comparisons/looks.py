"""Betting bounds of a mean at many sample sizes at once, for long samples.

The bounds are those of `betting.py`, from counts of the distinct values at each look. Many distinct values are divided
among the two nearest points of a grid with the same mean, which makes the bound a little larger.
"""

import numpy as np

from jaxbandit.theory.comparisons.betting import STAKES, log_mixture

_HALVINGS = 40  # of (-1, 1)
_RATIO = 1.02  # of two successive sample sizes
GRID = 129  # points among which more distinct values than that are divided


def sample_sizes(n: int) -> np.ndarray:
    """Return the sample sizes up to n that are looked at, int64[looks]: n, and a grid that does not depend on n."""
    grid = np.unique(np.floor(_RATIO ** np.arange(1, np.log(max(n, 1)) / np.log(_RATIO) + 1)).astype(np.int64))
    return np.unique(np.append(grid[grid <= n], n)) if n else np.zeros(0, np.int64)


def upper_bounds(differences: np.ndarray, log_alpha: float, sizes: np.ndarray) -> np.ndarray:
    """Return the upper bound of the mean at each look, float64[looks] in (-1, 1], never below the mean so far.

    Args:
      differences: float64[n] <= 1, in units of the range of a score.
      sizes: int64[looks], increasing, of which the last is n: those of `sample_sizes`, or n alone, whose bound does not
        depend on the order of the differences.
    """
    values, counts = _count(differences, sizes)
    low, high = np.full(len(sizes), -1.0), np.ones(len(sizes))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = _log_wealth(values, counts, middle) >= -log_alpha
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def log_wealth(differences: np.ndarray, mean: float, sizes: np.ndarray) -> np.ndarray:
    """Return the log of what bets against a mean of at least this one have won at each look, float64[looks].

    The upper bound of `upper_bounds` is below the mean where this is at least -log alpha.
    """
    values, counts = _count(differences, sizes)
    return _log_wealth(values, counts, np.full(len(sizes), mean))


def _log_wealth(values: np.ndarray, counts: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return the log wealth at each look, for a mean of its own."""
    logs = np.log1p(STAKES * ((means[:, None] - values) / (1 - means)[:, None])[..., None])
    return log_mixture(np.einsum("lj,ljg->lg", counts, logs))


def on_grid(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points, for each number the point at or below it, int64[n], and its share of the next one, float64[n].

    The points are the distinct numbers, or a grid if there are too many. A number that is divided among its two
    neighbors with the same mean makes what bets win smaller, because the logarithm is concave.
    """
    points, places = np.unique(values, return_inverse=True)
    if len(points) <= GRID:
        return points, places, np.zeros(len(values))
    points = np.linspace(points[0], points[-1], GRID)
    left = np.clip(np.searchsorted(points, values, side="right") - 1, 0, GRID - 2)
    return points, left, np.clip((values - points[left]) / np.diff(points)[left], 0.0, 1.0)


def _count(differences: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values, float64[values], and the weight of each of them at each look, float64[looks, values]."""
    look = np.searchsorted(sizes, np.arange(1, len(differences) + 1))
    values, left, right_share = on_grid(differences)
    counts = np.zeros((len(sizes), len(values)))
    np.add.at(counts, (look, left), 1 - right_share)
    some = right_share > 0
    np.add.at(counts, (look[some], left[some] + 1), right_share[some])
    return values, np.cumsum(counts, axis=0)
