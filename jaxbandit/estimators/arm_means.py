"""Empirical mean of each arm and its variance up to the noise's scale: what is known without features."""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.numerics import as_float, get_at, set_at
from jaxbandit.types import Array, Scalar


class ArmMeans(NamedTuple):
    """Estimates of num_arms arms that say nothing of each other."""

    means: Array  # float[num_arms], 0 where never pulled
    variances: Array  # float[num_arms], 1 / pulls, inf where never pulled


def init(features: Array, regularization: Scalar) -> ArmMeans:
    """No pulls yet of as many arms as `features` has rows."""
    num_arms = features.shape[0]
    return ArmMeans(jnp.zeros(num_arms), jnp.full(num_arms, jnp.inf))


def fit(features: Array, regularization: Scalar, counts: Array, sums: Array) -> ArmMeans:
    """The estimate of int32[num_arms] pulls whose rewards sum to float[num_arms] `sums`."""
    pulls = as_float(counts)
    return ArmMeans(sums / jnp.maximum(pulls, 1.0), 1 / pulls)


def means(estimate: ArmMeans) -> Array:
    """Empirical means, float[num_arms]."""
    return estimate.means


def variances(estimate: ArmMeans) -> Array:
    """1 / pulls, float[num_arms]."""
    return estimate.variances


def update(estimate: ArmMeans, arm: Array, reward: Array, pulls: Array) -> ArmMeans:
    """The estimate after one more reward of `arm`, which has now been pulled `pulls` times, int32[]."""
    n, mean = as_float(pulls), get_at(estimate.means, arm)
    return ArmMeans(set_at(estimate.means, arm, mean + (reward - mean) / n), set_at(estimate.variances, arm, 1 / n))
