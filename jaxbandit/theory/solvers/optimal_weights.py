"""The optimal proportions of pulls for identifying the best of unstructured arms: Garivier and Kaufmann (2016).

They are solved by Newton's method and certified by a mixture of alternatives: see docs/mathematics.md.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from jaxbandit.support.numerics import argmax, as_float, get_at
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers.families import Family

STEPS = 8  # 6 suffice except for exponential rewards whose means differ by many powers of ten
_CLOSE = 100.0  # largest factor by which a step changes a proportion


class Weights(NamedTuple):
    """The optimal proportions of pulls, with their certificate."""

    weights: Array  # float[num_arms], on the simplex; uniform over the best arms if there are several
    time: Array  # float[], T*, the pulls per unit of log(1/delta); inf if there are several best arms
    # float[], 1 - r/R, how far rates that should be equal differ: r is the smallest rate at which these proportions
    # distinguish the best arm from another, and R the largest information per pull of any arm under some mixture of
    # alternatives. r <= 1/T* <= R, so the time is within the factor 1 - spread of the optimum, whatever the solver did.
    spread: Array


def optimal_weights(family: Family, means: Array) -> Weights:
    """Return w* and T* for arms with these means, float[num_arms], accurate to a few rounding errors.

    Means are kept 1e-6 from the ends of the range of the family.

    Source: Garivier and Kaufmann (2016), Optimal best arm identification with fixed confidence, COLT, Theorem 5.
    """
    if family.name == "gaussian":
        return gaussian_weights(means, jnp.full_like(means, as_float(family.sigma) ** 2))
    means = family.clip(means)
    means = jnp.maximum(means, 4 * jnp.finfo(means.dtype).eps * jnp.max(means))  # smaller is rounding
    gap = jnp.max(means) - means
    best = jnp.broadcast_to(jnp.max(means), means.shape)
    far = family.apart(best, -gap)
    other = _is_worse(far)
    scale = _least(far, other)

    def evaluate(z: Array) -> tuple[Array, Array, Array]:
        """Return d(mu_1, m_k) and d(mu_k, m_k) divided by the scale, and m_k - mu_k, at x_k = 1 / z_k."""
        up = gap * (z / (1 + z))
        d1, dk = family.apart(best, up - gap) / scale, family.apart(means, up) / scale
        return jnp.where(other, d1, 1.0), jnp.where(other, dk, 1.0), up

    def step(z: Array) -> Array:
        d1, dk, up = evaluate(z)
        x = 1 / z
        level = 1 / (d1 + x * dk)
        slope = (x * level) ** 2 * dk  # d(1 / g_k) / dz_k
        # The derivative of d in its second argument is the difference of means over the variance at mean m_k.
        ratio = up * ((gap - up) * dk + d1 * up) / (dk * dk * (1 + x) * scale * family.variance(means + up))
        total = jnp.sum(jnp.where(other, d1 / dk, 0.0))
        root = lax.rsqrt(total)
        pull = jnp.where(other, root / total / 2 * x * x * ratio, 0.0) / slope  # d(F^(-1/2)) / d(1 / g_k)
        tau = (1 - root + jnp.sum(pull * level)) / jnp.sum(pull)
        moved = jnp.clip(z + (tau - level) / slope, z / _CLOSE, z * _CLOSE)
        return jnp.where(jnp.isnan(moved), z, moved)  # float32 overflows where means differ by many powers of ten

    start = jnp.where(other, 2 * far / scale - 1, 1.0)
    z = start
    for _ in range(STEPS):
        z = step(z)
    d1, dk, _ = evaluate(z)
    return _certify(other, 1 / z, d1, dk, scale)


def gaussian_weights(means: Array, variances: Array) -> Weights:
    """Return w* and T* for Gaussian arms with these means and known variances, accurate to a few rounding errors.

    Source: As `optimal_weights`; for unequal variances Jourdan, Degenne and Kaufmann (2023), Dealing with unknown
    variances in best-arm identification, ALT.
    """
    own = get_at(variances, argmax(means))
    gap = jnp.max(means) - means
    far = gap * gap / jnp.sqrt(own * variances)
    other = _is_worse(far)
    scale = _least(far, other)
    a, b = jnp.where(other, far / scale, 1.0), jnp.sqrt(own / variances)

    def inverse(tau: Array) -> Array:
        return jnp.where(other, 1 / (a * tau - b), 0.0)

    def step(tau: Array) -> Array:
        p = inverse(tau)
        square = jnp.sum(p * p)
        return tau + (jnp.sqrt(square) - 1) * square / jnp.sum(p * p * p * a)

    start = jnp.max(jnp.where(other, (1 + b) / a, 0.0))
    tau = start
    for _ in range(STEPS):
        tau = step(tau)
    p = inverse(tau)
    x = jnp.where(other, p / b, 1.0)
    share = x * b / (x * b + 1 / b)  # fraction of the gap between the best mean and m_k
    d1 = jnp.where(other, a * share * share / b, 1.0)
    dk = jnp.where(other, a * (1 - share) ** 2 * b, 1.0)
    return _certify(other, x, d1, dk, scale / 2)


def _is_worse(far: Array) -> Array:
    """Return which arms are not best, because their divergence from the best is not negligible."""
    return far > jnp.finfo(far.dtype).tiny / jnp.finfo(far.dtype).eps


def _least(far: Array, other: Array) -> Array:
    return jnp.where(jnp.any(other), jnp.min(jnp.where(other, far, jnp.inf)), 1.0)


def _certify(other: Array, x: Array, d1: Array, dk: Array, scale: Array) -> Weights:
    """Return Weights from the proportions relative to the best arm, and the scaled divergences from the means m_k."""
    shares = jnp.where(other, x, 1.0)  # 1 for the best arm, or for several of them
    unique = jnp.sum(~other, dtype=jnp.int32) == 1
    weights = jnp.where(unique, shares, as_float(~other))
    weights = weights / jnp.sum(weights)
    own = jnp.max(jnp.where(other, 0.0, weights))
    least = own * jnp.min(jnp.where(other, d1 + x * dk, jnp.inf))
    # Nature mixes the alternatives in which the means of arm k and of the best arm are m_k, with weights proportional
    # to 1 / d(mu_k, m_k). A pull of any other arm then yields the information 1 / sum_k 1 / d(mu_k, m_k), and a pull of
    # the best arm F times that.
    inverse = jnp.where(other, 1 / dk, 0.0)
    most = jnp.maximum(jnp.sum(jnp.where(other, d1 * inverse, 0.0)), 1.0) / jnp.sum(inverse)
    return Weights(
        weights=weights,
        time=jnp.where(unique, 1 / (least * scale), jnp.inf),
        spread=jnp.where(unique, jnp.abs(1 - least / most), 0.0),
    )
