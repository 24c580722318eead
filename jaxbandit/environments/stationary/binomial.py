"""Binomial draws for batches of pulls: inversion for small variances, else rejection (Hoermann 1993, algorithm BTRS).

The draws are exact up to the rounding of prob and of the probabilities, for counts up to 2^24 in float32, where
`jax.random.binomial` (0.10) does not resolve counts of 10^7 and is 50 times slower when batched.
"""

import math

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from jaxbandit.support.numerics import as_float, x_minus_log1p
from jaxbandit.support.types import Array, Key

_FEW = 60.0  # up to this mean the inversion starts from 0, where (1 - p)^n > 1e-36; beyond it, from the mode
_STEPS = 4  # steps of the inversion between two checks whether all draws have ended
_WIDE = 400.0  # from this variance on rejection is faster, since the inversion walks over four standard deviations


def binomial(key: Key, count: Array, prob: Array) -> Array:
    """Draw Binomial(count, prob) as whole numbers in a float array."""
    n, p = as_float(count), jnp.minimum(prob, 1 - prob)
    successes = _successes(key, n, p)
    return jnp.where(prob <= 0.5, successes, n - successes)


@custom_vmap
def _successes(key: Key, n: Array, p: Array) -> Array:
    """Draw Binomial(n, p), p <= 1/2."""
    return _of_many(key[None], n[None], p[None])[0]


@_successes.def_vmap
def _(size: int, batched: list[bool], *operands: Array) -> tuple[Array, bool]:
    every = (x if flag else jnp.broadcast_to(x, (size, *x.shape)) for x, flag in zip(operands, batched, strict=True))
    return _of_many(*every), True


def _of_many(keys: Key, n: Array, p: Array) -> Array:
    """Draw for many keys at once, so that work that none needs is skipped; each from its own numbers alone."""
    shape = n.shape
    n, p = (x.reshape(shape[0], -1).T for x in (n, p))
    few = n * p < _FEW

    def uniform(number: int) -> Array:  # called within each branch, as storing an operand of a branch costs more
        return jax.vmap(lambda key: jax.random.uniform(jax.random.fold_in(key, number), (len(n),)), 0, -1)(keys)

    def harder(near: Array) -> Array:
        wide = n * p * (1 - p) >= _WIDE
        middle = ~few & ~wide
        around = _from_mode(uniform(1), jnp.where(middle, n, 2 * _FEW), jnp.where(middle, p, 0.5), ~middle)

        def rejected() -> Array:
            return _rejection(keys, jnp.where(wide, n, 4 * _WIDE), jnp.where(wide, p, 0.5), ~wide)

        far = jax.lax.cond(jnp.any(wide), rejected, lambda: jnp.zeros_like(n))
        return jnp.where(few, near, jnp.where(wide, far, around))

    near = _from_none(uniform(0), jnp.where(few, n, 0.0), p)
    return jax.lax.cond(jnp.all(few), lambda x: x, harder, near).T.reshape(shape)


def _from_none(uniform: Array, n: Array, p: Array) -> Array:
    """Invert by walking up from 0, subtracting probabilities from `uniform`; for a small n p and p <= 1/2."""
    least = jnp.finfo(p.dtype).eps / 4  # probabilities smaller than this are below the resolution of `uniform`
    odds, mean = p / (1 - p), n * p
    mass = jnp.exp(n * jnp.log1p(-p))

    def body(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        step, k, left, mass = carry  # left >= 0: more than `step` successes
        for _ in range(_STEPS):
            mass = mass * odds * ((n - step) * (1 / (step + 1)))
            k = k + (left >= 0).astype(k.dtype)
            left = left - mass
            step = step + 1
        return step, k, jnp.where((mass < least) & (step > mean), -1.0, left), mass

    begin = (jnp.zeros((), p.dtype), jnp.zeros_like(n), uniform - mass, mass)
    return jax.lax.while_loop(lambda carry: jnp.any(carry[2] >= 0), body, begin)[1]


def _from_mode(uniform: Array, n: Array, p: Array, done: Array) -> Array:
    """Invert by walking up and down from the mode; the result is arbitrary where `done` is True."""
    least = jnp.finfo(p.dtype).eps / 4
    odds, inverse_odds = p / (1 - p), (1 - p) / jnp.maximum(p, jnp.finfo(p.dtype).tiny)
    start = jnp.floor((n + 1) * p)
    mass = jnp.exp(_log_mass(start, n, p))

    def body(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        step, k, done, left, above, below = carry  # `step` away from the mode
        for _ in range(_STEPS // 2):
            up, down = start + step, start - step
            above = above * odds * (n - up) / (up + 1)
            below = below * inverse_odds * down / (n - down + 1)
            step = step + 1
            place = jnp.where(left < above, start + step, jnp.where(left < above + below, start - step, start))
            k = jnp.where(done, k, place)
            left = left - above - below
            done = done | (left < 0) | (above + below < least)
        return step, k, done, left, above, below

    begin = (jnp.zeros((), p.dtype), start, done | (uniform < mass), uniform - mass, mass, mass)
    return jax.lax.while_loop(lambda carry: jnp.any(~carry[2]), body, begin)[1]


def _rejection(keys: Key, n: Array, p: Array, accepted: Array) -> Array:
    """Draw by Hoermann's BTRS, for n p >= 10 and p <= 1/2: two uniforms per attempt, six of seven attempts succeed."""
    deviation = jnp.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * deviation
    center = jnp.floor(n * p)  # added last, because in float32 n p + 1/2 may have no digits for a fraction
    offset = n * p - center + 0.5
    top = _log_mass(jnp.floor((n + 1) * p), n, p)

    def body(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        attempt, k, done = carry
        draw = jax.vmap(lambda key: jax.random.uniform(jax.random.fold_in(key, attempt), (2, len(n))), 0, -1)
        u, v = draw(keys)
        u = u - 0.5
        edge = 0.5 - jnp.abs(u)
        proposed = center + jnp.floor((2 * a / edge + b) * u + offset)
        inside = (proposed >= 0) & (proposed <= n)
        sure = (edge >= 0.07) & (v <= 0.92 - 4.2 / b)
        ratio = _log_mass(jnp.clip(proposed, 0.0, n), n, p) - top
        good = inside & (sure | (jnp.log(v * alpha / (a / (edge * edge) + b)) <= ratio))
        return attempt + 1, jnp.where(done, k, proposed), done | good

    begin = (jnp.int32(2), jnp.zeros_like(p), accepted)  # the inversions use the numbers below
    return jax.lax.while_loop(lambda carry: jnp.any(~carry[2]), body, begin)[1]


def _log_mass(k: Array, n: Array, p: Array) -> Array:
    """Return the log probability of k without cancellation; accurate to 1e-10 for k and n - k from 10 on."""
    x, y, total = k + 1, n - k + 1, n + 1
    a, b = total * p, total * (1 - p)
    entropy = x * x_minus_log1p((a - x) / x) + y * x_minus_log1p((b - y) / y)
    scale = 0.5 * jnp.log((x / a) * (y / b) / (2 * math.pi * total * p * (1 - p)))
    return scale - entropy + stirling(total) - stirling(x) - stirling(y)


def stirling(x: Array) -> Array:
    """Return log (x - 1)! - (x - 1/2) log x + x - log(2 pi) / 2 by its asymptotic series."""
    square = x * x
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / x
