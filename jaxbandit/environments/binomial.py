"""Binomial draws for blocks of pulls: inversion for a small variance, else rejection (Hoermann 1993, algorithm BTRS).

Exact in law up to the rounding of prob and of the masses; counts up to 2^24 in float32. `jax.random.binomial` (0.10)
clamps the argument of its Stirling series, cannot resolve counts of 10^7 in float32, and is 50 times slower batched.
"""

import math

import jax
import jax.numpy as jnp

from jaxbandit.environments.inversion import walk
from jaxbandit.numerics import as_float, x_minus_log1p
from jaxbandit.types import Array, Key

_FEW = 10.0  # expected successes up to which the inversion starts from none, beyond from the mode
_WIDE = 400.0  # variance from which the rejection is faster: the inversion walks over four standard deviations


def binomial(key: Key, count: Array, prob: Array) -> Array:
    """Draw Binomial(count, prob): whole numbers, as floats.

    Args:
      key: a key, used up.
      count: integers >= 0, of any shape.
      prob: float in [0, 1], of count's shape.
    """
    n, p = as_float(count), jnp.minimum(prob, 1 - prob)
    wide = n * p * (1 - p) >= _WIDE
    near = _inversion(jax.random.uniform(jax.random.fold_in(key, 0), n.shape), jnp.where(wide, 0.0, n), p)
    # What is drawn by inversion counts as accepted, at numbers that are safe.
    far = _rejection(key, jnp.where(wide, n, 4 * _WIDE), jnp.where(wide, p, 0.5), ~wide)
    successes = jnp.where(wide, far, near)
    return jnp.where(prob <= 0.5, successes, n - successes)


def _inversion(uniform: Array, n: Array, p: Array) -> Array:
    """Invert the distribution function from none or from the mode; p <= 1/2."""
    few = n * p < _FEW
    odds, inverse_odds = p / (1 - p), (1 - p) / jnp.maximum(p, jnp.finfo(p.dtype).tiny)
    mode = jnp.floor((n + 1) * p)
    safe_mode, safe_n, safe_p = jnp.where(few, _FEW, mode), jnp.where(few, 2 * _FEW, n), jnp.where(few, 0.5, p)
    start = jnp.where(few, 0.0, mode)
    mass = jnp.where(few, jnp.exp(n * jnp.log1p(-p)), jnp.exp(_log_mass(safe_mode, safe_n, safe_p)))

    def above(mass: Array, k: Array) -> Array:
        return mass * odds * (n - k) / (k + 1)

    def below(mass: Array, k: Array) -> Array:
        return mass * inverse_odds * k / (n - k + 1)

    return walk(uniform, start, mass, above, below)


def _rejection(key: Key, n: Array, p: Array, accepted: Array) -> Array:
    """Hoermann's BTRS, for n p >= 10 and p <= 1/2: two uniforms an attempt, of which six in seven succeed."""
    deviation = jnp.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * deviation
    centre = jnp.floor(n * p)  # added last: in float32 n p + 1/2 has no room for a fraction
    offset = n * p - centre + 0.5
    top = _log_mass(jnp.floor((n + 1) * p), n, p)

    def body(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        attempt, k, done = carry
        u, v = jax.random.uniform(jax.random.fold_in(key, attempt), (2, *n.shape))
        u = u - 0.5
        edge = 0.5 - jnp.abs(u)
        proposed = centre + jnp.floor((2 * a / edge + b) * u + offset)
        inside = (proposed >= 0) & (proposed <= n)
        sure = (edge >= 0.07) & (v <= 0.92 - 4.2 / b)
        ratio = _log_mass(jnp.clip(proposed, 0.0, n), n, p) - top
        good = inside & (sure | (jnp.log(v * alpha / (a / (edge * edge) + b)) <= ratio))
        return attempt + 1, jnp.where(done, k, proposed), done | good

    begin = (jnp.ones((), jnp.int32), jnp.zeros_like(p), accepted)
    return jax.lax.while_loop(lambda carry: jnp.any(~carry[2]), body, begin)[1]


def _log_mass(k: Array, n: Array, p: Array) -> Array:
    """Log of the probability of k, written so that no large terms cancel; right to 1e-10 for k and n - k from 10 on.

    With N = n + 1, x = k + 1 and A = N p: x log(x / A) = x h((A - x) / x) - (A - x), where h(w) = w - log(1 + w);
    likewise with y = N - k and B = N (1 - p). The terms A - x and B - y add up to a constant.
    """
    x, y, total = k + 1, n - k + 1, n + 1
    a, b = total * p, total * (1 - p)
    entropy = x * x_minus_log1p((a - x) / x) + y * x_minus_log1p((b - y) / y)
    scale = 0.5 * jnp.log((x / a) * (y / b) / (2 * math.pi * total * p * (1 - p)))
    return scale - entropy + stirling(total) - stirling(x) - stirling(y)


def stirling(x: Array) -> Array:
    """Log (x - 1)! - (x - 1/2) log x + x - log(2 pi) / 2, by its series."""
    square = x * x
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / x
