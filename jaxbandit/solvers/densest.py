"""Maximise x' W x over the sets of k vertices: greedy peeling for the densest k-subgraph, and exchanges.

Kuroki, Xu, Miyauchi, Honda, Sugiyama (2019), Algorithm 1, with the peeling of Asahiro, Iwama, Tamaki, Tokuyama (2000)
as its oracle: on the complete graph with edge weights w_ij + w_ii + w_jj, remove the vertex of least weighted degree
until k are left. What is certified about the answer is in quadratic_bound.py.

Degrees. With S what is left and m its size, a vertex of S has the degree o_i + (m - 2) w_ii + sum_{j in S} w_jj, o_i
its sum of w_ij over the others of S. The last term is common to all, so that one vector tells the least, and removing v
takes w_iv + w_ii off its entry i: the edge weights are never stored.
"""

import jax.numpy as jnp
from jax import lax

from jaxbandit import checks
from jaxbandit.numerics import argmax
from jaxbandit.types import Array


def quadratic(weights: Array, members: Array, *, diagonal: Array | None = None) -> Array:
    """Return x' (W + diag(diagonal)) x, float[], for the indicator x of members.

    Args:
      weights: float[n, n], traced.
      members: bool[n], traced.
      diagonal: float[n], traced, or None for 0.
    """
    x = members.astype(weights.dtype)
    value = x @ weights @ x
    return value if diagonal is None else value + x @ diagonal


def peeling(weights: Array, k: int, *, diagonal: Array | None = None, polish: int = 0) -> Array:
    """Return a set of k vertices with a large x' (W + diag(diagonal)) x, by greedy peeling; ties to the lowest index.

    Args:
      weights: float[n, n], traced, symmetric; it need not be positive definite.
      k: static, in [1, n].
      diagonal: float[n], traced, added to the diagonal of W; None for 0. Problems that differ in it alone, under vmap
        with weights unbatched, share the one matrix in memory.
      polish: static, >= 0: that many exchanges of a member for another vertex, each the best one, while one gains.

    Returns:
      bool[n] with k entries True.

    Raises:
      ValueError: weights is no square matrix, or k or polish out of range.
    """
    size = weights.shape[0]
    if weights.shape != (size, size):
        raise ValueError(f"peeling: weights has shape {weights.shape}, must be square")
    checks.integer("peeling", "k", k, 1, size)
    checks.integer("peeling", "polish", polish, 0)
    own = jnp.diagonal(weights) if diagonal is None else jnp.diagonal(weights) + diagonal
    vertices = jnp.arange(size, dtype=jnp.int32)

    def remove(_: int, degree: Array) -> Array:
        v = lax.argmin(degree, 0, jnp.int32)
        return jnp.where(vertices == v, jnp.inf, degree - own - weights[v])

    others = jnp.sum(weights, 1) - jnp.diagonal(weights)
    degree = lax.fori_loop(0, size - k, remove, others + (size - 2) * own)
    return exchange(weights, own, degree < jnp.inf, polish)


def exchange(weights: Array, own: Array, members: Array, steps: int) -> Array:
    """Return members after at most `steps` exchanges of one for another, each the one that gains most.

    Args:
      weights: float[n, n], traced; its diagonal does not count.
      own: float[n], traced, what counts in place of it.
      members: bool[n], traced.
      steps: static, >= 0.
    """
    if steps == 0:
        return members
    size = members.shape[0]
    vertices = jnp.arange(size, dtype=jnp.int32)
    unit = 16 * size * jnp.finfo(weights.dtype).eps

    def step(_: int, members: Array) -> Array:
        x = members.astype(weights.dtype)
        gain = own + 2 * (weights @ x - jnp.diagonal(weights) * x)  # of joining, or of not being left out
        swaps = gain[None] - gain[:, None] - 2 * weights  # in place of the row's vertex, the column's
        swaps = jnp.where(members[:, None] & ~members[None], swaps, -jnp.inf)
        best = argmax(swaps.reshape(-1))
        changed = (vertices == best // size) | (vertices == best % size)
        least = unit * jnp.max(jnp.abs(gain))  # a gain by rounding could be undone by the next
        return jnp.where(changed & (jnp.max(swaps) > least), ~members, members)

    return lax.fori_loop(0, steps, step, members)
