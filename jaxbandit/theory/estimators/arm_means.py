"""Empirical mean of each arm, and its variance up to the noise's scale: the estimates without features.

Means are those of the rewards minus the first reward of the run, as in `counts`: only their differences count.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.support.numerics import as_float, kahan_at, set_at
from jaxbandit.support.types import Array, Scalar
from jaxbandit.theory.estimators.counts import deviation


class ArmMeans(NamedTuple):
    """Estimates for num_arms unstructured arms."""

    means: Array  # float[num_arms], minus `first`; 0 if never pulled
    variances: Array  # float[num_arms], 1 / pulls, inf if never pulled
    sums: Array  # float[num_arms], of the rewards minus `first`
    rest: Array | None  # float[num_arms], by how much rounding made `sums` too large; in float32 only
    first: Array | None  # float[], the first reward of the run, inf before it


def init(features: Array, regularization: Scalar) -> ArmMeans:
    """Return the estimate before the first pull, for as many arms as `features` has rows."""
    num_arms = features.shape[0]
    zeros = jnp.zeros(num_arms)
    rest = zeros if zeros.dtype == jnp.float32 else None
    return ArmMeans(zeros, jnp.full(num_arms, jnp.inf), zeros, rest, as_float(jnp.inf))


def fit(features: Array, regularization: Scalar, counts: Array, sums: Array) -> ArmMeans:
    """Return the estimate from int32[num_arms] pulls with sums of rewards, shifted or not, float[num_arms]."""
    pulls = as_float(counts)
    rest = jnp.zeros_like(sums) if sums.dtype == jnp.float32 else None
    return ArmMeans(sums / jnp.maximum(pulls, 1.0), 1 / pulls, sums, rest, None)


def means(estimate: ArmMeans) -> Array:
    """Return the empirical means, all with the same shift, float[num_arms]."""
    return estimate.means


def variances(estimate: ArmMeans) -> Array:
    """Return 1 / pulls, float[num_arms]."""
    return estimate.variances


def update(estimate: ArmMeans, arm: Array, reward: Array, pulls: Array) -> ArmMeans:
    """Return the estimate after one more reward of `arm`, which has now been pulled `pulls` times, int32[]."""
    n = as_float(pulls)
    first, reward = deviation(estimate.first, reward)
    sums, rest, total = kahan_at(estimate.sums, estimate.rest, arm, reward)
    return ArmMeans(
        means=set_at(estimate.means, arm, total / n),
        variances=set_at(estimate.variances, arm, 1 / n),
        sums=sums,
        rest=rest,
        first=first,
    )
