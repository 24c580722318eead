"""Smallest l1 norm: w* minimizes sum abs(w_a) subject to sum w_a x_a = y (Xu, Honda and Sugiyama 2017, equation 11).

The squared norm is the minimum of y' A(p)^-1 y over designs p (Elfving 1952). Concrete features are solved by HiGHS,
once for all pairs of arms, and traced ones by a primal-dual interior-point method (Mehrotra 1992). Differences: the
start is feasible, a ridge keeps the normal matrix positive definite, and the last iterate determines which weights are
0.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import linalg

from jaxbandit.base.arguments import Matrix
from jaxbandit.base.calls import checked
from jaxbandit.support.numerics import as_float, dot
from jaxbandit.support.types import Array, ArrayLike
from jaxbandit.theory.solvers.design import pair_differences, room
from jaxbandit.theory.solvers.span import coordinates, span

_RIDGE = 10  # in units of the rounding unit times the largest diagonal entry


class Representation(NamedTuple):
    """A vector as a linear combination of features, with a certificate."""

    weights: Array  # float[K], exactly 0 off the support
    value: Array  # float[], their l1 norm
    bound: Array  # float[], certified lower bound on the smallest l1 norm


@checked
def l1_table(features: Matrix) -> np.ndarray:
    """Return float64[K, K, K] with table[i, j] = w* for x_i - x_j, so that table[j, i] = -table[i, j].

    The features, float[K, d], are concrete and need not span R^d.
    """
    num_arms = features.shape[0]
    table = np.eye(num_arms)[:, None] - np.eye(num_arms)[None]
    if np.linalg.matrix_rank(features) < num_arms:
        for i, j in np.argwhere(np.triu(~_simple(features), 1)):
            table[i, j] = _solve(features, features[i] - features[j])
            table[j, i] = -table[i, j]
    return table


def _simple(features: ArrayLike) -> np.ndarray:
    """Bool[K, K]: whether a dual point proves that x_i - x_j has the unique optimal representation 1 x_i - 1 x_j."""
    gram = np.matmul(features, features.T)
    norm = np.diagonal(gram)
    determinant = norm[:, None] * norm - gram**2
    independent = determinant > 1e-9 * norm[:, None] * norm
    scale = np.where(independent, determinant, 1.0)
    first, second = (norm[None] + gram) / scale, -(norm[:, None] + gram) / scale  # u = first x_i + second x_j
    reach = np.abs(first[..., None] * gram[:, None] + second[..., None] * gram[None])
    arms = np.arange(len(features))
    own = (arms == arms[:, None, None]) | (arms == arms[None, :, None])
    return independent & np.all(own | (reach < 1 - 1e-9), -1)


def _solve(features: ArrayLike, target: ArrayLike) -> np.ndarray:
    size = np.sqrt(np.matmul(target, target))  # HiGHS has absolute tolerances
    if size == 0:
        return np.zeros(len(features))
    from scipy.optimize import linprog  # imported here because it is slow to import and rarely needed

    both = np.hstack([features.T, -features.T])
    solved = linprog(np.ones(both.shape[1]), A_eq=both, b_eq=target / size, method="highs-ds")
    if solved.status:
        raise ValueError(f"l1_table: {' '.join(solved.message.split())}")
    weights = solved.x[: len(features)] - solved.x[len(features) :]
    support = np.abs(weights) > 1e-9 * np.abs(weights).sum()
    exact = np.zeros(len(features))
    exact[support] = np.linalg.lstsq(features[support].T, target, rcond=None)[0]
    return exact


class _Iterate(NamedTuple):
    """Weights up - down, and a dual point u with x_a'u in (-1, 1)."""

    up: Array  # float[K] > 0
    down: Array  # float[K] > 0
    dual: Array  # float[r]


