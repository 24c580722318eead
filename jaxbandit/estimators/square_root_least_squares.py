"""Regularised least squares by a square root S of V^-1 = S S' (Potter 1963): updates take num_arms dim operations.

It carries h_a = S' x_a, so that ||x_i - x_j||^2 in V^-1 is ||h_i - h_j||^2: no cancellation beyond that of the features
themselves, where X V^-1 X' loses twice the digits. In float32 each sum carries with it what rounding has added, and
10^6 rounds keep the digits of a float32. Cheap where arms are many, dim few: sums over dim are written out.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.numerics import as_float, get_at
from jaxbandit.types import Array, Scalar


class Sums(NamedTuple):
    """What is summed over the rounds."""

    roots: Array  # float[dim, num_arms], columns h_a = S' x_a
    means: Array  # float[num_arms], x_a' theta_hat
    logdet: Array  # float[], log det V - log det(lambda I)


class SquareRootLeastSquares(NamedTuple):
    """Estimates of num_arms arms, and how uncertain they are up to the noise's scale."""

    sums: Sums
    gained: Sums | None  # what the sums have gained by rounding; float32


def init(features: Array, regularization: Scalar) -> SquareRootLeastSquares:
    """No rewards yet: V = lambda I.

    Args:
      features: float[num_arms, dim].
      regularization: lambda > 0.
    """
    roots = as_float(features).T / jnp.sqrt(as_float(regularization))
    means, logdet = jnp.zeros(features.shape[0]), jnp.zeros(())
    exact = jnp.result_type(float) != jnp.float32
    gained = None if exact else Sums(jnp.zeros_like(roots), means, logdet)
    return SquareRootLeastSquares(Sums(roots, means, logdet), gained)


def means(estimate: SquareRootLeastSquares) -> Array:
    """x_a' theta_hat, float[num_arms]."""
    return estimate.sums.means


def variances(estimate: SquareRootLeastSquares) -> Array:
    """||x_a||^2 in V^-1, float[num_arms]."""
    return _total([h * h for h in estimate.sums.roots])


def logdet(estimate: SquareRootLeastSquares) -> Array:
    """Log det V - log det(lambda I), float[]."""
    return estimate.sums.logdet


def row(estimate: SquareRootLeastSquares, arm: Array) -> Array:
    """x_arm' V^-1 x_i for all arms i, float[num_arms]."""
    return _total([h * get_at(h, arm) for h in estimate.sums.roots])


def distances(estimate: SquareRootLeastSquares, arm: Array) -> Array:
    """||x_i - x_arm||^2 in V^-1 for all arms i, float[num_arms]."""
    return _total([(h - get_at(h, arm)) ** 2 for h in estimate.sums.roots])


def all_distances(estimate: SquareRootLeastSquares) -> Array:
    """||x_i - x_j||^2 in V^-1, float[num_arms, num_arms]."""
    return _total([(h[None] - h[:, None]) ** 2 for h in estimate.sums.roots])


def update(estimate: SquareRootLeastSquares, arm: Array, reward: Array) -> SquareRootLeastSquares:
    """The estimate after one more reward of `arm`."""
    sums = estimate.sums
    pulled = [get_at(h, arm) for h in sums.roots]
    squared = _total([h * h for h in pulled])
    den = 1 + squared
    # Divided, so that XLA stores it instead of summing again for each entry of the roots.
    gain = _total([h * a for h, a in zip(sums.roots, pulled, strict=True)]) / den
    shrink = den / (den + jnp.sqrt(den))  # I - h h' / (den + sqrt(den)) is the square root of I - h h' / den
    addends = Sums(
        roots=-jnp.stack(pulled)[:, None] * (shrink * gain)[None],
        means=gain * (reward - get_at(sums.means, arm)),
        logdet=jnp.log1p(squared),
    )
    if estimate.gained is None:
        return SquareRootLeastSquares(Sums(*(a + b for a, b in zip(sums, addends, strict=True))), None)
    pairs = [_added(*x) for x in zip(sums, estimate.gained, addends, strict=True)]
    return SquareRootLeastSquares(*(Sums(*x) for x in zip(*pairs, strict=True)))


def _total(terms: list[Array]) -> Array:
    """A sum written out: XLA's CPU compiler is several times slower at a reduction of products."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _added(total: Array, gained: Array, addend: Array) -> tuple[Array, Array]:
    """The sum and what it has gained by rounding, after one more addend: Kahan's compensation."""
    addend = addend - gained
    after = total + addend
    return after, (after - total) - addend
