"""Upper quantiles of Beta(a, b) without the incomplete beta function, in a fixed number of passes and without loops.

The error of x is 1.2e-6 for a, b >= 1 and tails from 1/2 to 1e-7. docs/mathematics.md has the method.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit.support.numerics import normal_quantile
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers.beta import BetaShape, beta_shape, logit_slope_and_ratio

# E is the mean of A at the quantile and of A where this share of the tail is left: of all shares and weights, those
# with the smallest error over a, b >= 1 and tails from 1/2 to 1e-7.
SHARE = 0.135


class QuantileShape(NamedTuple):
    """What quantiles of Beta(a, b) need, as functions of a and b alone."""

    shape: BetaShape
    level: Array  # the constant factor of A


def quantile_shape(a: Array, b: Array) -> QuantileShape:
    """Return what quantiles of Beta(a, b) need, elementwise, for a, b >= 1/2."""
    level = jnp.exp(_stirling_error(a + b) - _stirling_error(a) - _stirling_error(b))
    return QuantileShape(beta_shape(a, b), level)


def logit_quantile(tail: Array, law: QuantileShape) -> Array:
    """Return logit(x) with P(X > x) = tail, elementwise in `law`, for a scalar tail in [1e-9, 1/2]."""
    shape, level = law
    w = normal_quantile(tail)
    logit, slope, near = logit_slope_and_ratio(w, shape)
    far = logit_slope_and_ratio(normal_quantile(tail * SHARE), shape)[2]
    excess = level * (near + far) / 2 - 1
    # The logarithm of the normal's tail falls by the hazard rate, so that log E, to second order, is made up for here.
    hazard = jnp.exp(-w * w / 2) * (2 * np.pi) ** -0.5 / tail
    return lax.optimization_barrier(logit + slope * (excess - excess * excess / 2) / hazard)


def beta_upper_quantile(tail: Array, a: Array, b: Array) -> Array:
    """Return x with P(X > x) = tail for X from Beta(a, b), a, b >= 1/2, tail in [1e-9, 1/2], elementwise in a and b."""
    return jax.nn.sigmoid(logit_quantile(tail, quantile_shape(a, b)))


def _stirling_error(x: Array) -> Array:
    """Return log Gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2 for x >= 1/2, to 1e-9."""
    shifted = jnp.zeros_like(x)
    for _ in range(4):
        shifted = shifted + (x + 0.5) * jnp.log1p(1 / x) - 1
        x = x + 1
    inverse = 1 / (x * x)
    return shifted + (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / x
