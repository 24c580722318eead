"""Quantiles of Student's t distribution, elementwise: from X ~ Beta(nu/2, nu/2), t = sqrt(nu) sinh(logit(X) / 2)."""

import jax.numpy as jnp

from jaxbandit.base.types import Array
from jaxbandit.theory.solvers.beta import beta_shape, logit_at
from jaxbandit.theory.solvers.beta_quantile import logit_quantile, quantile_shape


def t_at(normals: Array, degrees: Array) -> Array:
    """Return the quantile whose level is that of the standard normal z, for degrees of freedom >= 1.

    With random normals these are draws, whose distribution is right up to 1e-6 in total variation, 6e-5 for fewer than
    two degrees of freedom.
    """
    return _of_logit(logit_at(normals, beta_shape(degrees / 2, degrees / 2)), degrees)


def t_quantile(tail: Array, degrees: Array) -> Array:
    """Return t with P(T > t) = tail for tail in [1e-10, 1/2] and degrees of freedom 1, 2 or more.

    It is exact for 1 and 2 degrees, and has a relative error of at most 5e-6 for more.
    """
    several = jnp.maximum(degrees, 3.0)
    most = _of_logit(logit_quantile(tail, quantile_shape(several / 2, several / 2)), several)
    two = (1 - 2 * tail) / jnp.sqrt(2 * tail * (1 - tail))
    return jnp.where(degrees < 2, 1 / jnp.tan(jnp.pi * tail), jnp.where(degrees < 3, two, most))


def _of_logit(logit: Array, degrees: Array) -> Array:
    return jnp.sqrt(degrees) * jnp.sinh(logit / 2)
