"""Regularised least squares kept arm by arm: updates take num_arms^2 operations, whatever the dimension.

With V = lambda I + sum_a N_a x_a x_a' it carries the means X theta_hat and the Gram matrix G = X V^-1 X' themselves:
a pull of arm a with gain = G[a] / den and den = 1 + G_aa changes the means by gain (reward - mean_a), G by
-den gain gain' and log det V by log den. Written so, G stays symmetric to the last bit.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular

from jaxbandit.numerics import as_float, get_at, log
from jaxbandit.types import Array, Scalar


class LeastSquares(NamedTuple):
    """Estimates of num_arms arms, and how uncertain they are up to the noise's scale."""

    means: Array  # float[num_arms], x_a' theta_hat
    variances: Array  # float[num_arms], ||x_a||^2 in V^-1: the diagonal of gram
    gram: Array  # float[num_arms, num_arms], x_a' V^-1 x_b
    logdet: Array  # float[], log det V - log det(lambda I)


def init(features: Array, regularization: Scalar) -> LeastSquares:
    """No rewards yet: V = lambda I.

    Args:
      features: float[num_arms, dim].
      regularization: lambda > 0.
    """
    x = as_float(features)
    gram = jnp.sum(x[:, None] * x[None], -1) / as_float(regularization)
    return LeastSquares(jnp.zeros(x.shape[0]), jnp.diagonal(gram), gram, jnp.zeros(()))


def fit(features: Array, regularization: Scalar, counts: Array, sums: Array) -> LeastSquares:
    """The estimate of int32[num_arms] pulls whose rewards sum to float[num_arms] `sums`, by one factorisation."""
    x, prior, dim = as_float(features), as_float(regularization), features.shape[1]
    outer = jnp.sum(as_float(counts)[:, None, None] * (x[:, :, None] * x[:, None]), 0)
    factor = jnp.linalg.cholesky(prior * jnp.eye(dim) + outer)
    white = solve_triangular(factor, x.T, lower=True).T  # rows L^-1 x_a
    gram = jnp.sum(white[:, None] * white[None], 2)
    grown = 2 * jnp.sum(jnp.log(jnp.diagonal(factor))) - dim * jnp.log(prior)
    return LeastSquares(jnp.sum(gram * sums[None], 1), jnp.diagonal(gram), gram, grown)


def means(estimate: LeastSquares) -> Array:
    """x_a' theta_hat, float[num_arms]."""
    return estimate.means


def variances(estimate: LeastSquares) -> Array:
    """||x_a||^2 in V^-1, float[num_arms]."""
    return estimate.variances


def logdet(estimate: LeastSquares) -> Array:
    """Log det V - log det(lambda I), float[]."""
    return estimate.logdet


def row(estimate: LeastSquares, arm: Array) -> Array:
    """x_arm' V^-1 x_i for all arms i, float[num_arms]."""
    return lax.dynamic_index_in_dim(estimate.gram, arm, 0, keepdims=False)


def distances(estimate: LeastSquares, arm: Array) -> Array:
    """||x_i - x_arm||^2 in V^-1 for all arms i, float[num_arms]."""
    both = estimate.variances + get_at(estimate.variances, arm)
    return jnp.maximum(both - 2 * row(estimate, arm), 0.0)


def all_distances(estimate: LeastSquares) -> Array:
    """||x_i - x_j||^2 in V^-1, float[num_arms, num_arms]."""
    both = estimate.variances[None] + estimate.variances[:, None]
    return jnp.maximum(both - 2 * estimate.gram, 0.0)


def update(estimate: LeastSquares, arm: Array, reward: Array) -> LeastSquares:
    """The estimate after one more reward of `arm`."""
    den = 1 + get_at(estimate.variances, arm)
    # A division is stored before it is used: of a product XLA would look up the row again for each entry of G.
    gain = row(estimate, arm) / den
    innovation = reward - get_at(estimate.means, arm)
    return LeastSquares(
        means=estimate.means + gain * innovation,
        variances=estimate.variances - gain * gain * den,
        gram=estimate.gram - gain[:, None] * gain[None] * den,
        logdet=estimate.logdet + log(den),
    )
