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
        logs = np.log1p(STAKES * ((middle[:, None] - values) / (1 - middle)[:, None])[..., None])
        enough = log_mixture(np.einsum("lj,ljg->lg", counts, logs)) >= -log_alpha
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def _count(differences: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values, float64[values], and the weight of each of them at each look, float64[looks, values]."""
    look = np.searchsorted(sizes, np.arange(1, len(differences) + 1))
    values, places = np.unique(differences, return_inverse=True)
    if len(values) <= GRID:
        counts = np.zeros((len(sizes), len(values)))
        np.add.at(counts, (look, places), 1.0)
        return values, np.cumsum(counts, axis=0)
    values = np.linspace(values[0], values[-1], GRID)
    left = np.clip(np.searchsorted(values, differences, side="right") - 1, 0, GRID - 2)
    right_share = np.clip((differences - values[left]) / np.diff(values)[left], 0.0, 1.0)
    counts = np.zeros((len(sizes), GRID))
    np.add.at(counts, (look, left), 1 - right_share)
    np.add.at(counts, (look, left + 1), right_share)
    return values, np.cumsum(counts, axis=0)
