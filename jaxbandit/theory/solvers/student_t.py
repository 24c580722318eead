"""Quantiles of Student's t distribution, elementwise: Hill (1970), Algorithm 396, Communications of the ACM 13.

Closed forms are used for one and two degrees of freedom.
"""

import jax
import jax.numpy as jnp

from jaxbandit.support.numerics import normal_quantile
from jaxbandit.support.types import Array


def t_at(normals: Array, degrees: Array) -> Array:
    """Return the quantile whose level is that of the standard normal z; with random normals these are draws."""
    tail = jnp.maximum(jax.scipy.special.ndtr(-jnp.abs(normals)), 1e-10)
    return jnp.sign(normals) * t_quantile(tail, degrees)


def t_quantile(tail: Array, degrees: Array) -> Array:
    """Return t with P(T > t) = tail for tail in [1e-10, 1/2] and degrees of freedom 1, 2, or at least 2.

    P(T > t) is right to 7e-5 for fewer than four degrees, to 1.3e-5 for fewer than six, and to 1.5e-6 for more; for 1
    and 2 it is exact.
    """
    n = jnp.maximum(degrees, 2.5)
    a = 1 / (n - 0.5)
    b = 48 / (a * a)
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * jnp.sqrt(a * (jnp.pi / 2)) * n
    y = (d * 2 * tail) ** (2 / n)
    x = normal_quantile(tail)
    more = c + jnp.where(n < 5, 0.3 * (n - 4.5) * (x + 0.6), 0.0)
    more = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + more
    square = x * x
    near = (((((0.4 * square + 6.3) * square + 36) * square + 94.5) / more - square - 3) / b + 1) * x
    near = jnp.expm1(a * near * near)
    far = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) * (n + 1) / (n + 2)
    most = jnp.sqrt(n * jnp.where(y > 0.05 + a, near, far + 1 / y))
    two = (1 - 2 * tail) / jnp.sqrt(2 * tail * (1 - tail))
    return jnp.where(degrees < 2, 1 / jnp.tan(jnp.pi * tail), jnp.where(degrees < 2.5, two, most))
