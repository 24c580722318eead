"""How good a set is for max x' W x over the sets of k: certified upper bounds, and the ratio that Theorem 1 grants.

Kuroki, Xu, Miyauchi, Honda, Sugiyama (2019), Theorem 1.

The ratio of peeling in Theorem 1. Let the edge weights be non-negative with sum w(V), the densest set have w*, and S
be what peeling leaves. Removing the vertex of least degree out of m keeps a part (m - 2) / m of the weight or more, so
that from m vertices on it ends with k (k - 1) / (m (m - 1)) of what they have. (a) From m = n on:
w(S) >= k (k - 1) / (n (n - 1)) w*. (b) Take any d. If some stage has all degrees at least d, its weight is m d / 2 or
more, and w(S) >= c d with c = k (k - 1) / (2 (n - 1)). If none has, the members of the densest set that are removed, at
most r = min(k, n - k), take d each with them, and w(S) >= w* - r d. With d = w* / (r + c) both are c / (r + c) w*.
Asahiro et al. (2000) have the same to leading order, with constants left open.
"""

from typing import Literal

import jax.numpy as jnp
from jax import lax

from jaxbandit import checks
from jaxbandit.numerics import as_float
from jaxbandit.solvers.densest import quadratic
from jaxbandit.types import Array, Scalar

AlphaMode = Literal["certified", "fixed", "theorem"]
_SPECTRAL = 40  # vertices
_HALVINGS = 16  # the bound of a row is then off by no more than k / 65,536 of its spread


def upper_bound(weights: Array, k: int, *, spectral: bool | None = None) -> Array:
    """Return a number float[] that x' W x exceeds for no set of k, up to rounding: the least of the bounds here.

    Rows: a member i adds w_ii and k - 1 other entries of its row, so that no set has more than the k largest rows have
    with their k - 1 largest entries off the diagonal. Spectral: x = (k / n) 1 + y with y orthogonal to 1 and
    ||y||^2 = k (1 - k / n), and y' W y is at most its square times the largest eigenvalue on that subspace; what is
    linear in y has its largest value on k vertices. Exact for aI + b11'.

    Args:
      weights: float[n, n], traced, symmetric; it need not be positive definite.
      k: static, in [1, n].
      spectral: static, whether to take the spectral bound too, by an eigendecomposition. None: up to n = 40; beyond,
        it takes milliseconds and was never the smaller one on inverse design matrices with k well below n / 2.
    """
    size = weights.shape[0]
    checks.integer("upper_bound", "k", k, 1, size)
    rows = jnp.diagonal(weights) + _largest_others(weights, k - 1)
    bound = jnp.sum(lax.top_k(rows, k)[0])
    if not (size <= _SPECTRAL if spectral is None else spectral):
        return bound
    sums = jnp.sum(weights, 1)
    mean = jnp.mean(sums)
    centred = weights - (sums[None] + sums[:, None] - mean) / size
    linear = 2 * k / size * jnp.sum(lax.top_k(sums - mean, k)[0])
    largest = jnp.max(jnp.linalg.eigvalsh(centred))
    return jnp.minimum(bound, k * k / size * mean + linear + k * (1 - k / size) * jnp.maximum(largest, 0.0))


def _largest_others(weights: Array, count: int) -> Array:
    """At least the sum of the `count` largest entries off the diagonal of each row, float[n].

    For every t it is at most count t + sum max(w - t, 0), and equal at the count-th largest: bisection for t, since
    sorting takes a hundred times longer, and along the columns, the same by symmetry, where XLA vectorises.
    """
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
    """Return a lower bound of peeling's weight over the largest, for non-negative edge weights and k >= 2."""
    kept = k * (k - 1) / (2 * (size - 1))
    return max(2 * kept / size, kept / (min(k, size - k) + kept))


def theorem_ratio(weights: Array, k: int) -> Array:
    """Return Theorem 1's lower bound float[] of peeling's x' W x over the largest.

    Args:
      weights: float[n, n], traced, positive definite.
      k: static, in [2, n].
    """
    checks.integer("theorem_ratio", "k", k, 2, weights.shape[0])
    spectrum = jnp.linalg.eigvalsh(weights)  # ascending
    return peeling_ratio(weights.shape[0], k) / (k - 1) * jnp.maximum(spectrum[0], 0.0) / spectrum[-1]


def alpha(weights: Array, members: Array, k: int, *, mode: AlphaMode = "certified", fixed: Scalar = 0.9) -> Array:
    """Return alpha float[] in (0, 1], with ||x_members|| >= alpha max ||x||, the norms those of W over sets of k.

    Args:
      weights: float[n, n], traced, positive definite.
      members: bool[n], traced, what peeling gave.
      k: static, in [1, n - 1]; 2 or more in mode "theorem".
      mode: static. "certified": by `upper_bound` on this very matrix; "theorem": by Theorem 1; "fixed": `fixed`,
        which bounds nothing.
      fixed: traced, in (0, 1].

    Raises:
      ValueError: an argument out of range.
    """
    checks.choice("alpha", "mode", mode, ("certified", "fixed", "theorem"))
    checks.number("alpha", "fixed", fixed, low=0.0, high=1.0, open_low=True)
    if mode == "fixed":
        return as_float(fixed)
    if mode == "theorem":
        return jnp.sqrt(theorem_ratio(weights, k))
    return jnp.sqrt(jnp.minimum(quadratic(weights, members) / upper_bound(weights, k), 1.0))
