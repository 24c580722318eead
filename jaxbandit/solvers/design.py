"""Optimal designs on the simplex: G, D, XY and transductive, with a certificate, by a primal-dual interior point method.

Minimise over designs w the largest of y' A(w)^-1 y over directions y, A(w) = sum_a w_a x_a x_a' (Kiefer and Wolfowitz
1960; Yu, Bi, Tresp 2006; Soare, Lazaric, Munos 2014, equation 12). Not here: rounding, see rounding.py.

Method. A scale is free, so solve: minimise sum w subject to h_y(w) >= 1, w >= 0, where h_y(w) = 1 / (y' A(w)^-1 y) is
concave and homogeneous of degree 1 (it is the infimum over u with y'u = 1 of u' A(w) u, linear in w). The sum at the
optimum is the value. In h the constraints are nearly linear, so that Newton's steps are long: about 15 reach 1e-9.

Certificate. For a mixture lambda over directions put B = sum_y lambda_y y y' and g(w) = tr(A(w)^-1 B), convex and
homogeneous of degree -1. Every design v has max_y y' A(v)^-1 y >= g(v) / sum(lambda). For t > 0, convexity at w gives
g(v) = g(v / t) / t >= (2 g(w) - sum_a v_a m_a / t) / t, m_a = x_a' A(w)^-1 B A(w)^-1 x_a, as g'(w) v = -sum_a v_a m_a and
g'(w) w = -g(w). With sum_a v_a m_a <= max m and the best t = max m / g(w) this is g(v) >= g(w)^2 / max m.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from jaxbandit.types import Array


class Design(NamedTuple):
    """A design and how good it is: value - bound is the duality gap."""

    weights: Array  # float[num_arms], on the simplex
    value: Array  # float[], the criterion at the weights
    bound: Array  # float[], certified lower bound of the criterion over all designs


def pair_differences(features: Array) -> Array:
    """Return float[K(K-1)/2, d], the rows x_i - x_j for i < j, in row-major order of (i, j)."""
    first, second = np.triu_indices(features.shape[0], 1)
    return features[first] - features[second]


class _Iterate(NamedTuple):
    weights: Array  # float[K] > 0, unnormalised
    multipliers: Array  # float[P] >= 0, of h_p >= 1
    slack: Array  # float[P] > 0, tends to h_p - 1
    reduced: Array  # float[K] > 0, multipliers of w >= 0
    best: Design
    support: Array  # float[K], 1 - m_a / max m at the best weights: where it exceeds the weight the optimum has 0


def transductive_design(features: Array, directions: Array, *, mask: Array | None = None, steps: int = 25) -> Design:
    """Return the design that minimises the largest y' A(w)^-1 y over the directions y.

    G-optimal: directions = features. XY: `pair_differences(features)`. Oracle: (x* - x_i) / gap_i.

    Args:
      features: float[K, d], traced. They need not span R^d.
      directions: float[P, d], traced. Zero rows do not count. One outside the span makes value and bound inf.
      mask: bool[P], traced, the directions that count; all by default.
      steps: static, >= 1. 25 leave a relative gap below 1e-9 in float64 (tests), about 1e-4 in float32.

    Returns:
      Design. Weights that the optimum does not need are exactly 0. No direction at all: uniform weights, value 0.
    """
    num_arms = features.shape[0]
    unit = jnp.finfo(features.dtype).eps
    left, singular, right = jnp.linalg.svd(features, full_matrices=False)
    kept = singular > singular[0] * (max(features.shape) * unit)
    # In the coordinates where the uniform design is the identity nothing depends on the features' conditioning.
    x = jnp.where(kept[None], left, 0.0)
    coordinates = directions @ right.T
    size = jnp.sqrt(jnp.sum(directions**2, -1))
    active = size > 0 if mask is None else mask & (size > 0)
    inside = jnp.where(kept[None], coordinates, 0.0)
    missing = jnp.sqrt(jnp.sum((directions - inside @ right) ** 2, -1)) > unit**0.4 * size
    y = jnp.where(active[:, None] & kept[None], coordinates / jnp.where(kept, singular, 1.0)[None], 0.0)
    outside = (~kept).astype(x.dtype)
    count = num_arms + jnp.sum(active, dtype=x.dtype)

    def solve(weights: Array) -> tuple[Array, Array]:
        """Rows x_a' A^-1 x_b and y_p' A^-1 x_a, from one factorisation."""
        factor = jnp.linalg.cholesky((x.T * weights[None]) @ x + jnp.diag(outside))
        roots = solve_triangular(factor, jnp.concatenate([x, y]).T, lower=True)
        return roots[:, :num_arms].T @ roots, jnp.sum(roots[:, num_arms:] ** 2, 0)

    def ratio(value: Array, change: Array) -> Array:
        """The part of a step, at most 1, that keeps `value` positive."""
        return jnp.min(jnp.where(change < 0, 0.99 * value / jnp.where(change < 0, -change, 1.0), 1.0), initial=1.0)

    def evaluate(weights: Array) -> tuple[Array, Array, Array, Array]:
        products, variance = solve(weights)
        inverse = jnp.where(active, 1 / jnp.where(active, variance, 1.0), 2.0)
        gradient = (inverse[:, None] * products[:, num_arms:].T) ** 2
        return products, variance, inverse, jnp.where(active[:, None], gradient, 0.0)

    def step(_: int, it: _Iterate) -> _Iterate:
        products, variance, inverse, gradient = evaluate(it.weights)
        gram, cross = products[:, :num_arms], products[:, num_arms:]
        mixture = it.multipliers * inverse**2
        best, support = _certify(it, cross, variance, mixture)

        dual_residual = 1 - it.multipliers @ gradient - it.reduced
        residual = jnp.where(active, inverse - 1 - it.slack, 0.0)
        ridge = it.multipliers / it.slack - 2 * it.multipliers * variance
        hessian = 2 * gram * ((cross * mixture[None]) @ cross.T) + (gradient.T * ridge[None]) @ gradient
        hessian += jnp.diag(it.reduced / it.weights)
        scale = jax.lax.rsqrt(jnp.diagonal(hessian))
        scaled = hessian * scale[:, None] * scale[None] + 4 * unit * jnp.eye(num_arms, dtype=x.dtype)
        factor = jnp.linalg.cholesky(scaled)

        def direction(target: Array) -> tuple[Array, Array, Array, Array]:
            push = jnp.where(active, (target - it.multipliers * residual) / it.slack - it.multipliers, 0.0)
            lift = target / it.weights - it.reduced
            right_side = scale * (gradient.T @ push + lift - dual_residual)
            half = solve_triangular(factor, right_side, lower=True)
            change = scale * solve_triangular(factor.T, half, lower=False)
            moved = gradient @ change
            ahead = jnp.where(active, residual + moved, 0.0)
            return change, push - it.multipliers / it.slack * moved, ahead, lift - it.reduced / it.weights * change

        def lengths(d: tuple[Array, Array, Array, Array]) -> tuple[Array, Array]:
            primal = jnp.minimum(ratio(it.weights, d[0]), ratio(it.slack, d[2]))
            return primal, jnp.minimum(ratio(it.multipliers, d[1]), ratio(it.reduced, d[3]))

        duality = (it.multipliers @ it.slack + it.weights @ it.reduced) / count
        guess = direction(jnp.zeros_like(duality))
        primal, dual = lengths(guess)
        after = (it.multipliers + dual * guess[1]) @ (it.slack + primal * guess[2])
        after += (it.weights + primal * guess[0]) @ (it.reduced + dual * guess[3])
        centring = jnp.clip((after / (count * duality)) ** 3, 1e-4, 0.9)
        chosen = direction(jnp.maximum(centring * duality, 0.1 * unit * jnp.sum(it.weights) / count))
        primal, dual = lengths(chosen)
        return _Iterate(
            it.weights + primal * chosen[0],
            it.multipliers + dual * chosen[1],
            it.slack + primal * chosen[2],
            it.reduced + dual * chosen[3],
            best,
            support,
        )

    def _certify(it: _Iterate, cross: Array, variance: Array, mixture: Array) -> tuple[Design, Array]:
        total = jnp.sum(it.weights)
        value = total * jnp.max(jnp.where(active, variance, 0.0), initial=0.0)
        scores = cross**2 @ mixture
        top = jnp.max(scores)
        bound = jnp.sum(mixture * variance) ** 2 / jnp.where(top > 0, top * jnp.sum(mixture), 1.0)
        better = value < it.best.value
        best = Design(
            jnp.where(better, it.weights / total, it.best.weights),
            jnp.where(better, value, it.best.value),
            jnp.where(bound > it.best.bound, bound, it.best.bound),
        )
        return best, jnp.where(better, 1 - scores / jnp.where(top > 0, top, 1.0), it.support)

    uniform = jnp.full(num_arms, 1 / num_arms, x.dtype)
    _, variance = solve(uniform)
    start = Design(uniform, jnp.max(jnp.where(active, variance, 0.0), initial=0.0), jnp.zeros((), x.dtype))
    weights = uniform * 2 * jnp.where(start.value > 0, start.value, 1.0)
    _, _, inverse, gradient = evaluate(weights)
    slack = inverse - 1
    multipliers = jnp.where(active, 1 / slack, 0.0)
    top = jnp.max(multipliers @ gradient)
    multipliers = multipliers * 0.5 / jnp.where(top > 0, top, 1.0)
    it = _Iterate(weights, multipliers, slack, 1 - multipliers @ gradient, start, jnp.zeros_like(uniform))
    it = jax.lax.fori_loop(0, steps, step, it)
    products, variance, inverse, _ = evaluate(it.weights)
    best, support = _certify(it, products[:, num_arms:], variance, it.multipliers * inverse**2)

    sparse = jnp.where(best.weights > support, best.weights, 0.0)
    sparse = sparse / jnp.sum(sparse)
    value = jnp.max(jnp.where(active, solve(sparse)[1], 0.0), initial=0.0)
    keep = value <= best.value * (1 + 1e3 * unit)
    value = jnp.where(keep, value, best.value)
    unreachable = jnp.any(active & missing)
    return Design(
        jnp.where(keep, sparse, best.weights),
        jnp.where(unreachable, jnp.inf, value),
        jnp.where(unreachable, jnp.inf, jnp.minimum(best.bound, value)),
    )


def g_design(features: Array, *, steps: int = 25) -> Design:
    """Return the design that minimises max_a x_a' A(w)^-1 x_a; the optimum is the features' rank."""
    return transductive_design(features, features, steps=steps)


def d_design(features: Array, *, steps: int = 25) -> Design:
    """Return the design that maximises det A(w); value is -log det A(w), over the span of the features.

    By Kiefer and Wolfowitz it is the G-optimal one. The bound: log det is concave in A, so that no design exceeds
    log det A(w) by more than r log(max_a x_a' A(w)^-1 x_a / r), r the rank.
    """
    best = g_design(features, steps=steps)
    singular = jnp.linalg.svd(features, compute_uv=False)
    kept = singular > singular[0] * (max(features.shape) * jnp.finfo(features.dtype).eps)
    spread = jnp.linalg.svd(jnp.sqrt(best.weights)[:, None] * features, compute_uv=False)
    value = -2 * jnp.sum(jnp.where(kept, jnp.log(jnp.where(kept, spread, 1.0)), 0.0))
    rank = jnp.sum(kept, dtype=features.dtype)
    return Design(best.weights, value, value - rank * jnp.log(best.value / rank))
