"""Theory of best-arm identification with a fixed budget: complexities of an instance and bounds on the error."""

import numpy as np

from jaxbandit.base.arguments import M, SeveralMeans
from jaxbandit.base.calls import checked
from jaxbandit.support.types import ArrayLike


@checked
def h1(means: SeveralMeans, m: M = 1) -> float:
    """Return H1 = sum_i 1 / gap_i^2 over all arms, for finding the m best of them; H2 <= H1 <= log(2 num_arms) H2.

    The gap of one of the m best arms is its mean minus the largest mean of the others, and the gap of any other arm is
    the m-th largest mean minus its own.

    Args:
      means: float[num_arms], num_arms >= 2, the means of the arms. A tie of the m-th and the (m + 1)-th largest
        gives inf.

    Source: Audibert, Bubeck and Munos (2010), Best arm identification in multi-armed bandits, COLT, Section 2; for m >
    1 Bubeck, Wang and Viswanathan (2013), Multiple identifications in multi-armed bandits, ICML.
    """
    with np.errstate(divide="ignore"):
        return float(np.sum(1 / _gaps(means, m) ** 2))


@checked
def h2(means: SeveralMeans, m: M = 1) -> float:
    """Return H2 = max_i i / gap_(i)^2 with the gaps of `h1` in increasing order. Arguments and sources are the same."""
    gaps = _gaps(means, m)
    with np.errstate(divide="ignore"):
        return float(np.max(np.arange(1, len(gaps) + 1) / gaps**2))


@checked
def successive_rejects_error(means: SeveralMeans, budget: ArrayLike, m: M = 1) -> float | np.ndarray:
    """Return the bound on the error probability of `successive_rejects`, for rewards in [0, 1]; above 1 it is vacuous.

    It is K (K - 1) / 2 exp(-(budget - K) / (L H2)) for m = 1, else 2 K^2 exp(-(budget - K) / (8 L H2)), with L = 1/2 +
    sum_{i=2}^K 1/i and H2 for that m.

    Args:
      budget: number of pulls, float[...], which is the shape of the bound.

    Source: Audibert, Bubeck and Munos (2010), Best arm identification in multi-armed bandits, COLT, Theorem 2; for m >
    1 Bubeck, Wang and Viswanathan (2013), Multiple identifications in multi-armed bandits, ICML, Theorem 1.
    """
    size = len(means)
    level = 0.5 + np.sum(1 / np.arange(2, size + 1))
    factor, share = (size * (size - 1) / 2, 1) if m == 1 else (2 * size**2, 8)
    return factor * np.exp(-(np.asarray(budget, np.float64) - size) / (share * level * h2(means, m)))


@checked
def sequential_halving_error(means: SeveralMeans, budget: ArrayLike) -> float | np.ndarray:
    """Return the bound on the error probability of `sequential_halving`, for rewards in [0, 1].

    It is 3 log2(K) exp(-budget / (8 H2 log2 K)), for reading = "round" and m = 1; above 1 it is vacuous.

    Args:
      budget: number of pulls, float[...], which is the shape of the bound.

    Source: Karnin, Koren and Somekh (2013), Almost optimal exploration in multi-armed bandits, ICML, Theorem 4.1.
    """
    size = len(means)
    log2 = np.log2(size)
    return 3 * log2 * np.exp(-np.asarray(budget, np.float64) / (8 * h2(means) * log2))


@checked
def uniform_allocation_error(means: SeveralMeans, budget: ArrayLike) -> float | np.ndarray:
    """Return the bound on the error probability of `uniform_allocation` with m = 1, for rewards in [0, 1].

    It is the sum of exp(-floor(budget / K) gap_i^2) over all arms but the best, by Hoeffding's inequality.

    Args:
      budget: number of pulls, float[...], which is the shape of the bound.
    """
    gaps = _gaps(means)
    pulls = np.floor(np.asarray(budget, np.float64) / len(gaps))
    return np.sum(np.exp(-pulls[..., None] * gaps[1:] ** 2), axis=-1)


def _gaps(means: ArrayLike, m: int = 1) -> np.ndarray:
    """Return the gaps in increasing order; for m = 1 the first one, that of the best arm, equals the second."""
    means = -np.sort(-means)
    return np.sort(np.concatenate([means[:m] - means[m], means[m - 1] - means[m:]]))
