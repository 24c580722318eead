"""The allocation of pulls that resolves all gaps of a linear bandit at the smallest regret, with a certificate.

The problem is to minimize sum_x T_x gap_x subject to x' H_T^-1 x <= gap_x^2 / f for suboptimal x, where H_T = sum_x T_x
x x' (Hao, Lattimore and Szepesvari 2019, equations 3.5, 3.6 and 4.2; Combes, Magureanu and Proutiere 2017). Difference:
the best arms cost nothing and count as pulled infinitely often. docs/mathematics.md has the method.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap

from jaxbandit.support.numerics import as_float, inline
from jaxbandit.support.types import Array, Scalar
from jaxbandit.theory.solvers.design import transductive_design
from jaxbandit.theory.solvers.lanes_design import lanes_design

BEST = 1e-12  # an arm with a gap of at most this is a best arm
_LARGE = 25  # number of arms
_CHUNK = 128  # number of problems solved together
_TIE = 1e-9  # relative, in float64; structural ties in dimension 1 do occur, and go to the lowest index


class Allocation(NamedTuple):
    """Pulls with their certificate: cost - bound is the duality gap."""

    pulls: Array  # float[num_arms], T; 0 for best and masked arms
    cost: Array  # float[], sum of pulls times gaps
    bound: Array  # float[], certified lower bound on the smallest cost


def allocation(
    features: Array, gaps: Array, level: Scalar, *, mask: Array | None = None, steps: int = 22
) -> Allocation:
    """Return the pulls of smallest regret that distinguish every suboptimal arm from the best at a given level.

    Pulls that the optimum does not need are exactly 0, and all are 0 if the best arms span the others. Arms that are
    equal with equal gaps share, except in dimension 1, where the lowest index is pulled.

    Args:
      features: float[N, d], traced; all pairs of a context and an arm, one after the other.
      gaps: float[N], >= 0, traced. An arm with a gap of at most 1e-12 is a best arm; there should be at least one.
      level: f, > 0, traced; the constraint is x' H^-1 x <= gap^2 / f.
      mask: bool[N], False for padding; traced.
      steps: number of interior-point steps, static. 22 leave a relative gap below 1e-7 in float64 and about 1e-3 in
        float32, more if lengths and gaps both spread over six orders of magnitude.
    """
    features, gaps, level = as_float(features), as_float(gaps), as_float(level)
    mask = jnp.ones(gaps.shape, bool) if mask is None else mask
    return _over(0, steps)(features, gaps, level, mask)


def _over(axes: int, steps: int):
    """Return the solver for problems along the last `axes` axes; vmap adds axes there, where it is fast."""

    @custom_vmap
    def solve(*problem: Array) -> Allocation:
        lanes = problem[2].shape
        flat = [x.reshape(*x.shape[: x.ndim - axes], -1) for x in problem]
        at_once, in_chunks = (partial(f, steps=steps) for f in (_allocate, _in_chunks))
        solved = partial(lax.platform_dependent, cpu=in_chunks, default=at_once)
        return jax.tree.map(lambda x: x.reshape(*x.shape[:-1], *lanes), solved(*flat))

    @solve.def_vmap
    def _(size: int, batched: list[bool], *problem: Array) -> tuple[Allocation, Allocation]:
        moved = [
            jnp.moveaxis(x, 0, -1) if flag else jnp.broadcast_to(x[..., None], (*x.shape, size))
            for x, flag in zip(problem, batched, strict=True)
        ]
        solution = jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), _over(axes + 1, steps)(*moved))
        return solution, jax.tree.map(lambda _: True, solution)

    return solve


def _in_chunks(*problem: Array, steps: int) -> Allocation:
    """Apply `_allocate` to one part of the lanes after the other, so that what it stores fits into a CPU's cache."""
    size = problem[2].shape[0]
    if size <= _CHUNK:
        return _allocate(*problem, steps=steps)
    count = -(-size // _CHUNK)
    parts = []
    for x in problem:
        x = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, count * _CHUNK - size)], mode="edge")
        parts.append(jnp.moveaxis(x.reshape(*x.shape[:-1], count, _CHUNK), -2, 0))
    chunks = lax.map(lambda part: _allocate(*part, steps=steps), tuple(parts))
    return jax.tree.map(lambda x: jnp.moveaxis(x, 0, -2).reshape(*x.shape[1:-1], -1)[..., :size], chunks)


