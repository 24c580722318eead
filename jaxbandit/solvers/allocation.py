"""How often to pull each arm so that all gaps of a linear bandit can be told at the least regret, with a certificate.

Minimise sum_x T_x gap_x subject to x' H_T^-1 x <= gap_x^2 / f for suboptimal x, H_T = sum_x T_x x x' (Hao, Lattimore,
Szepesvari 2019, equations 3.5, 3.6, 4.2; Combes, Magureanu, Proutiere 2017). Differs: the best arms cost nothing and
count as pulled for ever, exactly, by a projection.

Reduction. Let z be what is left of x beside the span of the best arms; x' H^-1 x tends to z' H_z^-1 z as the best arms'
pulls grow. In costs w = T gap, with u = z / sqrt(gap) and v = u / sqrt(gap), it is: minimise sum w subject to
v' A(w)^-1 v <= 1 / f, A(w) = sum w u u'. The scale of w is free, so that w = f * value * p, with p on the simplex the
design of least value, the largest v' A(p)^-1 v. That is `transductive_design` of solvers/design.py; the method is the
one described there, and so is the certificate.

Why not that function: this one works on many problems side by side, the last axis, where vmap of a factorisation goes
through LAPACK problem by problem, and directions parallel to the features need one product where that one needs three.
From _LARGE arms on the work per arm outweighs that, and it is that function.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap

from jaxbandit.numerics import as_float
from jaxbandit.solvers.design import transductive_design
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


class _Iterate(NamedTuple):
    weights: Array  # float[N, lanes] > 0, costs up to a factor
    multipliers: Array  # float[N, lanes] > 0, of h >= 1; 0 for arms that do not count
    slack: Array  # float[N, lanes] > 0, tends to h - 1
    reduced: Array  # float[N, lanes] > 0, multipliers of w >= 0


class _Found(NamedTuple):
    weights: Array  # float[N, lanes], on the simplex
    value: Array  # float[lanes]
    bound: Array  # float[lanes]
    idle: Array  # float[N, lanes], positive where the optimum has no weight


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
        return jax.tree.map(lambda x: x.reshape(*x.shape[:-1], *lanes), _in_chunks(*flat, steps=steps))

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
    """`_allocate`, a part of the lanes after the other: what it stores then fits the cache."""
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
    num_arms = ratios.shape[0]
    if num_arms >= _LARGE:
        directions = features * jnp.sqrt(ratios)[None]

        def one(x: Array, y: Array, mask: Array) -> tuple[Array, Array, Array]:
            found = transductive_design(x.T, y.T, mask=mask, steps=steps)
            weights = jnp.where(mask, found.weights, 0.0)  # of arms that are 0 here, and help nobody
            total = jnp.sum(weights)
            value = found.value * total
            return weights / total, value, jnp.minimum(found.bound, value)

        return jax.vmap(one, -1, -1)(features, directions, counts)

    axes = jnp.any(features != 0, 1)
    outside = _diagonal(jnp.where(axes, 0.0, 1.0).astype(features.dtype))
    live = counts.astype(features.dtype)
    size = 2 * jnp.sum(live, 0)
    unit = jnp.finfo(features.dtype).eps

    def products(weights: Array) -> tuple[Array, Array, Array]:
        """A^-1 u, float[d, N, lanes]; u' A^-1 u of all pairs, float[N, N, lanes]; v' A^-1 v."""
        total = jnp.sum(weights, 0)
        matrix = jnp.sum(weights[None, None] * features[:, None] * features[None], 2) / total[None, None]
        dual = _solve(matrix + outside, features) / total[None, None]
        gram = jnp.sum(features[:, :, None] * dual[:, None], 0)
        return dual, gram, ratios * jnp.sum(features * dual, 0)

    def invert(variance: Array) -> tuple[Array, Array]:
        """h = 1 / variance, and what to divide gram^2 by for its gradient."""
        inverse = 1 / jnp.where(counts, variance, 0.5)
        return inverse, jnp.where(counts, variance**2 / jnp.where(counts, ratios, 1.0), jnp.inf)

    def step(_: Array, carry: tuple[_Iterate, _Found]) -> tuple[_Iterate, _Found]:
        it, found = carry
        dual, gram, variance = products(it.weights)
        inverse, divisor = invert(variance)
        gradient = gram**2 / divisor[:, None]
        middle = jnp.sum((it.multipliers / divisor)[None, None] * dual[:, None] * dual[None], 2)
        half = jnp.sum(middle[:, :, None] * features[:, None], 0)
        scores = jnp.sum(half * features, 0)

        total = jnp.sum(it.weights * live, 0)
        value, top = total * jnp.max(variance, 0), jnp.max(scores, 0)
        bound = jnp.sum(it.multipliers * inverse, 0) ** 2 / (top * jnp.sum(it.multipliers * inverse**2, 0))
        better = value < found.value
        found = _Found(
            jnp.where(better[None], it.weights / total[None], found.weights),
            jnp.where(better, value, found.value),
            jnp.where(bound > found.bound, bound, found.bound),
            jnp.where(better[None], 1 - scores / top[None], found.idle),
        )

        missing = inverse - 1 - it.slack
        stiffness, inertia = it.multipliers / it.slack, it.reduced / it.weights
        bend = it.multipliers * (1 - 2 * variance * it.slack) / it.slack
        hessian = 2 * gram * jnp.sum(features[:, :, None] * half[:, None], 0) + _diagonal(inertia)
        bent = bend[:, None] * gradient
        hessian = hessian + jnp.stack([jnp.sum(bent[:, a][:, None] * gradient, 0) for a in range(num_arms)])
        # Each change is affine in the target of the products: one part for 0, one a unit of it.
        push = jnp.stack([-it.multipliers * (inverse - 1) / it.slack, live / it.slack])
        lift = jnp.stack([scores - 1, 1 / it.weights])
        right = jnp.sum(gradient[:, None] * push.swapaxes(0, 1)[:, :, None], 0) + lift
        weights = _solve(hessian / total[None, None], (right / total[None, None]).swapaxes(0, 1)).swapaxes(0, 1)
        rise = jnp.sum(gradient[None] * weights[:, None], 2)
        nothing = jnp.zeros_like(missing)
        parts = _Iterate(
            weights * live[None],
            (push - stiffness[None] * rise) * live[None],
            (rise + jnp.stack([missing, nothing])) * live[None],
            (jnp.stack([-it.reduced, 1 / it.weights]) - inertia[None] * weights) * live[None],
        )

        def lengths(change: _Iterate, part: float) -> _Iterate:
            """How far to go, of 1, so that all stay positive."""
            primal = jnp.maximum(_fall(it.weights, change.weights), _fall(it.slack, change.slack))
            other = jnp.maximum(_fall(it.multipliers, change.multipliers), _fall(it.reduced, change.reduced))
            primal, other = part / jnp.maximum(primal, part), part / jnp.maximum(other, part)
            return _Iterate(primal, other, primal, other)

        def move(change: _Iterate, part: float) -> _Iterate:
            return _Iterate(*(a + n[None] * b for a, n, b in zip(it, lengths(change, part), change, strict=True)))

        def duality(at: _Iterate) -> Array:
            return jnp.sum(live * (at.multipliers * at.slack + at.weights * at.reduced), 0) / size

        now = duality(it)
        centring = jnp.clip((duality(move(_Iterate(*(x[0] for x in parts)), 1.0)) / now) ** 3, 1e-4, 0.9)
        target = jnp.maximum(centring * now, unit / 10 * total / size)
        return move(_Iterate(*(x[0] + target[None] * x[1] for x in parts)), 0.99), found

    ones = jnp.ones_like(ratios)
    _, gram, variance = products(ones)
    start = jnp.max(variance, 0)
    scale = 2 * jnp.where(start > 0, start, 1.0)  # h is 2 or more
    inverse, divisor = invert(variance / scale[None])
    gradient = (gram / scale[None, None]) ** 2 / divisor[:, None]
    multipliers = jnp.where(counts, 1 / (inverse - 1), 0.0)
    scores = jnp.sum(multipliers[:, None] * gradient, 0)
    top = 2 * jnp.maximum(jnp.max(scores, 0), jnp.finfo(scores.dtype).tiny)
    it = _Iterate(scale[None] * ones, multipliers / top[None], inverse - 1, 1 - scores / top[None])
    spread = live / jnp.maximum(size / 2, 1.0)[None]
    found = _Found(spread, jnp.full_like(start, jnp.inf), jnp.zeros_like(start), jnp.zeros_like(ones))
    _, found = lax.fori_loop(0, steps + 1, step, (it, found))  # the last one certifies; its move is not used

    sparse = jnp.where(found.weights > found.idle, found.weights, 0.0)  # one of the two tends to 0
    sparse = sparse / jnp.sum(sparse, 0)[None]
    value = jnp.max(products(sparse)[2], 0)
    slack = jnp.maximum(found.value - found.bound, 1e3 * unit * found.value)
    keep = value <= found.value + slack
    value = jnp.where(keep, value, found.value)
    return jnp.where(keep[None], sparse, found.weights * live), value, jnp.minimum(found.bound, value)


def _first(flags: Array) -> Array:
    """The lowest of the flags that are set along the first axis, alone."""
    index = jnp.arange(flags.shape[0], dtype=jnp.int32)[:, None]
    return flags & (index == jnp.min(jnp.where(flags, index, flags.shape[0]), 0)[None])


def _diagonal(entries: Array) -> Array:
    """float[n, n, lanes] with these entries [n, lanes] on the diagonal."""
    index = jnp.arange(entries.shape[0], dtype=jnp.int32)
    return jnp.where((index[:, None] == index[None])[:, :, None], entries[None], 0.0)


def _fall(value: Array, change: Array) -> Array:
    """The largest of -change / value: the longest step that keeps value positive is its inverse."""
    return jnp.max(-change / jnp.where(value > 0, value, 1.0), 0)


def _solve(matrix: Array, right: Array) -> Array:
    """Solve matrix x = right for float[n, n, lanes], positive definite, and float[n, m, lanes].

    Gauss and Jordan: few and simple passes over all lanes. A pivot below rounding counts as rounding.
    """
    unit = jnp.finfo(matrix.dtype).eps
    size = matrix.shape[0]
    rows = jnp.concatenate([matrix * (1 + 10 * unit * jnp.eye(size, dtype=matrix.dtype))[:, :, None], right], 1)
    rows = lax.optimization_barrier(rows)
    least = [unit * rows[j, j][None] for j in range(size)]
    for j in range(size):
        row = rows[j, 1:] / jnp.maximum(rows[j, :1], least[j])
        rest = rows[:, 1:] - rows[:, :1] * row[None]
        rows = lax.optimization_barrier(jnp.concatenate([rest[:j], row[None], rest[j + 1 :]]))
    return rows
