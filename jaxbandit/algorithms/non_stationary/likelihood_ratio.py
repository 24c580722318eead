"""The generalised likelihood ratio of one change in a sequence of Bernoulli rewards, from its prefix sums."""

import jax.numpy as jnp

from jaxbandit.numerics import as_float, bernoulli_kl
from jaxbandit.types import Array


def split_ratio(first: Array, first_sum: Array, total: Array, total_sum: Array) -> Array:
    """s kl(mean_1:s, mean_1:m) + (m - s) kl(mean_s+1:m, mean_1:m), elementwise; 0 unless 0 < s < m.

    Both terms are at least 0 and nothing cancels; a sequence of zeros or of ones gives 0.

    Args:
      first: int32[...], s.
      first_sum: float[...], sum of the first s rewards.
      total: int32[...], m.
      total_sum: float[...], sum of all.
    """
    inside = (first > 0) & (first < total)
    s, m = as_float(jnp.where(inside, first, 1)), as_float(jnp.where(inside, total, 2))
    mean = jnp.clip(total_sum / m, 0.0, 1.0)
    left, right = jnp.clip(first_sum / s, 0.0, 1.0), jnp.clip((total_sum - first_sum) / (m - s), 0.0, 1.0)
    ratio = s * bernoulli_kl(left, mean) + (m - s) * bernoulli_kl(right, mean)
    return jnp.where(inside & (mean > 0) & (mean < 1), ratio, 0.0)
