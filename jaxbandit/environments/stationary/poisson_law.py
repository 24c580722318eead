"""Poisson draws: inversion for small means, else rejection (Hoermann 1993, algorithm PTRS).

The draws are exact up to the rounding of the mean and of the probabilities, for counts up to 2^24 in float32, where
`jax.random.poisson` (0.10) fails for means from 10^5 on.
"""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxbandit.environments.stationary.binomial import stirling
from jaxbandit.support.numerics import as_float, x_minus_log1p
from jaxbandit.support.types import Array, Key

_FEW = 10.0  # up to this mean the inversion starts from 0, beyond it from the mode
_WIDE = 400.0  # from this mean on rejection is faster, since the inversion walks over four standard deviations


def poisson_draw(key: Key, mean: Array) -> Array:
    """Draw Poisson(mean) as whole numbers in a float array."""
    wide = mean >= _WIDE
    near = poisson_inverse(jax.random.uniform(jax.random.fold_in(key, 0), mean.shape), jnp.where(wide, 0.0, mean))
    # Entries drawn by inversion are marked as accepted, with a mean for which the rejection is valid.
    return jnp.where(wide, _rejection(key, jnp.where(wide, mean, _WIDE), ~wide), near)


def poisson_inverse(uniform: Array, mean: Array) -> Array:
    """Return the quantile of the Poisson distribution at level `uniform`, which is a draw if the level is uniform.

    The time grows with the square root of the largest mean.
    """
    few = mean < _FEW
    mode = jnp.floor(jnp.where(few, _FEW, mean))
    start = jnp.where(few, 0.0, mode)
    mass = jnp.where(few, jnp.exp(-mean), jnp.exp(_log_mass(mode, jnp.where(few, _FEW, mean))))
    inverse = 1 / jnp.maximum(mean, jnp.finfo(mean.dtype).tiny)
    return _walk(uniform, start, mass, lambda mass, k: mass * mean / (k + 1), lambda mass, k: mass * k * inverse)


def _rejection(key: Key, mean: Array, accepted: Array) -> Array:
    """Draw by Hoermann's PTRS, for mean >= 10: two uniforms per attempt, seven of eight attempts succeed."""
    b = 0.931 + 2.53 * jnp.sqrt(mean)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    center = jnp.floor(mean)  # added last, because in float32 a large mean has no digits for a fraction
    offset = mean - center + 0.43

    def body(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        attempt, k, done = carry
        u, v = jax.random.uniform(jax.random.fold_in(key, attempt), (2, *mean.shape))
        u, v = u - 0.5, as_float(jnp.maximum(v, jnp.finfo(v.dtype).tiny))
        edge = 0.5 - jnp.abs(u)
        proposed = center + jnp.floor((2 * a / edge + b) * u + offset)
        sure = (edge >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
        inside = (proposed >= 0) & ((edge >= 0.013) | (v <= edge))
        chance = jnp.log(v * inverse_alpha / (a / (edge * edge) + b))
        good = sure | (inside & (chance <= _log_mass(jnp.maximum(proposed, 0.0), mean)))
        return attempt + 1, jnp.where(done, k, proposed), done | good

    begin = (jnp.ones((), jnp.int32), jnp.zeros_like(mean), accepted)
    return jax.lax.while_loop(lambda carry: jnp.any(~carry[2]), body, begin)[1]


def _log_mass(k: Array, mean: Array) -> Array:
    """Return the log probability of k, without cancellation of large terms; accurate to 1e-10 for k from 10 on."""
    x = k + 1
    scale = 0.5 * jnp.log((x / mean) / (2 * math.pi * mean))
    return scale - x * x_minus_log1p((mean - x) / x) - stirling(x)


def _walk(
    uniform: Array,
    start: Array,
    mass: Array,
    above: Callable[[Array, Array], Array],
    below: Callable[[Array, Array], Array],
) -> Array:
    """Return draws from a unimodal distribution on the integers, as floats."""
    least = jnp.finfo(mass.dtype).eps / 4  # smaller probabilities are below the resolution of `uniform`

    def body(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        k, done, left, up, down, high, low = carry
        high, low = above(high, up), below(low, down)
        up, down = up + 1, down - 1
        k = jnp.where(done, k, jnp.where(left < high, up, jnp.where(left < high + low, down, start)))
        done = done | (left < high + low) | (high + low < least)
        return k, done, left - high - low, up, down, high, low

    begin = (start, uniform < mass, uniform - mass, start, start, mass, mass)
    return jax.lax.while_loop(lambda carry: jnp.any(~carry[1]), body, begin)[0]
