"""Optimal designs on the simplex (G, D, XY, transductive) with a certificate, by a primal-dual interior-point method.

The problem is to minimize over designs w the largest y' A(w)^-1 y over directions y, where A(w) = sum_a w_a x_a x_a'
(Kiefer and Wolfowitz 1960; Yu, Bi and Tresp 2006; Soare, Lazaric and Munos 2014, equation 12). docs/mathematics.md has
the method and the proof of the certificate.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from jaxbandit.support.numerics import dot, inline
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers.span import coordinates, span

_RIDGE = 10  # in units of rounding, on a Hessian with unit diagonal; one refinement step corrects for it


class Design(NamedTuple):
    """A design with its certificate: value - bound is the duality gap."""

    weights: Array  # float[num_arms], on the simplex
    value: Array  # float[], the criterion at the weights
    bound: Array  # float[], certified lower bound on the criterion over all designs


class _Iterate(NamedTuple):
    weights: Array  # float[K] > 0, their sum tends to the value
    multipliers: Array  # float[P] > 0, of h >= 1; 0 for directions that are not included
    slack: Array  # float[P] > 0, tends to h - 1
    reduced: Array  # float[K] > 0, multipliers of w >= 0


class _Incumbent(NamedTuple):
    design: Design
    idle: Array  # float[K], 1 - m_a / max m at the weights: positive where the optimum has no weight


def pair_differences(features: Array) -> Array:
    """Return float[K(K-1)/2, d], the rows x_i - x_j for i < j, in row-major order of (i, j)."""
    first, second = np.triu_indices(features.shape[0], 1)
    return features[first] - features[second]


@functools.partial(inline, static_argnames="steps")
def transductive_design(features: Array, directions: Array, *, mask: Array | None = None, steps: int = 25) -> Design:
    """Return the design that minimizes the largest y' A(w)^-1 y over the directions y.

    For G-optimality, directions = features; for XY, `pair_differences(features)`; for the oracle, (x* - x_i) / gap_i.
    Weights that the optimum does not need are exactly 0. If it is not unique, equal arms have equal weights. If no
    direction is included, weights are uniform, with value and bound 0.

    Args:
      features: float[K, d], traced. They need not span R^d.
      directions: float[P, d], traced. Zero rows are ignored. If one is outside the span, value and bound are inf.
      mask: bool[P], the directions to include, all of them by default; traced.
      steps: number of interior-point steps, static. 25 leave a relative gap below 1e-7 in float64, about 1e-3 in
        float32.
    """
    num_arms = features.shape[0]
    basis = span(features)
    x = basis.rows
    unit = jnp.finfo(x.dtype).eps
    y, inside = coordinates(basis, directions)
    counts = jnp.any(y != 0, -1) | ~inside
    counts = counts if mask is None else counts & mask
    y = jnp.where(counts[:, None], y, 0.0)
    both = jnp.concatenate([x, y]).T
    outside = jnp.diag((~basis.nonzero).astype(x.dtype))
    size = num_arms + jnp.sum(counts, dtype=x.dtype)

    def products(weights: Array) -> tuple[Array, Array, Array]:
        """Return x_a' A^-1 x_b, float[K, K]; x_a' A^-1 y, float[K, P]; and y' A^-1 y, float[P]."""
        factor = jnp.linalg.cholesky(dot(x.T * weights[None], x) + outside)
        roots = dot(solve_triangular(factor, jnp.eye(x.shape[1], dtype=x.dtype), lower=True), both)
        left = roots[:, :num_arms].T
        return dot(left, roots[:, :num_arms]), dot(left, roots[:, num_arms:]), jnp.sum(roots[:, num_arms:] ** 2, 0)

    def invert(variance: Array, cross: Array) -> tuple[Array, Array]:
        """Return h and its gradient, float[P, K]."""
        inverse = jnp.where(counts, 1 / jnp.where(counts, variance, 1.0), 2.0)
        return inverse, (inverse[:, None] * cross.T) ** 2

    def largest(variance: Array) -> Array:
        return jnp.max(jnp.where(counts, variance, 0.0), initial=0.0)

    def certify(incumbent: _Incumbent, weights: Array, mixture: Array, cross: Array, variance: Array) -> _Incumbent:
        total = jnp.sum(weights)
        value = total * largest(variance)
        scores = dot(cross**2, mixture)
        top = jnp.max(scores)
        bound = dot(mixture, variance) ** 2 / jnp.where(top > 0, top * jnp.sum(mixture), 1.0)
        better = value < incumbent.design.value
        design = Design(
            jnp.where(better, weights / total, incumbent.design.weights),
            jnp.where(better, value, incumbent.design.value),
            jnp.where(bound > incumbent.design.bound, bound, incumbent.design.bound),
        )
        return _Incumbent(design, jnp.where(better, 1 - scores / jnp.where(top > 0, top, 1.0), incumbent.idle))

    def step(_: int, carry: tuple[_Iterate, _Incumbent]) -> tuple[_Iterate, _Incumbent]:
        it, incumbent = carry
        gram, cross, variance = products(it.weights)
        inverse, gradient = invert(variance, cross)
        mixture = it.multipliers * inverse**2
        incumbent = certify(incumbent, it.weights, mixture, cross, variance)

        missing = jnp.where(counts, inverse - 1 - it.slack, 0.0)
        residual = 1 - dot(it.multipliers, gradient) - it.reduced
        stiffness = it.multipliers / it.slack
        bend = stiffness - 2 * it.multipliers * variance  # the second term and the product below are the curvature of h
        hessian = 2 * gram * dot(cross * mixture[None], cross.T) + dot(gradient.T * bend[None], gradient)
        newton = _solver(hessian + jnp.diag(it.reduced / it.weights))

        def direction(target: Array) -> _Iterate:
            push = jnp.where(counts, (target - it.multipliers * missing) / it.slack - it.multipliers, 0.0)
            lift = target / it.weights - it.reduced
            weights = newton(dot(gradient.T, push) + lift - residual)
            rise = dot(gradient, weights)
            return _Iterate(
                weights,
                push - stiffness * rise,
                jnp.where(counts, missing + rise, 0.0),
                lift - it.reduced / it.weights * weights,
            )

        def move(change: _Iterate, part: float) -> _Iterate:
            primal = jnp.minimum(room(it.weights, change.weights), room(it.slack, change.slack))
            dual = jnp.minimum(room(it.multipliers, change.multipliers), room(it.reduced, change.reduced))
            primal, dual = jnp.minimum(part * primal, 1.0), jnp.minimum(part * dual, 1.0)
            lengths = _Iterate(primal, dual, primal, dual)
            return jax.tree.map(lambda a, length, b: a + length * b, it, lengths, change)

        def duality(at: _Iterate) -> Array:
            return (dot(at.multipliers, at.slack) + dot(at.weights, at.reduced)) / size

        now = duality(it)
        centring = jnp.clip((duality(move(direction(jnp.zeros_like(now)), 1.0)) / now) ** 3, 1e-4, 0.9)
        floor = unit / 10 * jnp.sum(it.weights) / size
        return move(direction(jnp.maximum(centring * now, floor)), 0.99), incumbent

    uniform = jnp.full(num_arms, 1 / num_arms, x.dtype)
    _, cross, variance = products(uniform)
    start = largest(variance)
    incumbent = _Incumbent(Design(uniform, start, jnp.zeros_like(start)), jnp.zeros_like(uniform))
    scale = 2 * jnp.where(start > 0, start, 1.0)  # h is 2 or more
    inverse, gradient = invert(variance / scale, cross / scale)
    multipliers = jnp.where(counts, 1 / (inverse - 1), 0.0)
    top = jnp.max(dot(multipliers, gradient))
    multipliers = multipliers / jnp.where(top > 0, 2 * top, 1.0)
    it = _Iterate(scale * uniform, multipliers, inverse - 1, 1 - dot(multipliers, gradient))
    # The last step certifies; its move is not used.
    _, incumbent = jax.lax.fori_loop(0, steps + 1, step, (it, incumbent))

    best = incumbent.design
    sparse = jnp.where(best.weights > incumbent.idle, best.weights, 0.0)  # one of the two tends to 0
    sparse = sparse / jnp.sum(sparse)
    value = largest(_singular_variance(dot(x.T * sparse[None], x), y))
    keep = value <= best.value + jnp.maximum(best.value - best.bound, 1e3 * unit * best.value)
    value = jnp.where(keep, value, best.value)
    reachable = ~jnp.any(counts & ~inside)
    return Design(
        jnp.where(keep, sparse, best.weights),
        jnp.where(reachable, value, jnp.inf),
        jnp.where(reachable, jnp.minimum(best.bound, value), jnp.inf),
    )


