"""Maximum likelihood of logistic regression with a ridge penalty, by Newton's method over all rows seen so far."""

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandit.support.numerics import as_float, dot
from jaxbandit.support.types import Array, Scalar

BLOCK = 128  # rows that are summed together; the work is that of the rows seen, rounded up to blocks
_STEPS = 200  # Newton steps at most; some five are needed if |x| <= 1 and the start is near


def padded_length(length: int) -> int:
    """Return the number of rows to keep room for, so that `maximum` can read whole blocks."""
    return -(-length // BLOCK) * BLOCK


def maximum(
    rows: Array, rewards: Array, seen: Array, used: Array | None, regularization: Scalar, start: Array
) -> Array:
    """Return theta that maximizes sum log-likelihood - regularization |theta|^2 / 2, float[dim].

    Each step is Newton's, shortened to log(1 + b) / b of its length if b = max |x| |step| is above 1. The method ends
    with a step below 1e-10; in float32 below 1e-4. Of `rows`, float[length, dim], the first `seen` count, and of these
    the `used` ones, None for all; the length is a multiple of BLOCK. `start` is the first theta.
    """
    dim = rows.shape[1]
    prior = as_float(regularization)
    least = 1e-10 if rows.dtype == jnp.float64 else 1e-4

    def sums(theta: Array) -> tuple[Array, Array, Array]:
        """The Hessian, the gradient, and the largest squared norm of a row."""

        def add(block: Array, total: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            first = block * BLOCK
            x = lax.dynamic_slice_in_dim(rows, first, BLOCK)
            y = lax.dynamic_slice_in_dim(rewards, first, BLOCK)
            counts = first + jnp.arange(BLOCK, dtype=jnp.int32) < seen
            if used is not None:
                counts &= lax.dynamic_slice_in_dim(used, first, BLOCK)
            p = jax.nn.sigmoid(dot(x, theta))
            curvature = jnp.where(counts, p * (1 - p), 0.0)
            hessian, gradient, largest = total
            norms = jnp.where(counts, jnp.sum(x * x, 1), 0.0)
            return (
                hessian + dot(x.T * curvature[None], x),
                gradient + dot(x.T, jnp.where(counts, y - p, 0.0)),
                jnp.maximum(largest, jnp.max(norms)),
            )

        before = prior * jnp.eye(dim), -prior * theta, jnp.zeros(())
        return lax.fori_loop(0, (seen + BLOCK - 1) // BLOCK, add, before)

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        theta, size, steps = carry
        return (size > least * jnp.maximum(1.0, jnp.max(jnp.abs(theta)))) & (steps < _STEPS)

    def step(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        theta, _, steps = carry
        hessian, gradient, largest = sums(theta)
        change = _solve(hessian, gradient)
        growth = jnp.sqrt(largest * jnp.sum(change * change))
        change = change * jnp.where(growth > 1, jnp.log1p(growth) / jnp.maximum(growth, 1.0), 1.0)
        return theta + change, jnp.max(jnp.abs(change)), steps + 1

    return lax.while_loop(unfinished, step, (start, jnp.asarray(jnp.inf, start.dtype), jnp.zeros((), jnp.int32)))[0]


def _solve(matrix: Array, right: Array) -> Array:
    """Return the solution of matrix x = right for a positive definite matrix, by elimination without LAPACK."""
    rows = jnp.concatenate([matrix, right[:, None]], 1)

    def eliminate(j: Array, rows: Array) -> Array:
        row = lax.dynamic_index_in_dim(rows, j, 0, keepdims=False)
        row = row / lax.dynamic_index_in_dim(row, j, 0, keepdims=False)
        rest = rows - lax.dynamic_index_in_dim(rows, j, 1) * row[None]
        return lax.dynamic_update_index_in_dim(rest, row, j, 0)

    return lax.fori_loop(0, matrix.shape[0], eliminate, rows)[:, -1]
