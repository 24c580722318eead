"""Certified upper bounds on max x' W x over the sets of k, and the approximation ratio that Theorem 1 guarantees.

Kuroki, Xu, Miyauchi, Honda and Sugiyama (2020), Theorem 1, with the constants of docs/mathematics.md.
"""

from typing import Annotated, Literal

import jax.numpy as jnp
from jax import lax

from jaxbandit.base.arguments import PositiveUnit
from jaxbandit.base.calls import checked
from jaxbandit.base.parameters import Arg
from jaxbandit.support.domains import integer
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers.densest import SetSize, quadratic

AlphaMode = Literal["certified", "fixed", "theorem"]
_SPECTRAL = 40  # number of vertices
_HALVINGS = 16  # the error of the bound for a row is then at most k / 65,536 of its spread


@checked
def upper_bound(weights: Array, k: SetSize, *, spectral: bool | None = None) -> Array:
    """A number float[] that x' W x does not exceed for any set of k, up to rounding: the smallest of these bounds.

    Rows: no set has more than the k largest rows with their k - 1 largest off-diagonal entries. Spectral: by the
    largest eigenvalue orthogonal to 1, if `spectral`; None includes it up to n = 40. W is symmetric, not necessarily
    positive definite.
    """
    size = weights.shape[0]
    rows = jnp.diagonal(weights) + _largest_others(weights, k - 1)
    bound = jnp.sum(lax.top_k(rows, k)[0])
    if not (size <= _SPECTRAL if spectral is None else spectral):
        return bound
    sums = jnp.sum(weights, 1)
    mean = jnp.mean(sums)
    centered = weights - (sums[None] + sums[:, None] - mean) / size
    linear = 2 * k / size * jnp.sum(lax.top_k(sums - mean, k)[0])
    largest = jnp.max(jnp.linalg.eigvalsh(centered))
    return jnp.minimum(bound, k * k / size * mean + linear + k * (1 - k / size) * jnp.maximum(largest, 0.0))


def _largest_others(weights: Array, count: int) -> Array:
    """Return at least the sum of the `count` largest off-diagonal entries of each row, float[n], by bisection."""
    if count == 0:
        return jnp.zeros_like(weights[0])
    diagonal = jnp.eye(weights.shape[0], dtype=bool)
    others = jnp.where(diagonal, -jnp.inf, weights)

    def halve(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        many = jnp.sum(others > middle[None], 0, dtype=jnp.int32) >= count
        return jnp.where(many, middle, low), jnp.where(many, high, middle)

    ends = jnp.min(jnp.where(diagonal, jnp.inf, weights), 0), jnp.max(others, 0)
    _, level = lax.fori_loop(0, _HALVINGS, halve, ends)
    return count * level + jnp.sum(jnp.maximum(others - level[None], 0.0), 0)


def peeling_ratio(size: int, k: int) -> float:
    """Return a lower bound on peeling's weight relative to the largest, for non-negative edge weights and k >= 2."""
    share = k * (k - 1) / (2 * (size - 1))
    return max(2 * share / size, share / (min(k, size - k) + share))


@checked
def theorem_ratio(weights: Array, k: Annotated[int, Arg(lambda given: integer(2, len(given["weights"])))]) -> Array:
    """Return Theorem 1's lower bound, float[], on peeling's x' W x relative to the largest."""
    spectrum = jnp.linalg.eigvalsh(weights)  # ascending
    return peeling_ratio(weights.shape[0], k) / (k - 1) * jnp.maximum(spectrum[0], 0.0) / spectrum[-1]


@checked
def alpha(weights: Array, members: Array, k: int, *, mode: AlphaMode = "certified", fixed: PositiveUnit = 0.9) -> Array:
    """Return alpha, float[] in (0, 1]: the norm of the indicator of `members` in W is at least alpha times the largest.

    W is float[n, n], positive definite. "certified" uses `upper_bound` on this matrix, "theorem" uses Theorem 1 and k
    >= 2, and "fixed" returns `fixed`, which is not a bound.
    """
    if mode == "fixed":
        return as_float(fixed)
    if mode == "theorem":
        return jnp.sqrt(theorem_ratio(weights, k))
    return jnp.sqrt(jnp.minimum(quadratic(weights, members) / upper_bound(weights, k), 1.0))
