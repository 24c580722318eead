"""Betting bounds of a mean at many sample sizes at once, for differences that have few distinct values.

The bounds are those of `betting.py`. Because the order of the rows does not matter, counts of the distinct values at
each look suffice: outcomes of 0 and 1 have three differences. Any subset of the sample sizes may be looked at, since
all bounds hold at once.
"""

import numpy as np

from jaxbandit.theory.comparisons.betting import STAKES, log_mixture

_HALVINGS = 40  # of (-1, 1)
_RATIO = 1.02  # of two successive sample sizes
_ROWS = 2**16  # whose wealth is computed at once


def sample_sizes(n: int) -> np.ndarray:
    """Return the sample sizes up to n that are looked at, int64[looks]: n, and a grid that does not depend on n."""
    grid = np.unique(np.floor(_RATIO ** np.arange(1, np.log(max(n, 1)) / np.log(_RATIO) + 1)).astype(np.int64))
    return np.unique(np.append(grid[grid <= n], n)) if n else np.zeros(0, np.int64)


def running_upper(differences: np.ndarray, log_alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the least upper bound of the mean so far, at each look.

    Args:
      differences: float64[n] <= 1 with few distinct values, in units of the range of a score.
      log_alpha: log of the probability with which a bound may be wrong at some look.

    Returns:
      (sizes, bounds): int64[looks] and float64[looks] in (-1, 1].
    """
    n, sizes = len(differences), sample_sizes(len(differences))
    values, places = np.unique(differences, return_inverse=True)
    counts = np.zeros((len(sizes), len(values)))
    np.add.at(counts, (np.searchsorted(sizes, np.arange(1, n + 1)), places), 1.0)
    counts = np.cumsum(counts, axis=0)
    low, high = np.full(len(sizes), -1.0), np.ones(len(sizes))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        logs = np.log1p(STAKES * ((middle[:, None] - values) / (1 - middle)[:, None])[..., None])
        enough = log_mixture(np.einsum("lj,ljg->lg", counts, logs)) >= -log_alpha
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return sizes, np.minimum.accumulate(high)


def ever_negative(differences: np.ndarray, log_alpha: float) -> bool:
    """Return whether at some sample size, and not only at the looks, the upper bound of the mean is below 0.

    It never becomes False when rows are added.

    Args:
      differences: float64[n] <= 1 with few distinct values.
      log_alpha: log of the probability with which the claim may be wrong.
    """
    differences = differences[differences != 0]  # the others change nothing at a mean of 0
    wealth = np.zeros(len(STAKES))
    for start in range(0, len(differences), _ROWS):
        logs = np.log1p(-STAKES * differences[start : start + _ROWS, None])
        sums = wealth + np.cumsum(logs, axis=0)
        if (log_mixture(sums) > -log_alpha).any():
            return True
        wealth = sums[-1]
    return False
