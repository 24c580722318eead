"""Least squares by a root F of the inverse, G^+ = F F', updated in dim^2 operations, with or without regularization.

Without regularization G^+ is the pseudo-inverse of G = sum x x' as long as the rows do not span R^dim (Greville's
recursion in square-root form); with it F F' = (lambda I + G)^-1.
"""

from collections.abc import Iterable
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from jaxbandit.support.numerics import UNROLLED, as_float, kahan, product, slice_at, total, weighted_sum
from jaxbandit.support.types import Array, PyTree, Scalar


class RecursiveLeastSquares(NamedTuple):
    """The estimate of theta, and its uncertainty up to the noise's scale."""

    root: Array  # float[dim, dim], F; column r is 0 until the rank exceeds r
    theta: Array  # float[dim], theta_hat; the one of smallest norm while the rows do not span
    logdet: Array  # float[], log of the determinant of G, or of the product of its nonzero eigenvalues
    outside: PyTree  # float[dim, dim], projector on the complement of the rows' span, exactly 0 once they span; or None
    rank: PyTree  # int32[], dimension of the rows' span; or None. Both are None with regularization
    gained: PyTree  # rounding errors of root, theta and logdet; in float32 only

    @property
    def inverse(self) -> Array:
        """G^+, or (lambda I + G)^-1, float[dim, dim]."""
        return product(self.root, self.root.T)


def init(dim: int, regularization: Scalar | None = None, columns: int | None = None) -> RecursiveLeastSquares:
    """Return the estimate without rows; regularization is lambda > 0, or None for ordinary least squares.

    With `columns`, theta is float[dim, columns], one column for each of several rewards of a row.
    """
    theta, square = jnp.zeros(dim if columns is None else (dim, columns)), jnp.zeros((dim, dim))
    gained = None if square.dtype != jnp.float32 else (square, theta, jnp.zeros(()))
    if regularization is None:
        return RecursiveLeastSquares(square, theta, jnp.zeros(()), jnp.eye(dim), jnp.zeros((), jnp.int32), gained)
    prior = as_float(regularization)
    return RecursiveLeastSquares(jnp.eye(dim) / jnp.sqrt(prior), theta, dim * jnp.log(prior), None, None, gained)


def variances(estimate: RecursiveLeastSquares, rows: Array) -> Array:
    """Return x' G^+ x for each row x of float[rows, dim]; outside the span, that of its component inside."""
    return _image_norms(rows, estimate.root)


def means(estimate: RecursiveLeastSquares, rows: Array) -> Array:
    """Return x' theta_hat for each row x, float[rows]."""
    return weighted_sum(rows, estimate.theta, 1)


def residuals(estimate: RecursiveLeastSquares, rows: Array) -> Array:
    """Return the squared distance of each row from the span, float[rows]; exactly 0 if the row counts as inside."""
    # The barrier stores the lengths, which XLA would recompute for each use, at a multiple of a round's cost.
    lengths = lax.optimization_barrier(_image_norms(rows, estimate.outside))
    return _beyond(lengths, _norms(rows))


def tolerance() -> float:
    """Return the relative distance up to which a row is inside: eps^0.4, 1.7e-3 in float32, 5e-7 in float64."""
    return float(jnp.finfo(jnp.result_type(float)).eps) ** 0.4


def gain(estimate: RecursiveLeastSquares, x: Array) -> tuple[Array, Array, Array]:
    """Return F' x, float[dim], G^+ x, float[dim], and x' G^+ x, float[]."""
    weights = weighted_sum(estimate.root, x, 0)
    return weights, weighted_sum(estimate.root, weights, 1), _total(weights * weights)


def update(estimate: RecursiveLeastSquares, x: Array, reward: Array) -> RecursiveLeastSquares:
    """Return the estimate after one more row x, float[dim], and its reward."""
    dim = x.shape[0]
    weights, moved, squared = gain(estimate, x)
    innovation = reward - _total(x * estimate.theta)
    changes = _changes(weights, moved, squared, innovation)
    if estimate.outside is None:
        return _add(estimate, changes)
    beyond, length = direction(estimate, x)
    grows = length > 0
    # x' h = 1 and h is orthogonal to the span: (I - h x') G^+ (I - x h') + h h' inverts G + x x' on the new span.
    new = jnp.where(grows, beyond / jnp.where(grows, length, 1.0), 0.0)
    column = jnp.arange(dim, dtype=jnp.int32) == estimate.rank
    grown = new[:, None] * (as_float(column) - weights)[None], new * innovation, jnp.log(jnp.where(grows, length, 1.0))
    rank = estimate.rank + grows.astype(jnp.int32)
    left = jnp.where(rank < dim, estimate.outside - beyond[:, None] * new[None], 0.0)
    changes = [jnp.where(grows, a, b) for a, b in zip(grown, changes, strict=True)]
    return _add(estimate._replace(outside=left, rank=rank), changes)


