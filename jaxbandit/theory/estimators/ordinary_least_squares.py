"""Ordinary least squares from pull counts and mean rewards, computed anew each time, so that errors do not accumulate.

V = sum_a N_a x_a x_a' must have full rank, or the results are NaN or inf. Sums over dimensions are unrolled.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit.support.numerics import as_float, product, short_loop, slice_at
from jaxbandit.support.types import Array


class Fit(NamedTuple):
    """Estimates for num_arms arms, or for other rows, and what their variances need."""

    means: Array  # float[num_arms], x_a' theta_hat
    inverse: Array  # float[dim, dim], V^-1


def fit(features: Array, counts: Array, means: Array, *, at: Array | None = None) -> Fit:
    """Return the least-squares fit of the mean rewards `means`, any finite number for an arm without pulls.

    Its means are those of the rows `at`, float[rows, dim], or of the arms.
    """
    pulls = as_float(counts)
    inverse_matrix = inverse(design_matrix(features, pulls))
    target = jnp.sum((pulls * means)[:, None] * features, 0)
    theta = product(inverse_matrix, target[:, None])
    return Fit(product(features if at is None else at, theta)[:, 0], inverse_matrix)


def design_matrix(features: Array, weights: Array) -> Array:
    """Return sum_a w_a x_a x_a', float[dim, dim], exactly symmetric."""
    return jnp.sum(weights[:, None, None] * (features[:, :, None] * features[:, None]), 0)


def squared_norms(rows: Array, inverse_matrix: Array) -> Array:
    """Return y' V^-1 y for each row y, float[rows]; exactly 0 for a zero row."""
    products = product(rows, inverse_matrix) * rows
    return jnp.maximum(product(products, jnp.ones((rows.shape[1], 1), rows.dtype))[:, 0], 0.0)


def differences(features: Array, arm: Array) -> Array:
    """Return x_arm - x_i for all arms i, float[num_arms, dim]; exactly 0 for duplicates."""
    return lax.dynamic_index_in_dim(features, arm, 0) - features


def inverse(matrix: Array) -> Array:
    """Return the inverse of a symmetric positive definite matrix, float[dim, dim], exactly symmetric."""
    dim = matrix.shape[0]

    def sweep(k: int | Array, matrix: Array) -> Array:
        here = np.arange(dim) == k
        row = slice_at(matrix, k, 0)
        factor = 1 / slice_at(row, k, 0)
        scaled = row * factor
        swept = matrix - (row[:, None] * row[None]) * factor
        swept = jnp.where(here[:, None], scaled[None], jnp.where(here[None], scaled[:, None], swept))
        return jnp.where(here[:, None] & here[None], -factor, swept)

    return -short_loop(0, dim, sweep, matrix)


def pivots(matrix: Array) -> Array:
    """Return the pivots of a symmetric matrix, float[dim], all positive iff it is positive definite."""
    dim = matrix.shape[0]

    def eliminate(k: int | Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        matrix, diagonal = carry
        row = slice_at(matrix, k, 0)
        pivot = slice_at(row, k, 0)
        matrix = matrix - (row[:, None] * row[None]) / jnp.where(pivot == 0, 1.0, pivot)
        return matrix, jnp.where(np.arange(dim) == k, pivot, diagonal)

    return short_loop(0, dim, eliminate, (matrix, jnp.zeros(dim, matrix.dtype)))[1]
