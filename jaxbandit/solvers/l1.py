"""Least l1 norm: w* = argmin ||w||_1 subject to sum_a w_a x_a = y (Xu, Honda, Sugiyama 2017, equation 11).

Two ways: HiGHS for concrete features, once for all pairs of arms, and for traced ones a primal-dual interior point
method (Mehrotra 1992) with a fixed number of steps. ||w*||_1^2 is the least of y' A(p)^-1 y over designs p, attained at
p = |w*| / ||w*||_1 (Elfving 1952). The dual is: maximise y'u subject to |x_a' u| <= 1 for every arm.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from scipy.optimize import linprog

from jaxbandit import checks
from jaxbandit.types import Array


class Representation(NamedTuple):
    """y as a combination of features, and how good it is."""

    weights: Array  # float[K], exactly 0 off the support
    value: Array  # float[], their l1 norm
    bound: Array  # float[], certified lower bound of the least l1 norm


def l1_table(features: Any) -> np.ndarray:
    """Return float64[K, K, K], table[i, j] = w* for y = x_i - x_j, of concrete features float[K, d]."""
    features = checks.array("l1_table", "features", features, ndim=2)
    num_arms = features.shape[0]
    table = np.zeros((num_arms, num_arms, num_arms))
    if np.linalg.matrix_rank(features) == num_arms:  # one representation each
        identity = np.eye(num_arms)
        return identity[:, None] - identity[None]
    both = np.hstack([features.T, -features.T])
    for i in range(num_arms):
        for j in range(i + 1, num_arms):
            solved = linprog(np.ones(2 * num_arms), A_eq=both, b_eq=features[i] - features[j], method="highs")
            if solved.status != 0:
                raise ValueError(f"l1_table: HiGHS: {solved.message}")
            table[i, j] = solved.x[:num_arms] - solved.x[num_arms:]
            table[j, i] = -table[i, j]
    return table


def l1_representation(features: Array, target: Array, *, steps: int = 20) -> Representation:
    """Return the representation of `target` by the features with the least l1 norm.

    Args:
      features: float[K, d], traced, spanning R^d.
      target: float[d], traced.
      steps: static.
    """
    num_arms = features.shape[0]
    unit = jnp.finfo(features.dtype).eps
    size = jnp.sqrt(jnp.sum(target**2))
    target = target / jnp.where(size > 0, size, 1.0)

    def normal(scaling: Array):
        matrix = (features.T * scaling[None]) @ features
        matrix += unit * jnp.trace(matrix) / features.shape[1] * jnp.eye(features.shape[1], dtype=features.dtype)
        factor = jnp.linalg.cholesky(matrix)

        def solve(right_side: Array) -> Array:
            half = solve_triangular(factor, right_side, lower=True)
            return solve_triangular(factor.T, half, lower=False)

        return solve

    def ratio(value: Array, change: Array) -> Array:
        return jnp.min(jnp.where(change < 0, -value / jnp.where(change < 0, change, -1.0), jnp.inf))

    def step(_: int, carry):
        up, down, u = carry
        reach = features @ u
        slack_up, slack_down = 1 - reach, 1 + reach
        scaling = up / slack_up + down / slack_down
        solve = normal(scaling)
        residual = target - features.T @ (up - down)
        duality = (up @ slack_up + down @ slack_down) / (2 * num_arms)

        def direction(centre_up: Array, centre_down: Array):
            """With up * slack_up to become centre_up, both to first order."""
            fixed_up, fixed_down = centre_up / slack_up - up, centre_down / slack_down - down
            du = solve(residual - features.T @ (fixed_up - fixed_down))
            moved = features @ du
            return fixed_up + up / slack_up * moved, fixed_down - down / slack_down * moved, du, moved

        def lengths(d_up: Array, d_down: Array, moved: Array):
            primal = jnp.minimum(ratio(up, d_up), ratio(down, d_down))
            return primal, jnp.minimum(ratio(slack_up, -moved), ratio(slack_down, moved))

        zero = jnp.zeros_like(up)
        d_up, d_down, du, moved = direction(zero, zero)
        primal, dual = (jnp.minimum(a, 1.0) for a in lengths(d_up, d_down, moved))
        after = (up + primal * d_up) @ (slack_up - dual * moved) + (down + primal * d_down) @ (
            slack_down + dual * moved
        )
        centre = jnp.maximum((after / (2 * num_arms * duality)) ** 3 * duality, unit**2)
        d_up, d_down, du, moved = direction(centre + d_up * moved, centre - d_down * moved)
        primal, dual = (jnp.minimum(0.99 * a, 1.0) for a in lengths(d_up, d_down, moved))
        new = (up + primal * d_up, down + primal * d_down, u + dual * du)
        going = (duality > 4 * unit) & jnp.isfinite(primal + dual) & jnp.all(jnp.isfinite(new[2]))
        return tuple(jnp.where(going, b, a) for a, b in zip(carry, new, strict=True))

    least = features @ normal(jnp.ones_like(features[:, 0]))(target)
    shift = jnp.max(jnp.abs(least)) / 2 + unit
    up, down = jnp.maximum(least, 0.0) + shift, jnp.maximum(-least, 0.0) + shift
    up, down, u = jax.lax.fori_loop(0, steps, step, (up, down, jnp.zeros_like(target)))
    weights = up - down
    weights = weights + features @ normal(jnp.abs(weights))(target - features.T @ weights) * jnp.abs(weights)
    slack = 1 - jnp.abs(features @ u)
    weights = jnp.where(jnp.abs(weights) > slack, weights, 0.0) * size
    dual = size * (target @ u) / jnp.maximum(jnp.max(jnp.abs(features @ u)), 1.0)
    value = jnp.sum(jnp.abs(weights))
    return Representation(weights, value, jnp.minimum(dual, value))
