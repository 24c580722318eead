"""Pulls that track a design: always the arm that is furthest behind, argmin N_a / w_a over w_a > 0.

This is Adams' divisor method, which is equivalent to the efficient rounding of Pukelsheim and Rieder (1992): with
positive weights of p arms, N_a >= (n - p) w_a, and no pull is taken back. Ties go to the lowest-numbered arm.
"""

import jax.numpy as jnp
from jax import lax

from jaxbandit.support.numerics import add_at, argmax, as_float
from jaxbandit.support.types import Array

UNROLLED = 16  # up to this number of arms, the loop over the last pulls of a batch is unrolled


def longest() -> int:
    """Return the largest number of pulls that the scope's integers and floats represent."""
    return 2**31 - 256 if jnp.result_type(int) == jnp.int32 else 2**52


def next_arm(weights: Array, counts: Array) -> Array:
    """Return the arm to pull next, int32[]."""
    used = weights > 0
    return argmax(jnp.where(used, -as_float(counts) / jnp.where(used, weights, 1.0), -jnp.inf))


def followed(weights: Array, counts: Array, total: Array) -> Array:
    """Return the counts, int[num_arms], after pulling `next_arm` repeatedly until there are `total` pulls.

    Args:
      total: int[] > sum of counts. If floats are too coarse for it, the result may be smaller, but never equal to that
        sum.
    """
    num_arms = counts.shape[0]
    used = weights > 0
    # next_arm pulls in the order of k / w_a, where k is the number of pulls of the arm so far. Up to the level n - p
    # every arm gets ceil(level w_a) pulls, in total fewer than n and at least n - p, so that at most p pulls are left.
    level = as_float(total - jnp.sum(used, dtype=counts.dtype))
    level = level * (1 - 4 * jnp.finfo(level.dtype).eps)  # rounded down, so that no arm gets ahead
    reached = jnp.where(used, jnp.ceil(level * weights).astype(counts.dtype), 0)

    def pull(_: int, counts: Array) -> Array:
        arm = next_arm(weights, counts)
        missing = jnp.sum(counts, dtype=counts.dtype) < total
        return add_at(counts, arm, missing.astype(counts.dtype))

    return lax.fori_loop(0, num_arms + 1, pull, jnp.maximum(counts, reached), unroll=num_arms <= UNROLLED)
