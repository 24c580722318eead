"""Maximise x' W x over the sets of k vertices: greedy peeling for the densest k-subgraph, and exchanges.

Kuroki, Xu, Miyauchi, Honda, Sugiyama (2019), Algorithm 1, with the peeling of Asahiro, Iwama, Tamaki, Tokuyama (2000)
as its oracle: on the complete graph with edge weights w_ij + w_ii + w_jj, remove the vertex of least weighted degree
until k are left. What is certified about the answer is in quadratic_bound.py.

Degrees. With S what is left and m its size, a vertex of S has the degree o_i + (m - 2) w_ii + sum_{j in S} w_jj, o_i
its sum of w_ij over the others of S. The last term is common to all, so that one vector tells the least, and removing v
takes w_iv + w_ii off its entry i: the edge weights are never stored.

Batches. Under vmap the problems become lanes of one loop, the vectors of degrees side by side, and each step fetches
one row of a matrix a lane; lanes may share a matrix. On a CPU a few lanes at a time: XLA splits larger operations over
threads, in every step, which costs more than the step (measured: 4 times at n = 111).
"""

from collections.abc import Callable
from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_batching import custom_vmap

from jaxbandit import checks
from jaxbandit.numerics import argmax
from jaxbandit.types import Array

_CHUNK = 500  # degrees in one step


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
    others = jnp.sum(weights, 0) - jnp.diagonal(weights)  # along the columns, the same by symmetry: XLA vectorises that
    degrees = others + (size - 2) * own
    left = _over(size - k)(weights[None], own[None, None], degrees[None, None])[0, 0]
    return exchange(weights, own, left, polish)


def _over(removals: int):
    """What is left, bool[G, m, n], of weights[G, n, n], own[G, m, n], degrees[G, m, n]: m problems on each matrix."""

    @custom_vmap
    def remove(*lanes: Array) -> Array:
        return lax.platform_dependent(
            *lanes, cpu=partial(_in_chunks, removals=removals), default=partial(_remove, removals=removals)
        )

    @remove.def_vmap
    def _(size: int, batched: list[bool], weights: Array, *lanes: Array) -> tuple[Array, bool]:
        count, problems, vertices = lanes[0].shape[-3:]
        lanes = tuple(
            x if flag else jnp.broadcast_to(x[None], (size, *x.shape))
            for x, flag in zip(lanes, batched[1:], strict=True)
        )
        if batched[0]:
            flat = [x.reshape(-1, *x.shape[2:]) for x in (weights, *lanes)]
            return _over(removals)(*flat).reshape(size, count, problems, vertices), True
        beside = [jnp.moveaxis(x, 0, 1).reshape(count, -1, vertices) for x in lanes]
        left = _over(removals)(weights, *beside).reshape(count, size, problems, vertices)
        return jnp.moveaxis(left, 1, 0), True

    return remove


def _in_chunks(weights: Array, own: Array, degrees: Array, *, removals: int) -> Array:
    """`_remove`, a few problems after the other."""
    problems, size = own.shape[1:]
    width = max(1, _CHUNK // size)
    if problems == 1:
        return _chunks(partial(_remove, removals=removals), width, weights, own, degrees)

    def on_one(weights: Array, own: Array, degrees: Array) -> Array:
        def solve(own: Array, degrees: Array) -> Array:
            return _remove(weights, own[None], degrees[None], removals=removals)[0]

        return _chunks(solve, width, own[0], degrees[0])[None]

    return _chunks(on_one, 1, weights, own, degrees)


def _chunks(solve: Callable[..., Array], width: int, *arrays: Array) -> Array:
    """Solve(*arrays), `width` entries of the first axis at a time; the last chunk may overlap the one before."""
    count = arrays[0].shape[0]
    if count <= width:
        return solve(*arrays)
    starts = np.minimum(np.arange(0, count, width), count - width).astype(np.int32)

    def one(start: Array) -> Array:
        return solve(*(lax.dynamic_slice_in_dim(x, start, width) for x in arrays))

    found = lax.map(one, starts)
    whole = found[:-1].reshape(-1, *found.shape[2:])
    return jnp.concatenate([whole, found[-1, width * len(starts) - count :]])


def _remove(weights: Array, own: Array, degrees: Array, *, removals: int) -> Array:
    """`removals` vertices less, all problems side by side."""
    count, problems, size = own.shape
    rows = weights.reshape(-1, size)
    first = jnp.repeat(jnp.arange(count, dtype=jnp.int32) * size, problems)  # row of the matrix of each problem
    own, degrees = own.reshape(-1, size).T, degrees.reshape(-1, size).T
    vertices = jnp.arange(size, dtype=jnp.int32)[:, None]

    def step(_: int, degrees: Array) -> Array:
        least = jnp.min(degrees, 0, keepdims=True)
        v = jnp.min(jnp.where(degrees == least, vertices, size - 1), 0)  # two plain reductions: argmin is slow
        row = lax.optimization_barrier(rows.at[first + v].get(mode="promise_in_bounds"))
        return jnp.where(vertices == v[None], jnp.inf, degrees - own - row.T)

    left = lax.fori_loop(0, removals, step, degrees) < jnp.inf
    return left.T.reshape(count, problems, size)


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
