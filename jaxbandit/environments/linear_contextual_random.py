"""Linear contextual bandit whose theta is drawn anew in each run, uniformly on the unit sphere.

Hao, Lattimore and Szepesvari 2020 (OAM), appendix D.2: a normal vector divided by its norm, whatever its variance.
`linear_random` is another thing: one instance, features drawn and theta fixed, for all runs.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Environment
from jaxbandit.environments.linear_contextual import checked, from_means
from jaxbandit.numerics import as_float
from jaxbandit.types import Array, ArrayLike, Key, Scalar


def linear_contextual_random(
    action_sets: ArrayLike, probabilities: ArrayLike, *, mask: np.ndarray | None = None, sigma: Scalar = 1.0
) -> Environment:
    """Return `linear_contextual` with a random theta of norm 1: regret is then a mean over problems.

    Args:
      action_sets: float[num_contexts, num_arms, dim], finite, traced; row a of set m is arm a of context m.
      probabilities: float[num_contexts] of the contexts, >= 0, of sum 1, traced. Hidden from algorithms.
      mask: bool[num_contexts, num_arms], False where a row only pads a shorter set; None: none does. Static.
      sigma: standard deviation of the rewards, > 0, traced.

    Returns:
      An Environment as `linear_contextual`, its means and gaps different in each run.

    Raises:
      ValueError: as `linear_contextual`.

    Source: Hao, Lattimore and Szepesvari (2020), Adaptive exploration in linear contextual bandit, AISTATS.
    """
    where = "linear_contextual_random"
    action_sets, mask = checked(where, action_sets, probabilities, mask, sigma)

    def means(key: Key) -> Array:
        drawn = jax.random.normal(key, action_sets.shape[2:])
        theta = drawn / jnp.sqrt(jnp.sum(drawn * drawn))
        return jnp.sum(as_float(action_sets) * theta[None, None], axis=2)

    return from_means(where, means, action_sets.shape[1], probabilities, mask, sigma)


def describe_linear_contextual_random(
    action_sets: Array, probabilities: Array, *, mask: np.ndarray | None = None, sigma: Scalar = 1.0
) -> dict[str, Any]:
    """Return what an algorithm may know of `linear_contextual_random`, and probabilities, for bounds only.

    Keys as in `describe_linear_contextual`, theta_norm = 1, without theta: no run has that of another.
    """
    sets, _ = checked("linear_contextual_random", action_sets, probabilities, mask, sigma)
    known = {"features": sets, "sigma": sigma, "theta_norm": 1.0, "probabilities": probabilities}
    return known if mask is None else known | {"mask": np.asarray(mask)}