def _singular_variance(matrix: Array, directions: Array) -> Array:
    """Y' A^+ y for the rows y, huge if A does not reach y, by a ridge and refinement steps that correct for it."""
    identity = jnp.eye(matrix.shape[0], dtype=matrix.dtype)
    ridge = 64 * jnp.finfo(matrix.dtype).eps * identity
    root = solve_triangular(jnp.linalg.cholesky(matrix + ridge), identity, lower=True)
    inverse = dot(root.T, root)
    solved = dot(directions, inverse)
    for _ in range(2):
        solved = solved + dot(directions - dot(solved, matrix), inverse)
    return jnp.sum(solved * directions, -1)


def room(value: Array, change: Array) -> Array:
    """Return the longest step that keeps value + step * change non-negative."""
    falls = change < 0
    return jnp.min(jnp.where(falls, value / jnp.where(falls, -change, 1.0), jnp.inf), initial=jnp.inf)


def _solver(hessian: Array):
    """Return the function that solves hessian x = right_side for a nearly singular hessian."""
    scale = jax.lax.rsqrt(jnp.diagonal(hessian))
    scaled = hessian * scale[:, None] * scale[None]
    ridge = _RIDGE * jnp.finfo(hessian.dtype).eps * jnp.eye(hessian.shape[0], dtype=hessian.dtype)
    factor = jnp.linalg.cholesky(scaled + ridge)

    def once(right_side: Array) -> Array:
        return solve_triangular(factor.T, solve_triangular(factor, right_side, lower=True), lower=False)

    def solve(right_side: Array) -> Array:
        right_side = scale * right_side
        first = once(right_side)
        return scale * (first + once(right_side - dot(scaled, first)))

    return solve


def g_design(features: Array, *, steps: int = 25) -> Design:
    """Return the design that minimizes max_a x_a' A(w)^-1 x_a, whose optimal value is the rank of the features."""
    return transductive_design(features, features, steps=steps)


def d_design(features: Array, *, steps: int = 25) -> Design:
    """Return the design that maximizes det A(w) over the span of the features; its value is -log det A(w).

    By Kiefer and Wolfowitz it is the G-optimal design, and no design's log det exceeds its by more than r log(max_a
    x_a' A(w)^-1 x_a / r), where r is the rank.
    """
    best = g_design(features, steps=steps)
    basis = span(features)
    spread = jnp.linalg.svd(jnp.sqrt(best.weights)[:, None] * basis.rows, compute_uv=False)  # descending: r, then 0
    rank = jnp.sum(basis.nonzero, dtype=features.dtype)
    logs = jnp.log(jnp.where(basis.nonzero, spread, 1.0)) + jnp.log(basis.singular)
    value = -2 * jnp.sum(logs)
    return Design(best.weights, value, value - rank * jnp.log(best.value / rank))
