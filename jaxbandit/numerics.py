"""Small numerical helpers that trace to few operations and stay finite at the edges of their domain."""

import jax.numpy as jnp
from jax import lax

from jaxbandit.types import Array, Scalar


def as_float(x: Scalar | Array) -> Array:
    """Cast to the default float of the current scope: float32, or float64 inside `jax.enable_x64(True)`."""
    return jnp.asarray(x, dtype=jnp.result_type(float))


def get_at(x: Array, index: Array) -> Array:
    """x[index] for an index known to be in range: no wrap of negatives."""
    return x.at[index].get(mode="promise_in_bounds", wrap_negative_indices=False)


def set_at(x: Array, index: Array, value: Array) -> Array:
    """x with x[index] = value, for an index known to be in range: no wrap of negatives."""
    return x.at[index].set(value, mode="promise_in_bounds", wrap_negative_indices=False)


def argmax(x: Array) -> Array:
    """Lowest index of the largest entry of a vector, int32[] in every scope (jnp.argmax gives int64 under x64)."""
    return lax.argmax(x, 0, jnp.int32)


def exploration_level(round: Array, c: Scalar = 0.0) -> Array:
    """log t + c log log t at round t >= 1, at least 0; log log t counts as 0 for t < 3."""
    t = as_float(round)
    log_t = jnp.log(t)
    log_log_t = jnp.where(t < 3, 0.0, jnp.log(jnp.maximum(log_t, 1.0)))
    return jnp.maximum(log_t + as_float(c) * log_log_t, 0.0)


def xlogx(x: Array) -> Array:
    """X log x for x >= 0, with 0 log 0 = 0."""
    return x * jnp.log(jnp.maximum(x, jnp.finfo(x.dtype).tiny))


def bernoulli_kl(p: Array, q: Array) -> Array:
    """kl(p, q) = p log(p/q) + (1-p) log((1-p)/(1-q)) for p, q in [0, 1]; never negative.

    Written with u = q - p as p h(u/p) + (1-p) h(-u/(1-p)), h(x) = x - log(1+x) >= 0: the first-order
    terms, which cancel for q near p, are gone before anything is rounded.
    """
    floor = jnp.sqrt(jnp.finfo(p.dtype).tiny)  # p h(u/p) tends to u as p tends to 0
    low, high = jnp.maximum(p, floor), jnp.maximum(1 - p, floor)
    return low * x_minus_log1p((q - p) / low) + high * x_minus_log1p((p - q) / high)


def x_minus_log1p(x: Array) -> Array:
    """X - log(1 + x) for x >= -1 with a small relative error also near 0."""
    near = jnp.abs(x) < 0.3
    y = jnp.where(near, x, 0.0)
    r = y / (2 + y)  # log(1 + x) = 2 artanh r and x - 2r = x r
    square = r * r
    tail = jnp.zeros_like(r)
    for k in range(23, 1, -2):
        tail = tail * square + 1 / k
    return jnp.where(near, r * (y - 2 * square * tail), jnp.maximum(x - jnp.log1p(x), 0.0))