def weighted_update(
    estimate: RecursiveLeastSquares, x: Array, weight: Scalar, residual: Array
) -> RecursiveLeastSquares:
    """Return the estimate after one more row x: V gains weight x x', and then theta gains V^-1 x residual.

    It must be regularized. With weight 1 and the residual reward - x' theta it is `update`; residual 0 leaves theta. A
    vector of residuals is for a theta with a column for each of them.
    """
    weights = total(estimate.root * x[:, None])  # F' x
    moved = total(estimate.root.T * weights[:, None])
    return _add(estimate, _changes(weights, moved, weight * total(weights * weights), residual, weight))


def direction(estimate: RecursiveLeastSquares, x: Array) -> tuple[Array, Array]:
    """Return the part of x outside the span, float[dim], and its squared length, exactly 0 if x counts as inside."""
    # The second projection removes what rounding left of x inside the span.
    beyond = weighted_sum(estimate.outside, weighted_sum(estimate.outside, x, 1), 1)
    return beyond, _beyond(_total(beyond * beyond), _total(x * x))


def _changes(
    weights: Array, moved: Array, squared: Array, residual: Array, weight: Scalar = 1.0
) -> tuple[Array, Array, Array]:
    """Return what a row inside the span adds to root, theta and logdet, given F' x, G^+ x and weight x' G^+ x."""
    den = 1 + squared
    gain = moved / den
    # I - a a' / (den + sqrt(den)) is the square root of I - a a' / den, here with a = sqrt(weight) F' x (Potter 1963).
    shrink = gain * (weight * den / (den + jnp.sqrt(den)))
    return -shrink[:, None] * weights[None], jnp.multiply.outer(gain, residual), jnp.log1p(squared)


def _add(estimate: RecursiveLeastSquares, changes: Iterable[Array]) -> RecursiveLeastSquares:
    """Return the estimate with root, theta and logdet changed, in float32 by Kahan's compensated summation."""
    before = estimate.root, estimate.theta, estimate.logdet
    if estimate.gained is None:
        root, theta, logdet = (a + b for a, b in zip(before, changes, strict=True))
        return estimate._replace(root=root, theta=theta, logdet=logdet)
    pairs = [kahan(*x) for x in zip(before, estimate.gained, changes, strict=True)]
    (root, theta, logdet), gained = zip(*pairs, strict=True)
    return estimate._replace(root=root, theta=theta, logdet=logdet, gained=gained)


def _beyond(length: Array, norm: Array) -> Array:
    """Return squared lengths of residuals, with 0 for those within the tolerance."""
    return jnp.where(length > tolerance() ** 2 * norm, length, 0.0)


def _image_norms(rows: Array, matrix: Array) -> Array:
    """Return the squared norm of each row of rows @ matrix, a column of the matrix at a time if there are many."""
    if matrix.shape[0] <= UNROLLED:
        return _norms(product(rows, matrix))
    if rows.shape[0] == 1:
        return _norms(weighted_sum(matrix, rows[0], 0)[None])

    def add(k: Array, total: Array) -> Array:
        image = weighted_sum(rows, slice_at(matrix, k, 1), 1)
        return total + image * image

    return lax.fori_loop(0, matrix.shape[1], add, jnp.zeros(rows.shape[0], rows.dtype))


def _norms(rows: Array) -> Array:
    """Return the squared norm of each row."""
    if rows.shape[1] > UNROLLED:
        return jnp.sum(rows * rows, 1)
    return product(rows * rows, jnp.ones((rows.shape[1], 1), rows.dtype))[:, 0]


def _total(terms: Array) -> Array:
    """Return the sum of a vector, unrolled if it is short."""
    if terms.shape[0] > UNROLLED:
        return jnp.sum(terms)
    return product(terms[None], jnp.ones((terms.shape[0], 1), terms.dtype))[0, 0]
