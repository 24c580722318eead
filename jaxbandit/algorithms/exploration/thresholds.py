"""Thresholds C of the gap indices: the width of a confidence bound in units of its standard deviation.

Proved are "det", Xu, Honda and Sugiyama (2017), equation (3); "theory", Reda, Kaufmann and Delahaye-Duriez (2021),
equation (2), as printed; "lucb1", Kalyanakrishnan et al. (2012); and "static", Soare, Lazaric and Munos (2014),
Proposition 1, for designs that do not depend on rewards. "heuristic", from the experiments of the 2021 paper, has no
guarantee. Difference: 0 pulls count as one pull.
"""

import math

import jax.numpy as jnp

from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, Scalar


def det_threshold(logdet: Array, *, delta: Scalar, sigma: Scalar, regularization: Scalar, theta_norm: Scalar) -> Array:
    """Return sqrt(2 log(det(V)^(1/2) det(lambda I)^(-1/2) / delta)) + sqrt(lambda) S / sigma, float[].

    Args:
      logdet: log det(V) - log det(lambda I) >= 0, float[].
    """
    return jnp.sqrt(logdet - 2 * jnp.log(as_float(delta))) + _bias(sigma, regularization, theta_norm)


def theory_threshold(
    pulls: Array,
    *,
    dim: int,
    feature_norm: Scalar,
    delta: Scalar,
    sigma: Scalar,
    regularization: Scalar,
    theta_norm: Scalar,
) -> Array:
    """Return sqrt(2 log(1/delta) + d log(1 + (t+1) L^2 / (lambda^2 d))) + sqrt(lambda) S / sigma, float[].

    Args:
      pulls: t, the number of pulls so far, int32[].
      dim: d, the dimension of the features; static.
      feature_norm: L, the largest norm of a feature vector, > 0.
    """
    growth = (as_float(feature_norm) / as_float(regularization)) ** 2 / dim
    logdet = dim * jnp.log(1 + as_float(pulls + 1) * growth)
    return jnp.sqrt(logdet - 2 * jnp.log(as_float(delta))) + _bias(sigma, regularization, theta_norm)


def heuristic_threshold(pulls: Array, *, delta: Scalar) -> Array:
    """Return sqrt(2 log((log t + 1) / delta)) after t pulls, float[], which has no guarantee."""
    return jnp.sqrt(2 * (jnp.log(_log(pulls) + 1) - jnp.log(as_float(delta))))


def lucb1_threshold(pulls: Array, *, num_arms: int, delta: Scalar) -> Array:
    """Return sqrt(2 log(5 K t^4 / (4 delta))) after t pulls of K arms, float[], for empirical means of single arms."""
    return jnp.sqrt(8 * _log(pulls) + 2 * (math.log(1.25 * num_arms) - jnp.log(as_float(delta))))


def static_threshold(pulls: Array, *, num_arms: int, delta: Scalar) -> Array:
    """Return 2 sqrt(2 log(6 n^2 K / (delta pi^2))) after n pulls of K arms that do not depend on rewards, float[]."""
    return 2 * independent_threshold(pulls, log_arms=math.log(num_arms), delta=delta)


def independent_threshold(pulls: Array, *, log_arms: float, delta: Scalar) -> Array:
    """Return sqrt(2 log(6 n^2 K / (delta pi^2))) after n pulls, float[], given log K.

    It is a union bound over K intervals and all n, half of static_threshold, which Soare et al. state for any noise
    bounded by sigma. With K the number of single arms it is that of Kuroki et al. (2019), Lemma 1.
    """
    constant = math.log(6 / math.pi**2) + log_arms
    return jnp.sqrt(4 * _log(pulls) + 2 * (constant - jnp.log(as_float(delta))))


def _log(pulls: Array) -> Array:
    return jnp.log(jnp.maximum(as_float(pulls), 1.0))


def _bias(sigma: Scalar, regularization: Scalar, theta_norm: Scalar) -> Array:
    """Return the bias of an estimate from the regularization, in standard deviations."""
    return jnp.sqrt(as_float(regularization)) * as_float(theta_norm) / as_float(sigma)
