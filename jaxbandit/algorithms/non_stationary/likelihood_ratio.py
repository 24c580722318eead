"""The generalised likelihood ratio of one change in a sequence of Bernoulli rewards, from its prefix sums."""

import jax.numpy as jnp

from jaxbandit.numerics import as_float
from jaxbandit.types import Array

NEAR = 0.1  # below it (1 + y) log(1 + y) - y has lost digits, and its series is taken


def split_ratio(first: Array, first_sum: Array, total: Array, total_sum: Array) -> Array:
    """s kl(mean_1:s, mean_1:m) + (m - s) kl(mean_s+1:m, mean_1:m), elementwise; 0 unless 0 < s < m.

    It is the sum over successes and failures of both parts of E phi(D / E), phi(y) = (1 + y) log(1 + y) - y >= 0,
    where E is their number expected without a change and D what is observed beyond it, the same in all four but for
    its sign. No term is negative. D is a difference, rounded to about 1e-7 of s in float32: of a ratio near the level
    of a test that is below 1e-4 for m up to 10^6. A sequence of zeros or of ones gives 0.

    Args:
      first: int32[...], s.
      first_sum: float[...], sum of the first s rewards.
      total: int32[...], m.
      total_sum: float[...], sum of all.
    """
    inside = (first > 0) & (first < total) & (total_sum > 0) & (total_sum < as_float(total))
    s, m = as_float(jnp.where(inside, first, 1)), as_float(jnp.where(inside, total, 2))
    mean = jnp.where(inside, total_sum / m, 0.5)
    excess = jnp.where(inside, first_sum - s * mean, 0.0)
    left, right = excess / s, excess / (m - s)
    rest = 1 - mean
    one, other = 1 / mean, 1 / rest
    ratio = s * (mean * _phi(left * one) + rest * _phi(-left * other))
    return ratio + (m - s) * (mean * _phi(-right * one) + rest * _phi(right * other))


def _phi(y: Array) -> Array:
    """(1 + y) log(1 + y) - y for y >= -1; what is rounded below -1 counts as -1."""
    beyond = jnp.maximum(1 + y, 0.0)
    far = beyond * jnp.log(jnp.maximum(beyond, jnp.finfo(y.dtype).tiny)) - y
    terms = 7 if y.dtype == jnp.float32 else 15
    tail = jnp.zeros_like(y)
    for k in range(terms + 1, 1, -1):
        tail = 1 / (k * (k - 1)) - y * tail
    return jnp.where(jnp.abs(y) < NEAR, y * y * tail, far)
