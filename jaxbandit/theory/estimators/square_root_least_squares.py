"""Regularized least squares by a root S of V^-1 = S S' (Potter 1963), with updates of num_arms dim operations.

The state holds h_a = S' x_a, so that the squared norm of x_i - x_j in V^-1 is that of h_i - h_j, without cancellation.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.support.numerics import as_float, get_at, kahan
from jaxbandit.support.types import Array, Scalar


class Sums(NamedTuple):
    """The quantities that are summed over the rounds."""

    roots: Array  # float[dim, num_arms], columns h_a = S' x_a
    means: Array  # float[num_arms], x_a' theta_hat
    logdet: Array  # float[], log det V - log det(lambda I)


class SquareRootLeastSquares(NamedTuple):
    """Estimates for num_arms arms, and their uncertainty up to the noise's scale."""

    sums: Sums
    gained: Sums | None  # rounding errors of the sums; in float32 only


def init(features: Array, regularization: Scalar) -> SquareRootLeastSquares:
    """Return the estimate before the first reward, V = lambda I."""
    roots = as_float(features).T / jnp.sqrt(as_float(regularization))
    means, logdet = jnp.zeros(features.shape[0]), jnp.zeros(())
    exact = jnp.result_type(float) != jnp.float32
    gained = None if exact else Sums(jnp.zeros_like(roots), means, logdet)
    return SquareRootLeastSquares(Sums(roots, means, logdet), gained)


def means(estimate: SquareRootLeastSquares) -> Array:
    """Return x_a' theta_hat, float[num_arms]."""
    return estimate.sums.means


def variances(estimate: SquareRootLeastSquares) -> Array:
    """Return x_a' V^-1 x_a, float[num_arms]."""
    return _total([h * h for h in estimate.sums.roots])


def logdet(estimate: SquareRootLeastSquares) -> Array:
    """Return log det V - log det(lambda I), float[]."""
    return estimate.sums.logdet


def row(estimate: SquareRootLeastSquares, arm: Array) -> Array:
    """Return x_arm' V^-1 x_i for all arms i, float[num_arms]."""
    return _total([h * get_at(h, arm) for h in estimate.sums.roots])


def distances(estimate: SquareRootLeastSquares, arm: Array) -> Array:
    """Return the squared norm of x_i - x_arm in V^-1 for all arms i, float[num_arms]."""
    return _total([(h - get_at(h, arm)) ** 2 for h in estimate.sums.roots])


def all_distances(estimate: SquareRootLeastSquares) -> Array:
    """Return the squared norms of x_i - x_j in V^-1, float[num_arms, num_arms]."""
    return _total([(h[None] - h[:, None]) ** 2 for h in estimate.sums.roots])


def update(estimate: SquareRootLeastSquares, arm: Array, reward: Array) -> SquareRootLeastSquares:
    """Return the estimate after one more reward of `arm`."""
    sums = estimate.sums
    pulled = [get_at(h, arm) for h in sums.roots]
    squared = _total([h * h for h in pulled])
    den = 1 + squared
    # The division makes XLA store the sum instead of recomputing it for each entry of the roots.
    gain = _total([h * a for h, a in zip(sums.roots, pulled, strict=True)]) / den
    shrink = den / (den + jnp.sqrt(den))  # I - h h' / (den + sqrt(den)) is the square root of I - h h' / den
    addends = Sums(
        roots=-jnp.stack(pulled)[:, None] * (shrink * gain)[None],
        means=gain * (reward - get_at(sums.means, arm)),
        logdet=jnp.log1p(squared),
    )
    if estimate.gained is None:
        return SquareRootLeastSquares(Sums(*(a + b for a, b in zip(sums, addends, strict=True))), None)
    pairs = [kahan(*x) for x in zip(sums, estimate.gained, addends, strict=True)]
    return SquareRootLeastSquares(*(Sums(*x) for x in zip(*pairs, strict=True)))


def _total(terms: list[Array]) -> Array:
    """Return a sum, unrolled, because XLA's CPU compiler is several times slower at a reduction of products."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
