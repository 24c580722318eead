"""Barycentric spanners: Awerbuch and Kleinberg (2008), Section 2.2, for a finite set of vectors.

A spanner is a subset of linearly independent vectors such that all others are linear combinations with coefficients in
[-1, 1], up to rounding; no exchange of a vector enlarges the volume. Difference: one pivoting replaces both passes of
the paper.
"""

import jax.numpy as jnp
from jax import lax

from jaxbandit.support.types import Array


def barycentric_spanner(features: Array, mask: Array) -> Array:
    """Return bool[K], which vectors are in the spanner; their number is the rank of the vectors that mask keeps."""
    num_arms, dim = features.shape
    slots, arms = jnp.arange(dim, dtype=jnp.int32), jnp.arange(num_arms, dtype=jnp.int32)
    eps = jnp.finfo(features.dtype).eps
    start = jnp.where(mask[:, None], features, 0.0)
    zero = dim * num_arms * eps * jnp.max(jnp.abs(start))

    def largest(table: Array, chosen: Array) -> tuple[Array, Array, Array]:
        """Return the position of the largest entry, preferring slots without a vector, and whether to pivot there."""
        free = (chosen < 0)[None] & (jnp.abs(table) > zero)
        # An exchange must enlarge the volume by more than rounding, or the loop might cycle.
        gain = jnp.where(jnp.any(free), jnp.where(free, jnp.abs(table), 0.0), jnp.abs(table) - (1 + 64 * dim * eps))
        gain = jnp.where(((chosen < 0)[None] & ~jnp.any(free)), -1.0, gain)
        place = jnp.argmax(gain.reshape(-1)).astype(jnp.int32)
        return place // dim, place % dim, jnp.max(gain) > 0

    def pivot(inner: tuple[Array, Array]) -> tuple[Array, Array]:
        table, chosen = inner
        arm, slot, _ = largest(table, chosen)
        # The table has coefficients in terms of the chosen vectors, so the new vector becomes a unit vector.
        column = table[:, slot] / table[arm, slot]
        row = jnp.where(slots == slot, 0.0, table[arm])
        table = jnp.where((slots == slot)[None], column[:, None], table - column[:, None] * row[None])
        return table, jnp.where(slots == slot, arm, chosen)

    none = jnp.full(dim, -1, jnp.int32)
    _, chosen = lax.while_loop(lambda inner: largest(*inner)[2], pivot, (start, none))
    return jnp.any(arms[:, None] == chosen[None], 1)
