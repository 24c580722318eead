"""The design of solvers/design.py for directions parallel to the features, for many problems at once.

The problems are the last axis, because vmap of a factorization would call LAPACK problem by problem.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from jaxbandit.support.types import Array


class _Iterate(NamedTuple):
    weights: Array  # float[N, lanes] > 0, costs up to a factor
    multipliers: Array  # float[N, lanes] > 0, of h >= 1; 0 for arms that are not included
    slack: Array  # float[N, lanes] > 0, tends to h - 1
    reduced: Array  # float[N, lanes] > 0, multipliers of w >= 0


class _Incumbent(NamedTuple):
    weights: Array  # float[N, lanes], on the simplex
    value: Array  # float[lanes]
    bound: Array  # float[lanes]
    idle: Array  # float[N, lanes], positive where the optimum has no weight


def lanes_design(features: Array, ratios: Array, counts: Array, steps: int) -> tuple[Array, Array, Array]:
    """Return weights on the simplex with the smallest value, the largest ratio u' A^-1 u; the value; and a lower bound.

    `features` is float[d, N, lanes], with rows u; an axis may be 0 throughout. `counts`, bool[N, lanes], are the arms
    that are included.
    """
    num_arms = ratios.shape[0]
    axes = jnp.any(features != 0, 1)
    outside = _diagonal(jnp.where(axes, 0.0, 1.0).astype(features.dtype))
    live = counts.astype(features.dtype)
    size = 2 * jnp.sum(live, 0)
    unit = jnp.finfo(features.dtype).eps

    def products(weights: Array) -> tuple[Array, Array, Array]:
        """Return A^-1 u, float[d, N, lanes]; u' A^-1 u for all pairs, float[N, N, lanes]; and v' A^-1 v."""
        total = jnp.sum(weights, 0)
        matrix = jnp.sum(weights[None, None] * features[:, None] * features[None], 2) / total[None, None]
        dual = _solve(matrix + outside, features) / total[None, None]
        gram = jnp.sum(features[:, :, None] * dual[:, None], 0)
        return dual, gram, ratios * jnp.sum(features * dual, 0)

    def invert(variance: Array) -> tuple[Array, Array]:
        """Return h = 1 / variance, and the divisor of gram^2 that gives its gradient."""
        inverse = 1 / jnp.where(counts, variance, 0.5)
        return inverse, jnp.where(counts, variance**2 / jnp.where(counts, ratios, 1.0), jnp.inf)

    def step(_: Array, carry: tuple[_Iterate, _Incumbent]) -> tuple[_Iterate, _Incumbent]:
        it, incumbent = carry
        dual, gram, variance = products(it.weights)
        inverse, divisor = invert(variance)
        gradient = gram**2 / divisor[:, None]
        middle = jnp.sum((it.multipliers / divisor)[None, None] * dual[:, None] * dual[None], 2)
        half = jnp.sum(middle[:, :, None] * features[:, None], 0)
        scores = jnp.sum(half * features, 0)

        total = jnp.sum(it.weights * live, 0)
        value, top = total * jnp.max(variance, 0), jnp.max(scores, 0)
        bound = jnp.sum(it.multipliers * inverse, 0) ** 2 / (top * jnp.sum(it.multipliers * inverse**2, 0))
        better = value < incumbent.value
        incumbent = _Incumbent(
            jnp.where(better[None], it.weights / total[None], incumbent.weights),
            jnp.where(better, value, incumbent.value),
            jnp.where(bound > incumbent.bound, bound, incumbent.bound),
            jnp.where(better[None], 1 - scores / top[None], incumbent.idle),
        )

        missing = inverse - 1 - it.slack
        stiffness, inertia = it.multipliers / it.slack, it.reduced / it.weights
        bend = it.multipliers * (1 - 2 * variance * it.slack) / it.slack
        hessian = 2 * gram * jnp.sum(features[:, :, None] * half[:, None], 0) + _diagonal(inertia)
        bent = bend[:, None] * gradient
        hessian = hessian + jnp.stack([jnp.sum(bent[:, a][:, None] * gradient, 0) for a in range(num_arms)])
        # Each change is affine in the target of the products, so it has one part for 0 and one per unit of it.
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
        return move(_Iterate(*(x[0] + target[None] * x[1] for x in parts)), 0.99), incumbent

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
    incumbent = _Incumbent(spread, jnp.full_like(start, jnp.inf), jnp.zeros_like(start), jnp.zeros_like(ones))
    _, incumbent = lax.fori_loop(0, steps + 1, step, (it, incumbent))  # the last one certifies; its move is not used

    sparse = jnp.where(incumbent.weights > incumbent.idle, incumbent.weights, 0.0)  # one of the two tends to 0
    sparse = sparse / jnp.sum(sparse, 0)[None]
    value = jnp.max(products(sparse)[2], 0)
    slack = jnp.maximum(incumbent.value - incumbent.bound, 1e3 * unit * incumbent.value)
    keep = value <= incumbent.value + slack
    value = jnp.where(keep, value, incumbent.value)
    return jnp.where(keep[None], sparse, incumbent.weights * live), value, jnp.minimum(incumbent.bound, value)


def _diagonal(entries: Array) -> Array:
    """Return float[n, n, lanes] with these entries, [n, lanes], on the diagonal."""
    index = jnp.arange(entries.shape[0], dtype=jnp.int32)
    return jnp.where((index[:, None] == index[None])[:, :, None], entries[None], 0.0)


def _fall(value: Array, change: Array) -> Array:
    """Return the largest -change / value, whose inverse is the longest step that keeps the value positive."""
    return jnp.max(-change / jnp.where(value > 0, value, 1.0), 0)


def _solve(matrix: Array, right: Array) -> Array:
    """Solve matrix x = right for positive definite float[n, n, lanes] and float[n, m, lanes]."""
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
