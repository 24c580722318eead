"""Maximise x' W x over the sets of k vertices: greedy peeling for the densest k-subgraph, and exchanges.

Kuroki, Xu, Miyauchi, Honda, Sugiyama (2019), Algorithm 1, with the peeling of Asahiro, Iwama, Tamaki, Tokuyama (2000)
as its oracle: on the complete graph with edge weights w_ij + w_ii + w_jj, remove the vertex of least weighted degree
until k are left. What is certified about the answer is in quadratic_bound.py.

Degrees. With S what is left and m its size, a vertex of S has the degree o_i + (m - 2) w_ii + sum_{j in S} w_jj, o_i
its sum of w_ij over the others of S. The last term is common to all, so that one vector tells the least, and removing v
takes w_iv + w_ii off its entry i: the edge weights are never stored.

Batches. Under vmap the problems become lanes of one loop, each step fetches one row of a matrix a lane, and lanes may
share a matrix. On a CPU a few lanes at a time, each with a copy of its matrix that stays in the cache from the sums to
the last row: XLA splits larger operations over threads, at every turn, which costs more than the operation.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_batching import custom_vmap

from jaxbandit import checks
from jaxbandit.numerics import argmax, dot, slice_at
from jaxbandit.types import Array

_LANES = 8  # side by side on a CPU,
_DEGREES = 500  # and no more than this many degrees
_VECTOR = 16  # entries at which halving ends
_FEW = 32  # vertices up to which problems lie along the vector instead: three times as fast at 24, no faster at 48


def quadratic(weights: Array, members: Array, *, diagonal: Array | None = None) -> Array:
    """Return x' (W + diag(diagonal)) x, float[], for the indicator x of members.

    Args:
      weights: float[n, n], traced.
      members: bool[n], traced.
      diagonal: float[n], traced, or None for 0.
    """
    x = members.astype(weights.dtype)
    value = dot(dot(x, weights), x)
    return value if diagonal is None else value + dot(x, diagonal)


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
    left = _over(size - k)(weights[None], own[None, None])[0, 0]
    return exchange(weights, own, left, polish)


def _over(removals: int):
    """What is left, bool[G, m, n], of weights[G, n, n] and own[G, m, n]: m problems on each matrix."""

    @custom_vmap
    def remove(weights: Array, own: Array) -> Array:
        return lax.platform_dependent(
            weights, own, cpu=partial(_in_chunks, removals=removals), default=partial(_at_once, removals=removals)
        )

    @remove.def_vmap
    def _(size: int, batched: list[bool], weights: Array, own: Array) -> tuple[Array, bool]:
        count, problems, vertices = own.shape[-3:]
        own = own if batched[1] else jnp.broadcast_to(own[None], (size, *own.shape))
        if batched[0]:
            flat = [x.reshape(-1, *x.shape[2:]) for x in (weights, own)]
            return _over(removals)(*flat).reshape(size, count, problems, vertices), True
        beside = jnp.moveaxis(own, 0, 1).reshape(count, -1, vertices)
        left = _over(removals)(weights, beside).reshape(count, size, problems, vertices)
        return jnp.moveaxis(left, 1, 0), True

    return remove


def _at_once(weights: Array, own: Array, *, removals: int) -> Array:
    """All problems side by side."""
    count, problems, size = own.shape
    rows = weights.reshape(-1, size)
    first = jnp.repeat(jnp.arange(count, dtype=jnp.int32) * size, problems)  # row of the matrix of each problem
    sums = jnp.repeat(_sums(weights), problems, axis=0)
    left = _remove(lambda v: rows.at[first + v].get(mode="promise_in_bounds"), sums, own.reshape(-1, size), removals)
    return left.reshape(own.shape)


def _in_chunks(weights: Array, own: Array, *, removals: int) -> Array:
    """A few problems after the other."""
    problems, size = own.shape[1:]
    flat = own.reshape(-1, size)
    few = size <= _FEW
    width = min(len(flat), len(flat) if few else _LANES, max(1, _DEGREES // size))
    shared: Any = _sums(weights) if few or problems > 1 else None

    def solve(start: Array) -> Array:
        places = [(start + lane) // problems for lane in range(width)]
        # Copied once, not by each use.
        matrices = lax.optimization_barrier([slice_at(weights, place, 0) for place in places])
        sums = [_sums(m) for m in matrices] if shared is None else [slice_at(shared, place, 0) for place in places]

        def rows(v: Array) -> Array:
            return jnp.stack([slice_at(matrix, v[lane], 0) for lane, matrix in enumerate(matrices)])

        return _remove(rows, jnp.stack(sums), lax.dynamic_slice_in_dim(flat, start, width), removals)

    def solve_few(start: Array) -> Array:
        places = (start + jnp.arange(width, dtype=jnp.int32)) // problems
        now = lax.dynamic_slice_in_dim(flat, start, width)
        return _remove_across(weights.reshape(-1, size), places * size, shared[places], now, removals)

    # The last chunk may overlap the one before.
    starts = np.minimum(np.arange(0, len(flat), width), len(flat) - width).astype(np.int32)
    found = lax.map(solve_few if few else solve, starts)
    left = jnp.concatenate([found[:-1].reshape(-1, size), found[-1, width * len(starts) - len(flat) :]])
    return left.reshape(own.shape)


def _sums(weights: Array) -> Array:
    """Each vertex's sum of weights to the others, float[..., n]; along columns, by symmetry: XLA vectorises that."""
    return jnp.sum(weights, -2) - jnp.diagonal(weights, axis1=-2, axis2=-1)


