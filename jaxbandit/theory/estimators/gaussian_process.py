"""The posterior of a Gaussian process on finitely many points, which are the arms: mean, variances and covariance.

Two forms, both with one update of num_arms^2 numbers an observation: the covariance S itself, and a root F, S = F F',
from which Thompson sampling draws.
"""

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax

from jaxbandit.support.numerics import argmax, as_float, get_at, weighted_sum
from jaxbandit.support.types import Array, Scalar


class Posterior(NamedTuple):
    """What is known of the arms' means after some rewards."""

    means: Array  # float[num_arms]
    variances: Any  # float[num_arms], the diagonal of S, which rounding may make negative; None with F
    matrix: Array  # float[num_arms, num_arms], S or F


def kernel_matrix(kernel: str, points: Array, lengthscale: Scalar, variance: Scalar) -> Array:
    """Return the prior covariances of the values at float[num_arms, dim] points, float[num_arms, num_arms].

    With r the distance of two points divided by the length scale, they are the variance times exp(-r^2 / 2) for "rbf",
    (1 + sqrt(3) r) exp(-sqrt(3) r) for "matern32", and (1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r) for "matern52".
    """
    apart = (points[:, None] - points[None]) / as_float(lengthscale)
    squared = jnp.sum(apart * apart, 2)
    if kernel == "rbf":
        return as_float(variance) * jnp.exp(-squared / 2)
    scaled = jnp.sqrt(squared) * math.sqrt(3 if kernel == "matern32" else 5)
    factor = 1 + scaled + (0.0 if kernel == "matern32" else scaled * scaled / 3)
    return as_float(variance) * (factor * jnp.exp(-scaled))


def with_covariance(covariance: Array) -> Posterior:
    """Return the prior of mean 0 with this covariance, in the form that has the covariance."""
    return Posterior(jnp.zeros(covariance.shape[0]), jnp.diagonal(covariance), covariance)


def with_root(covariance: Array) -> Posterior:
    """Return the prior of mean 0 with this covariance, in the form that has a root of it.

    The root is the Cholesky factor whose next arm is always that with the largest variance given the arms before it.
    """
    least = 8 * float(jnp.finfo(covariance.dtype).eps) * jnp.max(jnp.diagonal(covariance))

    def column(k: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        left, root = carry
        arm = argmax(jnp.diagonal(left))
        pivot = get_at(jnp.diagonal(left), arm)
        row = lax.dynamic_index_in_dim(left, arm, 0, keepdims=False)
        entries = jnp.where(pivot > least, row / jnp.sqrt(jnp.maximum(pivot, least)), 0.0)
        left = left - entries[:, None] * entries[None]
        return left, lax.dynamic_update_index_in_dim(root, entries, k, 1)

    _, root = lax.fori_loop(0, covariance.shape[0], column, (covariance, jnp.zeros_like(covariance)))
    return Posterior(jnp.zeros(covariance.shape[0]), None, root)


def update_covariance(prior: Posterior, arm: Array, reward: Array, noise: Scalar) -> Posterior:
    """Return the posterior after the reward of an arm, whose noise has this variance; the matrix is S."""
    common = weighted_sum(prior.matrix, _unit_vector(prior, arm), 0)
    means, den = _move(prior, common, arm, reward, noise)
    variances = prior.variances - common * (common / den)
    return Posterior(means, variances, prior.matrix - common[:, None] * (common / den)[None])


def update_root(prior: Posterior, arm: Array, reward: Array, noise: Scalar) -> Posterior:
    """Return the posterior after the reward of an arm, whose noise has this variance; the matrix is F."""
    row = weighted_sum(prior.matrix, _unit_vector(prior, arm), 0)
    common = weighted_sum(prior.matrix, row, 1)
    means, den = _move(prior, common, arm, reward, noise)
    # I - w w' / (den + sqrt(noise den)) is the square root of I - w w' / den (Potter 1963).
    shrink = common / (den + jnp.sqrt(as_float(noise) * den))
    return Posterior(means, None, prior.matrix - shrink[:, None] * row[None])


def draw(posterior: Posterior, normals: Array) -> Array:
    """Return one draw of all arms' means, float[num_arms], from as many standard normals; the matrix is F."""
    return posterior.means + weighted_sum(posterior.matrix, normals, 1)


def _unit_vector(prior: Posterior, arm: Array) -> Array:
    """Return 1 at the arm and 0 elsewhere: the sum with these weights is the arm's row, in vector instructions."""
    return as_float(jnp.arange(prior.means.shape[0], dtype=jnp.int32) == arm)


def _move(prior: Posterior, common: Array, arm: Array, reward: Array, noise: Scalar) -> tuple[Array, Array]:
    """Return the means after a reward of an arm with the covariances `common`, and the variance of the reward."""
    den = as_float(noise) + jnp.maximum(get_at(common, arm), 0.0)
    return prior.means + common * ((reward - get_at(prior.means, arm)) / den), den
