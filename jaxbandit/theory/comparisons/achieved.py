"""How much worse than the best arm each arm can be, given bounds of the differences between means.

Let E be the event that the bounds U(a - j) of the best arm a over all others j hold at all times. It has probability at
least 1 - delta if each bound has level delta/(K - 1), whatever decides how many scores each arm gets and when one
looks. Arm l is excluded once U(l - j) < 0 for some arm j, whether j is excluded itself or not. On E the best arm is
never excluded, so mu_a - mu_b <= max over l not excluded of U(l - b), for all arms b and at all times: this is the
achieved epsilon of b. For the m best arms, the levels are delta/(m (K - m)), an arm is excluded once m arms exceed it,
and the maximum is over l outside of the recommended set.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np


class Comparison(Protocol):
    """Bounds of the differences between the means of K arms at a moment."""

    num_arms: int

    def excluded(self) -> np.ndarray:
        """Return which arms some arm exceeds, bool[K]."""
        ...

    def upper(self, arm: int) -> np.ndarray:
        """Return the upper bounds of mu_l - mu_arm for all l, float64[K]."""
        ...

    def claims(self) -> np.ndarray:
        """Return which arms are exceeded by which, bool[K, K]."""
        ...


def excluded(comparison: Comparison, m: int = 1) -> np.ndarray:
    """Return which arms are not among the m best, at the stated level, bool[K]."""
    return comparison.excluded() if m == 1 else comparison.claims().sum(axis=1) >= m


def achieved_epsilon(comparison: Comparison, arms: Sequence[int] | np.ndarray) -> float:
    """Return by how much at most the mean of the worst of these m arms is below the m-th best mean; inf if unknown.

    Args:
      comparison: bounds at level delta/(m (K - m)) a pair, which hold at all times at once.
      arms: the recommended arms, int[m].
    """
    arms = np.atleast_1d(np.asarray(arms, np.int64))
    rivals = ~excluded(comparison, len(arms))
    rivals[arms] = False
    if not rivals.any():
        return 0.0
    return max(0.0, *(float(comparison.upper(int(arm))[rivals].max()) for arm in arms))


def recommended(comparison: Comparison, counts: np.ndarray, means: np.ndarray, allowed: np.ndarray) -> int:
    """Return the arm with the largest mean among those with the most scores of the arms that are not excluded.

    An arm with one score less counts as well: a budget may end within a round, after the first few arms of it.

    Args:
      comparison: the bounds.
      counts: int64[K], scores of each arm.
      means: float64[K], NaN without a score.
      allowed: bool[K], arms that may be recommended; at least one.
    """
    left = allowed & ~comparison.excluded()
    left = left if left.any() else allowed
    most = left & (counts >= counts[left].max() - 1)
    return int(np.argmax(np.where(most, np.where(np.isfinite(means), means, -1e300), -np.inf)))


def log_level(delta: float, num_arms: int, m: int = 1) -> float:
    """Return the log of the level of each pair: delta divided by m (K - m)."""
    return float(np.log(delta) - np.log(max(m * (num_arms - m), 1)))
