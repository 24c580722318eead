"""Greedy: the arm of the largest x' theta_hat, theta_hat of ordinary least squares; no exploration beyond the start.

The start is that of OAM (Hao, Lattimore and Szepesvari 2020), which spans R^dim. Regret is linear in the horizon on
many instances, and bounded where contexts explore by themselves: what exploration buys is measured against it.
"""

from typing import Any

import numpy as np

from jaxbandit.algorithms.regret.action_sets import action_sets
from jaxbandit.algorithms.regret.linear_policy import LinearState, linear_policy
from jaxbandit.base import Algorithm
from jaxbandit.estimators import recursive_least_squares as estimator
from jaxbandit.types import Array, ArrayLike


def greedy(features: ArrayLike, *, mask: np.ndarray | None = None) -> Algorithm:
    """Return the policy that always pulls the arm that looks best.

    Args:
      features: float[num_arms, dim], one action set, or float[num_contexts, num_arms, dim], a set a context; finite,
        traced. All arms together must span R^dim.
      mask: bool of the first axes of features, False where a row only pads a shorter set; None: none does. Static.

    Returns:
      An Algorithm with contexts int32[] in [0, num_contexts), or none, actions int32[] in [0, num_arms) and rewards
      float[]. It recommends the arm pulled most, num_arms m + a for arm a of context m.

    Raises:
      ValueError: features is not finite, the mask leaves a set empty, every set has one arm, or the arms do not span
        R^dim.
    """
    sets = action_sets("greedy", features, mask, spanning=True)

    def score(noise: Any, state: LinearState, rows: Array) -> Array:
        return estimator.means(state.estimate, rows)

    return linear_policy("greedy", sets, score, regularization=None)
