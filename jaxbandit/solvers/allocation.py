"""How often to pull each arm so that all gaps of a linear bandit can be told at the least regret, with a certificate.

Minimise sum_x T_x gap_x subject to x' H_T^-1 x <= gap_x^2 / f for suboptimal x, H_T = sum_x T_x x x' (Hao, Lattimore,
Szepesvari 2019, equations 3.5, 3.6, 4.2; Combes, Magureanu, Proutiere 2017). Differs: the best arms cost nothing and
count as pulled for ever, exactly, by a projection.

Reduction. Let z be what is left of x beside the span of the best arms; x' H^-1 x tends to z' H_z^-1 z as the best arms'
pulls grow. In costs w = T gap, with u = z / sqrt(gap) and v = u / sqrt(gap), it is: minimise sum w subject to
v' A(w)^-1 v <= 1 / f, A(w) = sum w u u'. The scale of w is free, so that w = f * value * p, with p on the simplex the
design of least value, the largest v' A(p)^-1 v. That is `transductive_design` of solvers/design.py; the method is the
one described there, and so is the certificate.

From _LARGE arms on it is that function; below, solvers/lanes_design.py does the same on many problems side by side.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap

from jaxbandit.numerics import as_float
from jaxbandit.solvers.design import transductive_design
from jaxbandit.solvers.lanes_design import lanes_design
from jaxbandit.types import Array, Scalar

BEST = 1e-12  # a gap up to this is that of a best arm
_LARGE = 25  # arms
_CHUNK = 128  # problems at a time
_TIE = 1e-9  # relative, in float64: structural ties in dimension 1 are real, and go to the lowest index


class Allocation(NamedTuple):
    """Pulls and how good they are: cost - bound is the duality gap."""

    pulls: Array  # float[num_arms], T; 0 for best and masked arms
    cost: Array  # float[], sum of pulls times gaps
    bound: Array  # float[], certified lower bound of the least cost


def allocation(
    features: Array, gaps: Array, level: Scalar, *, mask: Array | None = None, steps: int = 22
) -> Allocation:
    """Return the pulls of least regret that tell every suboptimal arm from the best at a given level.

    Args:
      features: float[N, d], traced: all pairs of a context and an arm, one after the other.
      gaps: float[N], traced, >= 0. An arm with a gap of 1e-12 or less is best; one at least should be.
      level: traced, > 0, f: the constraint is ||x||^2 <= gap^2 / f.
      mask: bool[N], traced, False for padding.
      steps: static, >= 1. 22 leave a relative gap below 1e-7 in float64, about 1e-3 in float32. More where lengths and
        gaps both spread over six orders of magnitude: there the bound tells (4e-3 was seen).

    Returns:
      Allocation. Pulls that the optimum does not need are exactly 0. Where it is not unique: in dimension 1 the lowest
      index; else one in the middle of the optima, so that equal arms with equal gaps share. Of two copies of a feature
      the one with the smaller gap is pulled. Best arms that span the others: all 0.
    """
    features, gaps, level = as_float(features), as_float(gaps), as_float(level)
    mask = jnp.ones(gaps.shape, bool) if mask is None else mask
    return _over(0, steps)(features, gaps, level, mask)


def _over(axes: int, steps: int):
    """The solver of problems along the last `axes` axes; vmap adds an axis there, not in front, where it is slow."""

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
        found = jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), _over(axes + 1, steps)(*moved))
        return found, jax.tree.map(lambda _: True, found)

    return solve


def _in_chunks(*problem: Array, steps: int) -> Allocation:
    """`_allocate`, a part of the lanes after the other: what it stores then fits a CPU's cache."""
    size = problem[2].shape[0]
    if size <= _CHUNK:
        return _allocate(*problem, steps=steps)
    count = -(-size // _CHUNK)
    parts = []
    for x in problem:
        x = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, count * _CHUNK - size)], mode="edge")
        parts.append(jnp.moveaxis(x.reshape(*x.shape[:-1], count, _CHUNK), -2, 0))
    found = lax.map(lambda part: _allocate(*part, steps=steps), tuple(parts))
    return jax.tree.map(lambda x: jnp.moveaxis(x, 0, -2).reshape(*x.shape[1:-1], -1)[..., :size], found)


def _allocate(features: Array, gaps: Array, level: Array, mask: Array, *, steps: int) -> Allocation:
    """`allocation` of features[N, d, lanes], gaps[N, lanes], level[lanes], mask[N, lanes]."""
    best = mask & (gaps <= BEST)
    gaps = jnp.where(mask & ~best, gaps, 1.0)
    beside, rank = _coordinates(jnp.where(mask[:, None], features, 0.0).swapaxes(0, 1), gaps, best)
    counts = jnp.any(beside != 0, 0)
    least = jnp.min(jnp.where(counts, gaps, jnp.inf), 0)
    ratios = jnp.where(counts, least[None] / gaps, 0.0)
    scaled = beside / jnp.sqrt(gaps)[None]

    plain = _line(scaled, ratios, counts)
    convex = rank > 1
    found = lax.cond(jnp.any(convex), lambda: _design(scaled, ratios, counts, steps), lambda: plain)
    weights, value, bound = (jnp.where(convex, x, y) for x, y in zip(found, plain, strict=True))
    unit = level / jnp.where(rank > 0, least, 1.0)
    return Allocation(unit[None] * value[None] * weights / gaps, unit * value, unit * bound)


def _coordinates(rest: Array, gaps: Array, best: Array) -> tuple[Array, Array]:
    """Orthonormal coordinates, float[d, N, lanes], of what is left beside the best arms, and its rank, int32[lanes].

    Gram and Schmidt with pivots, first among the best arms, by relative length, then among the others, by length over
    sqrt(gap): so A(w) is graded, and elimination on it accurate, whatever the arms' lengths.
    """
    lengths = jnp.sum(rest**2, 0)
    shortest = lengths * jnp.finfo(rest.dtype).eps ** 1.2  # shorter is rounding, and taken for 0
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
        for other in directions:  # a pivot may be short, and then its rounding is not
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
    """The closed form in dimension 1, and 0 in dimension 0: all weight on the arm of largest |u|."""
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
    """Weights on the simplex of least value, the largest ratio u' A^-1 u; the value; and a bound of the least."""
    if ratios.shape[0] < _LARGE:
        return lanes_design(features, ratios, counts, steps)
    directions = features * jnp.sqrt(ratios)[None]

    def one(x: Array, y: Array, mask: Array) -> tuple[Array, Array, Array]:
        found = transductive_design(x.T, y.T, mask=mask, steps=steps)
        weights = jnp.where(mask, found.weights, 0.0)  # of arms that are 0 here, and help nobody
        total = jnp.sum(weights)
        value = found.value * total
        return weights / total, value, jnp.minimum(found.bound, value)

    return jax.vmap(one, -1, -1)(features, directions, counts)


def _first(flags: Array) -> Array:
    """The lowest of the flags that are set along the first axis, alone."""
    index = jnp.arange(flags.shape[0], dtype=jnp.int32)[:, None]
    return flags & (index == jnp.min(jnp.where(flags, index, flags.shape[0]), 0)[None])
