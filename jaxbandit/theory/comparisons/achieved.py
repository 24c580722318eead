"""How much worse than the best arm each arm can be, given bounds of the differences between means.

Each bound has level delta/(m (K - m)) for the m best of K arms (`log_level`). Arm l is excluded once U(l - j) < 0 for
some arm j, whether j is excluded itself or not; for m > 1, once m arms exceed it by chains of bounds. The achieved
epsilon of an arm b is the largest U(l - b) over the arms l that are not excluded (docs/mathematics.md).
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np


class Comparison(Protocol):
    """Bounds of the differences between the means of K arms at a moment."""

    num_arms: int

    def upper(self, arm: int) -> np.ndarray:
        """Return the upper bounds of mu_l - mu_arm for all l, float64[K]; 0 for the arm itself."""
        ...

    def claims(self) -> np.ndarray:
        """Return which arms are exceeded by which, bool[K, K]: [l, i] if mu_l < mu_i is certain at the stated level."""
        ...

    def excluded(self) -> np.ndarray:
        """Return which arms some arm exceeds with certainty at the stated level, bool[K]."""
        return np.asarray(self.claims().any(axis=1))


def excluded(comparison: Comparison, m: int = 1) -> np.ndarray:
    """Return which arms are not among the m best, at the stated level, bool[K]."""
    return comparison.excluded() if m == 1 else _chains(comparison).sum(axis=1) >= m


def nobody_left(comparison: Comparison, m: int = 1) -> bool:
    """Return whether no m arms can be the m best ones, so that a bound is false or an assumption is wrong."""
    if m == 1:
        return bool(comparison.excluded().all())
    below, rest = _chains(comparison), comparison.num_arms - m
    return bool((below.sum(axis=1) < m).sum() < m or (below.sum(axis=0) >= rest).sum() > m)


def _chains(comparison: Comparison) -> np.ndarray:
    """Return which arms are exceeded by which other ones, directly or by a chain, bool[K, K]."""
    below = comparison.claims() | np.eye(comparison.num_arms, dtype=bool)
    for _ in range((comparison.num_arms - 2).bit_length()):  # chains of 1, 2, 4, ... links
        below = np.matmul(below.astype(np.float32), below.astype(np.float32)) > 0
    np.fill_diagonal(below, False)
    return below


def achieved_epsilon(comparison: Comparison, arms: Sequence[int] | np.ndarray) -> float:
    """Return by how much at most the mean of the worst of these m arms is below the m-th best mean; inf if unknown.

    The bounds need level delta/(m (K - m)) a pair. If they contradict each other (`nobody_left`), it is unknown, too.
    """
    arms = np.atleast_1d(np.asarray(arms, np.int64))
    m, num_arms = len(arms), comparison.num_arms
    if nobody_left(comparison, m):
        return np.inf
    rivals = np.repeat(~excluded(comparison, m)[:, None], m, axis=1)  # of each recommended arm
    rivals[arms] = False
    if m > 1:
        below = _chains(comparison)[:, arms]
        rivals &= ~below & (below.sum(axis=0) < num_arms - m)
    pairs = zip(arms, rivals.T, strict=True)
    return max([0.0, *(float(comparison.upper(int(arm))[others].max()) for arm, others in pairs if others.any())])


def recommendation(comparison: Comparison, counts: np.ndarray, means: np.ndarray, allowed: np.ndarray) -> int:
    """Return the arm with the largest mean among those with the most scores of the arms that are not excluded.

    Arms with one score less than the most belong to them, because a budget may end within a round. Means are NaN
    without a score, and at least one arm is `allowed`.
    """
    left = allowed & ~comparison.excluded()
    left = left if left.any() else allowed
    most = left & (counts >= counts[left].max() - 1)
    return int(np.argmax(np.where(most, np.where(np.isfinite(means), means, -1e300), -np.inf)))


def log_level(delta: float, num_arms: int, m: int = 1) -> float:
    """Return the log of the level of each pair: delta divided by m (K - m)."""
    return float(np.log(delta) - np.log(max(m * (num_arms - m), 1)))