def _least(values: Array) -> Array:
    """Minimum along the last axis, half against half, overlapping where odd: no row's reduction is vectorised."""
    while (size := values.shape[-1]) > _VECTOR:
        half = (size + 1) // 2
        values = jnp.minimum(values[..., :half], values[..., -half:])
    return jnp.min(values, -1)


def _remove(rows: Callable[[Array], Array], sums: Array, own: Array, removals: int) -> Array:
    """What `removals` removals leave, bool[B, n], of sums and own, float[B, n]; rows(v) are rows v of the matrices."""
    size = own.shape[1]
    vertices = jnp.arange(size, dtype=jnp.int32)[None]

    def step(_: int, degrees: Array) -> Array:
        v = _least(jnp.where(degrees == _least(degrees)[:, None], vertices, size - 1))  # plain minima: argmin is slow
        return jnp.where(vertices == v[:, None], jnp.inf, degrees - own - rows(v))

    return lax.fori_loop(0, removals, step, sums + (size - 2) * own) < jnp.inf


def _remove_across(rows: Array, first: Array, sums: Array, own: Array, removals: int) -> Array:
    """`_remove` with the problems along the vector; the matrix of problem b begins at row first[b] of `rows`."""
    size = own.shape[1]
    own = own.T
    vertices = jnp.arange(size, dtype=jnp.int32)[:, None]

    def step(_: int, degrees: Array) -> Array:
        least = jnp.min(degrees, 0)
        v = jnp.min(jnp.where(degrees == least[None], vertices, size - 1), 0)
        row = lax.optimization_barrier(rows.at[first + v].get(mode="promise_in_bounds"))
        return jnp.where(vertices == v[None], jnp.inf, degrees - own - row.T)

    return (lax.fori_loop(0, removals, step, sums.T + (size - 2) * own) < jnp.inf).T


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
        gain = own + 2 * (dot(weights, x) - jnp.diagonal(weights) * x)  # of joining, or of not being left out
        swaps = gain[None] - gain[:, None] - 2 * weights  # in place of the row's vertex, the column's
        swaps = jnp.where(members[:, None] & ~members[None], swaps, -jnp.inf)
        best = argmax(swaps.reshape(-1))
        changed = (vertices == best // size) | (vertices == best % size)
        least = unit * jnp.max(jnp.abs(gain))  # a gain by rounding could be undone by the next
        return jnp.where(changed & (jnp.max(swaps) > least), ~members, members)

    return lax.fori_loop(0, steps, step, members)
