"""Efficient rounding of a design to whole pulls: Pukelsheim and Rieder (1992), Section 6.

The value of a design grows by at most the factor 1 / (1 - p / total) for p positive weights. Difference from the paper:
ties between arms, which it leaves open, go to the lowest index.
"""

import jax
import jax.numpy as jnp

from jaxbandit.support.numerics import argmax, as_float
from jaxbandit.support.types import Array


def round_design(weights: Array, total: Array) -> Array:
    """Return whole pulls proportional to the weights, float[K], that sum exactly to `total`, int32[K].

    Arms with weight 0 get no pull, others at least one, if `total` is at least their number.
    """
    positive = weights > 0
    safe = jnp.where(positive, weights, 1.0)
    total = jnp.asarray(total, jnp.int32)
    budget = jnp.maximum(as_float(total) - jnp.sum(positive, dtype=weights.dtype) / 2, 0.0)
    pulls = jnp.where(positive, jnp.ceil(budget * weights), 0.0).astype(jnp.int32)

    def correct(_: int, pulls: Array) -> Array:
        excess = jnp.sum(pulls, dtype=jnp.int32) - total
        count = as_float(pulls)
        most = argmax(jnp.where(positive, (count - 1) / safe, -jnp.inf))  # the arm that loses least
        least = argmax(jnp.where(positive, -count / safe, -jnp.inf))  # the arm that needs a pull most
        return pulls.at[jnp.where(excess > 0, most, least)].add(-jnp.sign(excess))

    pulls = jax.lax.fori_loop(0, weights.shape[0], correct, pulls)
    # In float32 the error of a large total times a weight exceeds one pull; the heaviest arm absorbs the difference.
    return pulls.at[argmax(weights)].add(total - jnp.sum(pulls, dtype=jnp.int32))
