"""Efficient rounding of a design to whole pulls: Pukelsheim and Rieder (1992), Section 6.

Among all roundings it maximises the least n_a / w_a up to one pull: n_a >= (1 - p / total) w_a total for p positive
weights, so that a design's value grows by no more than 1 / (1 - p / total). Differs from the paper: ties between arms
go to the lowest index, where the paper leaves the choice free.
"""

import jax
import jax.numpy as jnp

from jaxbandit.numerics import argmax, as_float
from jaxbandit.types import Array


def round_design(weights: Array, total: Array) -> Array:
    """Return whole pulls in proportion to the weights that sum to `total` exactly.

    Args:
      weights: float[K] >= 0 with sum 1, traced. Arms of weight 0 get no pull, others one at least.
      total: int32[], traced, at least the number of positive weights (with less, some of those get none).

    Returns:
      int32[K].
    """
    positive = weights > 0
    safe = jnp.where(positive, weights, 1.0)
    total = jnp.asarray(total, jnp.int32)
    budget = jnp.maximum(as_float(total) - jnp.sum(positive, dtype=weights.dtype) / 2, 0.0)
    pulls = jnp.where(positive, jnp.ceil(budget * weights), 0.0).astype(jnp.int32)

    def correct(_: int, pulls: Array) -> Array:
        excess = jnp.sum(pulls, dtype=jnp.int32) - total
        count = as_float(pulls)
        most = argmax(jnp.where(positive, (count - 1) / safe, -jnp.inf))  # would lose least
        least = argmax(jnp.where(positive, -count / safe, -jnp.inf))  # needs it most
        return pulls.at[jnp.where(excess > 0, most, least)].add(-jnp.sign(excess))

    pulls = jax.lax.fori_loop(0, weights.shape[0], correct, pulls)
    # In float32 a large total times a weight is off by more than a pull: the heaviest arm takes up what is left.
    return pulls.at[argmax(weights)].add(total - jnp.sum(pulls, dtype=jnp.int32))