def l1_representation(features: Array, target: Array, *, steps: int = 12) -> Representation:
    """Return the representation of `target` by the features with the smallest l1 norm.

    If several are optimal, it is one in the middle, which uses every arm that any of them uses; HiGHS returns a vertex.

    Args:
      features: float[K, d], traced. They need not span R^d. If only targets are vmapped, they share one decomposition.
      target: float[d], traced. If it is outside the span of the features, value and bound are inf.
      steps: static. 12 leave a relative gap below 1e-12 in float64 and 1e-2 in float32, for normalized features.
    """
    basis = span(features)
    x = basis.rows
    y, inside = (a[0] for a in coordinates(basis, target[None]))
    size = jnp.sqrt(jnp.sum(y**2))
    y = y / jnp.where(size > 0, size, 1.0)
    unit = jnp.finfo(x.dtype).eps
    ridge = jnp.where(basis.nonzero, _RIDGE * unit, 1.0)

    def factorise(scaling: Array) -> Array:
        normal = dot(x.T * scaling[None], x)
        normal += jnp.diag(ridge * jnp.max(jnp.diagonal(normal)))
        return linalg.cholesky(normal, symmetrize_input=False)

    def solve(factor: Array, right_side: Array) -> Array:
        half = linalg.triangular_solve(factor, right_side[:, None], left_side=True, lower=True)
        return linalg.triangular_solve(factor, half, left_side=True, lower=True, transpose_a=True)[:, 0]

    def step(_: int, it: _Iterate) -> _Iterate:
        reach = dot(x, it.dual)
        low, high = 1 - reach, 1 + reach
        ratio_up, ratio_down = it.up / low, it.down / high
        factor = factorise(ratio_up + ratio_down)
        duality = (dot(it.up, low) + dot(it.down, high)) / (2 * x.shape[0])

        def direction(center_up: Array, center_down: Array) -> tuple[Array, Array, Array, Array]:
            """Newton's step to up * low = center_up, down * high = center_down and x'(up - down) = y."""
            fixed_up, fixed_down = center_up / low, center_down / high
            change = solve(factor, y - dot(fixed_up - fixed_down, x))
            moved = dot(x, change)
            return fixed_up - it.up + ratio_up * moved, fixed_down - it.down - ratio_down * moved, change, moved

        def lengths(up: Array, down: Array, moved: Array) -> tuple[Array, Array]:
            primal = jnp.minimum(room(it.up, up), room(it.down, down))
            return primal, jnp.minimum(room(low, -moved), room(high, moved))

        nothing = jnp.zeros_like(reach)
        up, down, change, moved = direction(nothing, nothing)
        primal, dual = (jnp.minimum(length, 1.0) for length in lengths(up, down, moved))
        after = dot(it.up + primal * up, low - dual * moved) + dot(it.down + primal * down, high + dual * moved)
        center = jnp.clip((after / (2 * x.shape[0] * duality)) ** 3, 1e-6, 1.0) * duality
        up, down, change, moved = direction(center + up * moved, center - down * moved)
        primal, dual = (jnp.minimum(0.995 * length, 1.0) for length in lengths(up, down, moved))
        new = _Iterate(it.up + primal * up, it.down + primal * down, it.dual + dual * change)
        going = (duality > 4 * unit) & jnp.isfinite(primal + dual + jnp.sum(change))
        return jax.tree.map(lambda before, now: jnp.where(going, now, before), it, new)

    least = dot(x, y)
    shift = jnp.max(jnp.abs(least)) / 2 + unit
    it = _Iterate(jnp.maximum(least, 0.0) + shift, jnp.maximum(-least, 0.0) + shift, jnp.zeros_like(y))
    it = jax.lax.fori_loop(0, steps, step, it)

    inner = it.up - it.down
    inner = inner + dot(x, y - dot(inner, x))
    weights = jnp.where(jnp.abs(inner) > 1 - jnp.abs(dot(x, it.dual)), inner, 0.0)  # one of the two tends to 0
    share, sign = jnp.abs(weights), jnp.sign(weights)
    factor, dual = factorise(share), it.dual
    for _ in range(3):  # on the support: x'w = y and x_a'u = sign w_a
        weights = weights + share * dot(x, solve(factor, y - dot(weights, x)))
        dual = dual + solve(factor, dot(share * (sign - dot(x, dual)), x))
    exact = jnp.max(jnp.abs(dot(weights, x) - y)) <= 1e3 * unit
    weights = jnp.where(exact, weights, inner) * size
    value = jnp.sum(jnp.abs(weights))
    bounds = [jnp.sum(y * u) / jnp.maximum(jnp.max(jnp.abs(dot(x, u))), 1.0) for u in (it.dual, dual)]
    bound = size * jnp.where(bounds[1] > bounds[0], bounds[1], bounds[0])
    return Representation(
        weights, jnp.where(inside, value, jnp.inf), jnp.where(inside, jnp.minimum(bound, value), jnp.inf)
    )


def representations(features: Array) -> Array:
    """Return float[K, K, K], w* of x_i - x_j for every pair, for traced features float[K, d]."""
    num_arms = features.shape[0]
    first, second = np.triu_indices(num_arms, 1)
    weights = jax.vmap(lambda target: l1_representation(features, target).weights)(pair_differences(features))
    table = jnp.zeros((num_arms,) * 3, weights.dtype)
    return table.at[first, second].set(weights).at[second, first].set(-weights)


def pair_weights(features: Array) -> Array:
    """Return the absolute weights w* of x_i - x_j in row i num_arms + j, float[num_arms^2, num_arms].

    HiGHS computes them for concrete features, and an interior-point method for traced ones.
    """
    num_arms = features.shape[0]
    if isinstance(features, np.ndarray):
        return jnp.asarray(_by_highs(features.tobytes(), features.shape), jnp.result_type(float))
    return jnp.abs(representations(as_float(features))).reshape(-1, num_arms)


@functools.lru_cache(maxsize=64)
def _by_highs(data: bytes, shape: tuple[int, int]) -> np.ndarray:
    """Solve once per set of features, however often a factory is traced."""
    return np.abs(l1_table(np.frombuffer(data).reshape(shape))).reshape(-1, shape[0])
