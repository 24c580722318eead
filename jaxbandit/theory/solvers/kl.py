"""Inversion of the Bernoulli divergence kl(p, .) above p: a closed-form start and one or two Halley steps."""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.support.numerics import inline
from jaxbandit.support.types import Array


class Root(NamedTuple):
    """q = base + gain with kl(p, q) = delta, and rest = 1 - q, which is accurate even if q rounds to 1."""

    base: Array  # p, kept off 0
    gain: Array
    rest: Array


def kl_upper(p: Array, delta: Array) -> Array:
    """Return the largest q in [p, 1] with kl(p, q) <= delta.

    Args:
      p: float[...] in [0, 1].
      delta: float[...] in [0, inf], same shape.

    Returns:
      float[...]: the root, below it by at most 1e-7 and above by at most 5e-7 in float32, and within a few units in the
      last place in float64.
    """
    root = kl_root(p, delta)
    q = root.base + root.gain
    upward = 1 + 2 * float(jnp.finfo(q.dtype).eps)  # more than the rounding errors above, so that the side is known
    return jnp.where(p < 1, jnp.clip(q * upward, p, 1.0), 1.0)


@inline
def kl_root(p: Array, delta: Array) -> Root:
    """Solve kl(p, q) = delta for q >= p, before rounding to the safe side. The result is meaningless at p = 1."""
    unit = float(jnp.finfo(p.dtype).eps)
    delta = jnp.minimum(delta, 80.0)  # 1 - q <= exp(-80) from there on
    low = jnp.maximum(p, 1e-30)  # the solution is continuous at p = 0
    rest = jnp.maximum(1 - p, unit / 128)
    inverse_low, inverse_rest = 1 / low, 1 / rest

    def halley(w: Array) -> tuple[Array, Array, Array, Array]:
        """Return, at w and up to rounding, q - p, 1 - q, the step to the root, and w after it."""
        w = jnp.clip(w, unit / 2, 64.0)  # so that products with exp(-w) remain normal numbers of float32
        shrink = jnp.exp(-w)  # (1-q)/(1-p)
        u = rest * _one_minus_exp(w, shrink)
        q = low + u
        tail = rest * shrink
        # log(q/p) corrected for the rounding of q/p; log1p costs three times as much, and XLA folds (1 + x) - 1.
        ratio = q * inverse_low
        log_ratio = jnp.log(ratio) + (u * inverse_low - (ratio - 1)) / ratio
        missing = delta + (low * log_ratio - rest * w)
        # Halley in w: F' = u/q, F'' = p (1-q)/q^2
        step = 2 * u * q * missing / (2 * u * u + missing * low * tail)
        return u, tail, step, w + step

    u, tail, step, w = halley(_start(low, inverse_low, delta * inverse_rest))
    if unit < 1e-10:
        u, tail, step, w = halley(w)
    # 1 - exp(-step) to third order: the step is small wherever (1-q) is not
    change = tail * (step * (1 - step * (0.5 - step / 6)))
    return Root(low, u + change, tail - change)


def _one_minus_exp(w: Array, shrink: Array) -> Array:
    """Return 1 - exp(-w) for w > 0 and shrink = exp(-w), to a few rounding errors: below 1/4 by its Taylor series."""
    near, series = jnp.minimum(w, 0.25), jnp.ones_like(w)
    for k in range(14 if w.dtype == jnp.float64 else 6, 1, -1):
        series = 1 - near * series * (1 / k)
    return jnp.where(w < 0.25, near * series, 1 - shrink)


def _start(p: Array, inverse_p: Array, d: Array) -> Array:
    """Return w with F(w) = (1-p) d, up to 0.3 % of q - p."""
    s = jnp.sqrt(2 * p * d)
    curvature = (1 + p) * (inverse_p / 6) * s
    z = curvature + (4 / 6) * jnp.sqrt(p) * inverse_p * s  # s / c
    return d + s * (1 + 0.18 * z) / (1 + curvature + 0.18 * z * (1 + z))
