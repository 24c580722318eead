"""What theory says of best-arm identification with a fixed budget: complexities of an instance, bounds on the error.

Audibert, Bubeck, Munos (2010): H1, H2, Theorem 2. Karnin, Koren, Somekh (2013): Theorem 4.1. Concrete numbers in, NumPy
float64 out.
"""

from typing import Any

import numpy as np

from jaxbandit import checks


def h1(means: Any) -> float:
    """Return H1 = sum_i 1 / gap_i^2 over all arms, the gap of the best arm being the smallest of the others'.

    Args:
      means: float[num_arms], num_arms >= 2. Two best arms make it inf.

    Source: Audibert, Bubeck, Munos (2010), section 2. H2 <= H1 <= log(2 num_arms) H2.
    """
    return _inverse(np.sum, _gaps("h1", means), None)


def h2(means: Any) -> float:
    """Return H2 = max_i i / gap_(i)^2, gaps in increasing order, the best arm's being the smallest of the others'.

    Args:
      means: float[num_arms], num_arms >= 2. Two best arms make it inf.

    Source: Audibert, Bubeck, Munos (2010), section 2.
    """
    gaps = _gaps("h2", means)
    return _inverse(np.max, gaps, np.arange(1, len(gaps) + 1))


def successive_rejects_error(means: Any, budget: Any) -> Any:
    """Return the bound on the error of `successive_rejects`, for rewards in [0, 1]; above 1 it says nothing.

    Args:
      means: float[num_arms], num_arms >= 2.
      budget: pulls, float[...].

    Returns:
      K (K - 1) / 2 exp(-(budget - K) / (L H2)), L = 1/2 + sum_{i=2}^K 1/i, float[...].

    Source: Audibert, Bubeck, Munos (2010), Theorem 2.
    """
    size = len(_gaps("successive_rejects_error", means))
    level = 0.5 + np.sum(1 / np.arange(2, size + 1))
    return size * (size - 1) / 2 * np.exp(-(np.asarray(budget, np.float64) - size) / (level * h2(means)))


def sequential_halving_error(means: Any, budget: Any) -> Any:
    """Return the bound on the error of `sequential_halving` with reading = "round", for rewards in [0, 1].

    Args:
      means: float[num_arms], num_arms >= 2.
      budget: pulls, float[...].

    Returns:
      3 log2(K) exp(-budget / (8 H2 log2 K)), float[...]; above 1 it says nothing.

    Source: Karnin, Koren, Somekh (2013), Theorem 4.1.
    """
    size = len(_gaps("sequential_halving_error", means))
    log2 = np.log2(size)
    return 3 * log2 * np.exp(-np.asarray(budget, np.float64) / (8 * h2(means) * log2))


def uniform_allocation_error(means: Any, budget: Any) -> Any:
    """Return the bound on the error of `uniform_allocation` with m = 1, for rewards in [0, 1].

    Args:
      means: float[num_arms], num_arms >= 2.
      budget: pulls, float[...].

    Returns:
      The sum of exp(-floor(budget / K) gap_i^2) over the arms but the best, float[...], by Hoeffding's inequality.
    """
    gaps = _gaps("uniform_allocation_error", means)
    pulls = np.floor(np.asarray(budget, np.float64) / len(gaps))
    return np.sum(np.exp(-pulls[..., None] * gaps[1:] ** 2), axis=-1)


def _gaps(where: str, means: Any) -> np.ndarray:
    """Gaps in increasing order, the first, of the best arm, as large as the second."""
    means = checks.array(where, "means", means, min_size=2)
    gaps = np.sort(np.max(means) - means)
    gaps[0] = gaps[1]
    return gaps


def _inverse(over: Any, gaps: np.ndarray, weights: Any) -> float:
    if gaps[0] == 0:
        return float("inf")
    return float(over((1 if weights is None else weights) / gaps**2))
