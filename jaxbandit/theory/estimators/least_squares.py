"""Regularized least squares maintained per arm, with updates of num_arms^2 operations whatever the dimension.

With V = lambda I + sum_a N_a x_a x_a' the state holds the means X theta_hat and the Gram matrix G = X V^-1 X'. A pull
of arm a, with gain = G[a] / den and den = 1 + G_aa, changes the means by gain (reward - mean_a), G by -den gain gain'
and log det V by log den.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular

from jaxbandit.support.numerics import as_float, get_at, log
from jaxbandit.support.types import Array, Scalar


class LeastSquares(NamedTuple):
    """Estimates for num_arms arms, and their uncertainty up to the noise's scale."""

    means: Array  # float[num_arms], x_a' theta_hat
    variances: Array  # float[num_arms], x_a' V^-1 x_a, the diagonal of gram
    gram: Array  # float[num_arms, num_arms], x_a' V^-1 x_b
    logdet: Array  # float[], log det V - log det(lambda I)


def init(features: Array, regularization: Scalar) -> LeastSquares:
    """Return the estimate before the first reward, V = lambda I."""
    x = as_float(features)
    gram = jnp.sum(x[:, None] * x[None], -1) / as_float(regularization)
    return LeastSquares(jnp.zeros(x.shape[0]), jnp.diagonal(gram), gram, jnp.zeros(()))


def fit(features: Array, regularization: Scalar, counts: Array, sums: Array) -> LeastSquares:
    """Return the estimate from int32[num_arms] pulls with sums of rewards float[num_arms], by one factorization."""
    x, prior, dim = as_float(features), as_float(regularization), features.shape[1]
    outer = jnp.sum(as_float(counts)[:, None, None] * (x[:, :, None] * x[:, None]), 0)
    factor = jnp.linalg.cholesky(prior * jnp.eye(dim) + outer)
    white = solve_triangular(factor, x.T, lower=True).T  # rows L^-1 x_a
    gram = jnp.sum(white[:, None] * white[None], 2)
    grown = 2 * jnp.sum(jnp.log(jnp.diagonal(factor))) - dim * jnp.log(prior)
    return LeastSquares(jnp.sum(gram * sums[None], 1), jnp.diagonal(gram), gram, grown)


def means(estimate: LeastSquares) -> Array:
    """Return x_a' theta_hat, float[num_arms]."""
    return estimate.means


def variances(estimate: LeastSquares) -> Array:
    """Return x_a' V^-1 x_a, float[num_arms]."""
    return estimate.variances


def logdet(estimate: LeastSquares) -> Array:
    """Return log det V - log det(lambda I), float[]."""
    return estimate.logdet


def row(estimate: LeastSquares, arm: Array) -> Array:
    """Return x_arm' V^-1 x_i for all arms i, float[num_arms]."""
    return lax.dynamic_index_in_dim(estimate.gram, arm, 0, keepdims=False)


def distances(estimate: LeastSquares, arm: Array) -> Array:
    """Return the squared norm of x_i - x_arm in V^-1 for all arms i, float[num_arms]."""
    both = estimate.variances + get_at(estimate.variances, arm)
    return jnp.maximum(both - 2 * row(estimate, arm), 0.0)


def all_distances(estimate: LeastSquares) -> Array:
    """Return the squared norms of x_i - x_j in V^-1, float[num_arms, num_arms]."""
    both = estimate.variances[None] + estimate.variances[:, None]
    return jnp.maximum(both - 2 * estimate.gram, 0.0)


def update(estimate: LeastSquares, arm: Array, reward: Array) -> LeastSquares:
    """Return the estimate after one more reward of `arm`."""
    den = 1 + get_at(estimate.variances, arm)
    # XLA stores the result of a division before using it; with a product it would look up the row again for each entry.
    gain = row(estimate, arm) / den
    innovation = reward - get_at(estimate.means, arm)
    return LeastSquares(
        means=estimate.means + gain * innovation,
        variances=estimate.variances - gain * gain * den,
        gram=estimate.gram - gain[:, None] * gain[None] * den,
        logdet=estimate.logdet + log(den),
    )
