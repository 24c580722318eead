"""Kl-dominated semi-distances of Liu, Wang, Buccapatnam and Shroff (2018), Sections 3 and 4, with exact solutions.

P1(d) is to maximize q in [p, 1] subject to d(p, q) <= delta. Each `upper_*` is its closed form, written so that there
is no cancellation for small delta and the result is finite for all p in [0, 1] and delta in [0, inf].
"""

import functools
from collections.abc import Callable, Sequence
from typing import Final

import jax.numpy as jnp

from jaxbandit.support.numerics import bernoulli_kl, xlogx
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers.kl import kl_root, kl_upper


def d_sq(p: Array, q: Array) -> Array:
    """2 (p - q)^2, Pinsker's bound."""
    return 2 * (p - q) ** 2


def d_bq(p: Array, q: Array) -> Array:
    """2 (p - q)^2 + 4/9 (p - q)^4, the biquadratic refinement of Pinsker's bound."""
    square = (p - q) ** 2
    return square * (2 + 4 / 9 * square)


def d_h(p: Array, q: Array) -> Array:
    """(sqrt p - sqrt q)^2 + (sqrt(1-p) - sqrt(1-q))^2, Hellinger; the differences are taken before the roots."""
    tiny = jnp.finfo(p.dtype).tiny
    low = (q - p) / jnp.maximum(jnp.sqrt(p) + jnp.sqrt(q), tiny)
    high = (q - p) / jnp.maximum(jnp.sqrt(1 - p) + jnp.sqrt(1 - q), tiny)
    return low**2 + high**2


def d_lb(p: Array, q: Array) -> Array:
    """p log p + (1-p) log((1-p)/(1-q)): kl without its term -p log q, so that it is tight as q tends to 1."""
    rest = 1 - p
    return xlogx(p) + xlogx(rest) - jnp.where(rest > 0, rest * jnp.log1p(-q), 0.0)


def d_t(p: Array, q: Array) -> Array:
    """2q/(p+1) + p log(p/(p+1)) + log(2/(e(1+p))): kl's tangent at q = (1+p)/2, lowered by log(1+p)."""
    return 2 * q / (p + 1) + _tangent_offset(p)


def upper_sq(p: Array, delta: Array) -> Array:
    """Largest q in [p, 1] with d_sq(p, q) <= delta."""
    return jnp.minimum(p + jnp.sqrt(delta / 2), 1.0)


def upper_bq(p: Array, delta: Array) -> Array:
    """Largest q in [p, 1] with d_bq(p, q) <= delta."""
    delta = jnp.minimum(delta, 4.0)  # d_bq <= 22/9, so q = 1 from there on; this avoids inf / inf
    # sqrt(81/16 + 9 delta/4) - 9/4 multiplied and divided by the sum of the two terms, which avoids cancellation
    return jnp.minimum(p + jnp.sqrt(delta / (1 + jnp.sqrt(1 + 4 / 9 * delta))), 1.0)


def upper_h(p: Array, delta: Array) -> Array:
    """Return the largest q in [p, 1] with d_h(p, q) <= delta, with one square root instead of the paper's three."""
    delta = jnp.minimum(delta, 2.0)  # d_h <= 2
    cosine = 1 - delta / 2
    sine_square = delta * (1 - delta / 4)
    gain = sine_square * (1 - 2 * p) + 2 * cosine * jnp.sqrt(sine_square * (p * (1 - p)))
    return jnp.where(sine_square < 1 - p, jnp.clip(p + gain, p, 1.0), 1.0)


def upper_lb(p: Array, delta: Array) -> Array:
    """Largest q in [p, 1] with d_lb(p, q) <= delta; 1 at p = 1."""
    rest = 1 - p
    return 1 - rest * jnp.exp((xlogx(p) - delta) / jnp.maximum(rest, jnp.finfo(p.dtype).tiny))


def upper_t(p: Array, delta: Array) -> Array:
    """Largest q in [p, 1] with d_t(p, q) <= delta."""
    return jnp.minimum((p + 1) / 2 * (delta - _tangent_offset(p)), 1.0)


def upper_minimum(names: Sequence[str], p: Array, delta: Array) -> Array:
    """Largest q in [p, 1] with max over the named distances of d(p, q) <= delta: UCBoost(D), Section 4."""
    return functools.reduce(jnp.minimum, [UPPER[name](p, delta) for name in names])


def upper_eps(p: Array, delta: Array, eps: Array) -> Array:
    """Return the largest q in [p, 1] with d(p, q) <= delta for every d in D(p) of UCBoost(eps), Section 5.

    D(p) contains d_sq, d_lb and the steps kl(p, q_k) 1{q > q_k} on the grid q_k = 1 - (1+eps)^-k, tau1 <= k <= tau2.
    The binding step is the kl solution rounded up to the grid, so that eps > 0 may be traced (docs/mathematics.md).
    """
    spacing = jnp.log1p(eps)
    low, rest = jnp.maximum(p, 1e-30), jnp.maximum(1 - p, jnp.finfo(p.dtype).tiny)
    # k from -log(1-q), where the grid is even; `tail` is 1 - q
    k = jnp.floor(-jnp.log(kl_root(p, delta).rest) / spacing) + 1
    tail = jnp.exp(-k * spacing)
    # k <= tau2 if and only if q_{k-1} < exp(-eps/p)
    tail = jnp.where(tail * (1 + eps) > 1 - jnp.exp(-eps / low), tail, 0.0)
    tail = jnp.maximum(tail, rest * jnp.exp((xlogx(p) - delta) / rest))
    q = jnp.minimum(1 - tail, upper_sq(p, delta))
    return jnp.where(p < 1, jnp.maximum(q, p), 1.0)


def upper_lb_eps(p: Array, delta: Array, eps: Array) -> Array:
    """Return the largest q in [p, 1] with d_lb^k(p, q) <= delta for all k <= -p log p / eps: Algorithm 4."""
    k = jnp.floor(-p * jnp.log(kl_upper(p, delta)) / eps)
    rest = 1 - p
    return 1 - rest * jnp.exp((xlogx(p) - delta + k * eps) / jnp.maximum(rest, jnp.finfo(p.dtype).tiny))


def _tangent_offset(p: Array) -> Array:
    """P log(p/(p+1)) + log(2/(e(1+p)))."""
    return xlogx(p) - (p + 1) * jnp.log1p(p) + (jnp.log(2.0) - 1)


DISTANCES: Final[dict[str, Callable[[Array, Array], Array]]] = {
    "sq": d_sq,
    "bq": d_bq,
    "h": d_h,
    "lb": d_lb,
    "t": d_t,
    "kl": bernoulli_kl,
}
UPPER: Final[dict[str, Callable[[Array, Array], Array]]] = {
    "sq": upper_sq,
    "bq": upper_bq,
    "h": upper_h,
    "lb": upper_lb,
    "t": upper_t,
    "kl": kl_upper,
}
