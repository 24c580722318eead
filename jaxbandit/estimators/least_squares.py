"""Regularised least squares on finitely many arms, updated one reward at a time in time free of the dimension.

With V = lambda I + sum_a N_a x_a x_a' it carries the means X theta_hat and the Gram matrix G = X V^-1 X' themselves:
a pull of arm a with gain = G[a] / den and den = 1 + G_aa changes the means by gain (reward - mean_a), G by
-den gain gain' and log det V by log den. Written so, G stays symmetric to the last bit.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from jaxbandit.numerics import as_float, get_at
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


def row(estimate: LeastSquares, arm: Array) -> Array:
    """x_arm' V^-1 x_i for all arms i, float[num_arms]."""
    return lax.dynamic_index_in_dim(estimate.gram, arm, 0, keepdims=False)


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
        logdet=estimate.logdet + jnp.log(den),
    )
