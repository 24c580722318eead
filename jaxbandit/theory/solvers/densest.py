"""Maximize x' W x over the sets of k vertices: greedy peeling for the densest k-subgraph, and exchanges.

This is Algorithm 1 of Kuroki, Xu, Miyauchi, Honda and Sugiyama (2020), with the peeling of Asahiro, Iwama, Tamaki and
Tokuyama (2000): on the complete graph with edge weights w_ij + w_ii + w_jj, remove the vertex of smallest weighted
degree until k are left. Under vmap the problems become lanes of one loop, which may share a matrix.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_batching import custom_vmap

from jaxbandit.base.arguments import Whole
from jaxbandit.base.calls import checked
from jaxbandit.base.parameters import Arg
from jaxbandit.support.domains import integer
from jaxbandit.support.numerics import argmax, dot, slice_at
from jaxbandit.support.types import Array

SetSize = Annotated[int, Arg(lambda given: integer(1, len(given["weights"])), within="an integer in [1, n]")]
_LANES = 8  # number of lanes processed together on a CPU,
_DEGREES = 500  # with at most this many degrees in total
_VECTOR = 16  # number of entries at which halving ends
# Largest number of vertices for which the problems, not the vertices, lie along the vector. That is three times as fast
# at 24 vertices and no faster at 48.
_FEW = 32


def quadratic(weights: Array, members: Array, *, diagonal: Array | None = None) -> Array:
    """Return x' (W + diag(diagonal)) x, float[], for the indicator x of members."""
    x = members.astype(weights.dtype)
    value = dot(dot(x, weights), x)
    return value if diagonal is None else value + dot(x, diagonal)


@checked
def peeling(weights: Array, k: SetSize, *, diagonal: Array | None = None, polish: Whole = 0) -> Array:
    """Return a set of k vertices with a large x' (W + diag(diagonal)) x by greedy peeling; ties go to the lowest index.

    Args:
      weights: float[n, n], symmetric, not necessarily positive definite; traced.
      k: size of the set; static.
      diagonal: float[n], or None for 0; traced. Problems that differ only in it, under vmap with unbatched weights,
        share one matrix in memory.
      polish: number of exchanges of a member for another vertex, each the best one, as long as one gains; static.
    """
    size = weights.shape[0]
    if weights.shape != (size, size):
        raise ValueError(f"weights has shape {weights.shape}, must be square")
    own = jnp.diagonal(weights) if diagonal is None else jnp.diagonal(weights) + diagonal
    left = _over(size - k)(weights[None], own[None, None])[0, 0]
    return exchange(weights, own, left, polish)


def _over(removals: int):
    """A function from weights[G, n, n] and own[G, m, n], with m problems per matrix, to what is left, bool[G, m, n]."""

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
    """Process all problems together."""
    count, problems, size = own.shape
    rows = weights.reshape(-1, size)
    first = jnp.repeat(jnp.arange(count, dtype=jnp.int32) * size, problems)  # row of the matrix of each problem
    sums = jnp.repeat(_sums(weights), problems, axis=0)
    left = _remove(lambda v: rows.at[first + v].get(mode="promise_in_bounds"), sums, own.reshape(-1, size), removals)
    return left.reshape(own.shape)


def _in_chunks(weights: Array, own: Array, *, removals: int) -> Array:
    """Process a few problems at a time."""
    problems, size = own.shape[1:]
    flat = own.reshape(-1, size)
    few = size <= _FEW
    width = min(len(flat), len(flat) if few else _LANES, max(1, _DEGREES // size))
    shared: Any = _sums(weights) if few or problems > 1 else None

    def solve(start: Array) -> Array:
        places = [(start + lane) // problems for lane in range(width)]
        # The barrier makes one copy, instead of one per use.
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
    parts = lax.map(solve_few if few else solve, starts)
    left = jnp.concatenate([parts[:-1].reshape(-1, size), parts[-1, width * len(starts) - len(flat) :]])
    return left.reshape(own.shape)


def _sums(weights: Array) -> Array:
    """Return each vertex's sum of weights to the others, float[..., n], summed along columns, which XLA vectorizes."""
    return jnp.sum(weights, -2) - jnp.diagonal(weights, axis1=-2, axis2=-1)


def _least(values: Array) -> Array:
    """Return the minimum along the last axis by comparing halves, because XLA does not vectorize reductions of rows."""
    while (size := values.shape[-1]) > _VECTOR:
        half = (size + 1) // 2
        values = jnp.minimum(values[..., :half], values[..., -half:])
    return jnp.min(values, -1)


def _remove(rows: Callable[[Array], Array], sums: Array, own: Array, removals: int) -> Array:
    """Return what is left after `removals` removals, bool[B, n]; rows(v) returns the rows v of the matrices."""
    size = own.shape[1]
    vertices = jnp.arange(size, dtype=jnp.int32)[None]

    def step(_: int, degrees: Array) -> Array:
        v = _least(jnp.where(degrees == _least(degrees)[:, None], vertices, size - 1))  # argmin is slow
        return jnp.where(vertices == v[:, None], jnp.inf, degrees - own - rows(v))

    return lax.fori_loop(0, removals, step, sums + (size - 2) * own) < jnp.inf


def _remove_across(rows: Array, first: Array, sums: Array, own: Array, removals: int) -> Array:
    """Return the result of `_remove`, computed with the problems along the vector."""
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
    """Return the members after at most `steps` exchanges of one vertex for another, each the one with the largest gain.

    The diagonal of the weights is replaced by `own`, float[n].
    """
    if steps == 0:
        return members
    size = members.shape[0]
    vertices = jnp.arange(size, dtype=jnp.int32)
    unit = 16 * size * jnp.finfo(weights.dtype).eps

    def step(_: int, members: Array) -> Array:
        x = members.astype(weights.dtype)
        gain = own + 2 * (dot(weights, x) - jnp.diagonal(weights) * x)  # gain from joining, or loss from leaving
        swaps = gain[None] - gain[:, None] - 2 * weights  # the column's vertex replaces the row's
        swaps = jnp.where(members[:, None] & ~members[None], swaps, -jnp.inf)
        best = argmax(swaps.reshape(-1))
        changed = (vertices == best // size) | (vertices == best % size)
        least = unit * jnp.max(jnp.abs(gain))  # an exchange that only gains by rounding might be undone by the next
        return jnp.where(changed & (jnp.max(swaps) > least), ~members, members)

    return lax.fori_loop(0, steps, step, members)
