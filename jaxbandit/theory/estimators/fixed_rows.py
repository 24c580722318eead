"""The mean and the variance of every row of a fixed matrix, in O(rows dim) an observation instead of O(rows dim^2).

With u = P x and c = X u, an observation of the row x = X_i with reward r moves all variances s = diag(X P X') by -c^2 /
(1 + s_i) and all means m = X theta_hat by c (r - m_i) / (1 + s_i). In float32, all variances are computed anew when as
many observations have come as before, at least dim and at most 1,000.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.support.numerics import as_float, get_at, kahan, weighted_sum
from jaxbandit.support.types import Array, PyTree
from jaxbandit.theory.estimators import recursive_least_squares
from jaxbandit.theory.estimators.recursive_least_squares import RecursiveLeastSquares

EVERY = 1000  # largest number of observations between two computations from the root in float32


class FixedRows(NamedTuple):
    """What is known of each row. Nothing is, and everything is 0, until the observed rows span."""

    means: Array  # float[rows], X theta_hat
    variances: Array  # float[rows], diag(X G^+ X')
    gained: PyTree  # rounding errors of the means; in float32 only
    gap: Array  # int32[], observations between the last two computations from the estimate; 0 before the first
    left: Array  # int32[], observations before the next one; used in float32 only


def init(estimate: RecursiveLeastSquares, rows: Array) -> FixedRows:
    """Return what the estimate without observations says of the rows, float[rows, dim]."""
    zeros, none = jnp.zeros(rows.shape[0]), jnp.zeros((), jnp.int32)
    known = FixedRows(zeros, zeros, zeros if zeros.dtype == jnp.float32 else None, none, none)
    return renew(known, estimate, rows) if estimate.rank is None else known


def due(known: FixedRows, estimate: RecursiveLeastSquares) -> Array:
    """Return whether all must be computed from the estimate: when the rows begin to span, and in float32 at times."""
    wanted = known.gap == 0 if known.gained is None else known.left <= 0
    return wanted if estimate.rank is None else wanted & _spans(estimate)


def renew(known: FixedRows, estimate: RecursiveLeastSquares, rows: Array) -> FixedRows:
    """Return what the estimate says of the rows, computed anew."""
    means = recursive_least_squares.means(estimate, rows)
    variances = recursive_least_squares.variances(estimate, rows)
    gap = jnp.minimum(jnp.maximum(2 * known.gap, rows.shape[1]), EVERY)
    return FixedRows(means, variances, None if known.gained is None else jnp.zeros_like(means), gap, gap)


def update(
    known: FixedRows, before: RecursiveLeastSquares, rows: Array, index: Array, x: Array, reward: Array
) -> FixedRows:
    """Return what is known after the reward of the row x at `index`, where `before` is the estimate before it."""
    _, moved, squared = recursive_least_squares.gain(before, x)
    if before.rank is not None:
        moved = moved * as_float(_spans(before))
    common, den = weighted_sum(rows, moved, 1), 1 + squared
    addend = common * ((reward - get_at(known.means, index)) / den)
    variances = jnp.maximum(known.variances - common * (common / den), 0.0)
    means, gained = kahan(known.means, known.gained, addend)
    return FixedRows(means, variances, gained, known.gap, known.left - 1)


def _spans(estimate: RecursiveLeastSquares) -> Array:
    return estimate.rank == estimate.theta.shape[0]