@partial(inline, static_argnames="steps")
def _allocate(features: Array, gaps: Array, level: Array, mask: Array, *, steps: int) -> Allocation:
    """Solve `allocation` for features[N, d, lanes], gaps[N, lanes], level[lanes] and mask[N, lanes]."""
    best = mask & (gaps <= BEST)
    gaps = jnp.where(mask & ~best, gaps, 1.0)
    beside, rank = _coordinates(jnp.where(mask[:, None], features, 0.0).swapaxes(0, 1), gaps, best)
    counts = jnp.any(beside != 0, 0)
    least = jnp.min(jnp.where(counts, gaps, jnp.inf), 0)
    ratios = jnp.where(counts, least[None] / gaps, 0.0)
    scaled = beside / jnp.sqrt(gaps)[None]

    plain = _line(scaled, ratios, counts)
    convex = rank > 1
    design = lax.cond(jnp.any(convex), lambda: _design(scaled, ratios, counts, steps), lambda: plain)
    weights, value, bound = (jnp.where(convex, x, y) for x, y in zip(design, plain, strict=True))
    unit = level / jnp.where(rank > 0, least, 1.0)
    return Allocation(unit[None] * value[None] * weights / gaps, unit * value, unit * bound)


def _coordinates(rest: Array, gaps: Array, best: Array) -> tuple[Array, Array]:
    """Return orthonormal coordinates orthogonal to the best arms, float[d, N, lanes], and their rank, int32[lanes]."""
    lengths = jnp.sum(rest**2, 0)
    shortest = lengths * jnp.finfo(rest.dtype).eps ** 1.2  # shorter vectors are rounding errors and count as 0
    directions, coordinates = [], []
    rank = jnp.zeros(lengths.shape[1:], jnp.int32)
    for _ in range(rest.shape[0]):
        squares = jnp.sum(rest**2, 0)
        alive = (squares > shortest) & (squares > 0)
        first = jnp.any(alive & best, 0)
        score = jnp.where(best, squares / jnp.where(alive, lengths, 1.0), squares / gaps)
        score = jnp.where(alive & (best == first[None]), score, 0.0)
        pivot = _first(score >= jnp.max(score, 0)[None]) & alive
        chosen = jnp.sum(jnp.where(pivot[None], rest, 0.0), 1)
        for other in directions:  # a pivot may be short, so that its rounding errors are not negligible
            chosen = chosen - jnp.sum(other * chosen, 0)[None] * other
        square = jnp.sum(chosen**2, 0)
        chosen = chosen / jnp.sqrt(jnp.where(square > 0, square, 1.0))[None]
        along = jnp.sum(rest * chosen[:, None], 0)
        rest = lax.optimization_barrier(jnp.where(alive[None], rest - chosen[:, None] * along[None], 0.0))
        directions.append(chosen)
        coordinates.append(jnp.where(alive & ~first[None], along, 0.0))
        rank = rank + ((square > 0) & ~first).astype(jnp.int32)
    return jnp.stack(coordinates), rank


def _line(scaled: Array, ratios: Array, counts: Array) -> tuple[Array, Array, Array]:
    """The closed form in dimension 1, all weight on the arm with the largest absolute u, and 0 in dimension 0."""
    squares = jnp.sum(scaled**2, 0)
    most = jnp.max(squares, 0)
    slack = max(_TIE, 16 * float(jnp.finfo(squares.dtype).eps))
    chosen = _first(counts & (squares >= (most * (1 - slack))[None]))
    hardest = jnp.max(ratios * squares, 0)
    one = jnp.sum(jnp.where(chosen, squares, 0.0), 0)
    return (
        chosen.astype(squares.dtype),
        hardest / jnp.where(one > 0, one, 1.0),
        hardest / jnp.where(most > 0, most, 1.0),
    )


def _design(features: Array, ratios: Array, counts: Array, steps: int) -> tuple[Array, Array, Array]:
    """Weights on the simplex with the smallest value, the largest ratio u' A^-1 u; the value; and a lower bound."""
    if ratios.shape[0] < _LARGE:
        return lanes_design(features, ratios, counts, steps)
    directions = features * jnp.sqrt(ratios)[None]

    def one(x: Array, y: Array, mask: Array) -> tuple[Array, Array, Array]:
        design = transductive_design(x.T, y.T, mask=mask, steps=steps)
        weights = jnp.where(mask, design.weights, 0.0)  # without arms that are 0 here, which do not help
        total = jnp.sum(weights)
        value = design.value * total
        return weights / total, value, jnp.minimum(design.bound, value)

    return jax.vmap(one, -1, -1)(features, directions, counts)


def _first(flags: Array) -> Array:
    """Return the flags along the first axis with only the lowest set one kept."""
    index = jnp.arange(flags.shape[0], dtype=jnp.int32)[:, None]
    return flags & (index == jnp.min(jnp.where(flags, index, flags.shape[0]), 0)[None])
