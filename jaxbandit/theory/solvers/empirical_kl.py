"""The largest mean in a KL ball around an empirical distribution on [0, 1]: Liu et al. (2018), Appendix D.

The solutions (89) and (90) of Lemma 10 are both the minimum over lam >= 1 of the dual lam - exp(sum_i p_i log(lam -
a_i) - delta).
"""

import math

import jax
import jax.numpy as jnp

from jaxbandit.support.numerics import x_minus_log1p
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers.beta import log1p


def empirical_upper(atoms: Array, weights: Array, delta: Array) -> Array:
    """Return the supremum of E_q[X] over distributions q on `atoms` and 1 with KL(weights, q) <= delta.

    Atoms are float[n] in [0, 1], weights float[..., n] summing to 1, and delta float[...] in [0, inf]. The result
    exceeds the supremum by at most rounding and the square of the bisection's error.
    """
    unit = float(jnp.finfo(weights.dtype).eps)
    atoms = jnp.broadcast_to(atoms, weights.shape)
    mean = jnp.sum(weights * atoms, axis=-1)
    delta = jnp.clip(delta, unit**2, 80.0)
    reach = 1 / (2 * jnp.sqrt(2 * delta))  # Lemma 11: the root lies in [1, 1 + reach]

    def spread(excess: Array) -> tuple[Array, Array, Array]:
        """At lam = 1 + excess, return lam - mean, (lam - a_i) / (lam - mean), and minus sum_i p_i log of the latter."""
        distance = jnp.maximum((1 - mean) + excess, unit**2)
        inverse = jnp.expand_dims(1 / distance, -1)
        y = inverse * (jnp.expand_dims(mean, -1) - atoms)
        ratio = inverse * ((1 - atoms) + jnp.expand_dims(excess, -1))  # 1 + y, exact where that cancels
        terms = jnp.where(y > -0.5, x_minus_log1p(jnp.maximum(y, -0.5)), y - jnp.log(ratio))  # sum_i p_i y_i = 0
        return distance, ratio, jnp.sum(weights * terms, axis=-1, where=weights > 0)

    def halve(low: Array, high: Array) -> tuple[Array, Array]:
        middle = (low + high) / 2
        _, ratio, cost = spread(jnp.exp(middle))
        value = log1p(jnp.sum(weights * (1 - ratio) ** 2 / ratio, axis=-1)) - cost  # f(lam), decreasing
        right = value > delta
        # The barrier separates the steps. If they were fused, XLA's CPU compiler would recompute a bracket for each of
        # its uses.
        return jax.lax.optimization_barrier((jnp.where(right, middle, low), jnp.where(right, high, middle)))

    top = jnp.log(reach)
    bottom = jnp.full_like(top, 2 * math.log(unit))
    low, high = bottom, jnp.maximum(top, bottom)  # logarithms of lam - 1
    for _ in range(18 if unit > 1e-10 else 32):  # the error of the bound is the square of the bracket's width
        low, high = halve(low, high)

    def bound(excess: Array) -> Array:
        distance, _, cost = spread(excess)
        return mean - distance * jnp.expm1(-(cost + delta))

    best = jnp.minimum(bound(jnp.exp((low + high) / 2)), bound(jnp.zeros_like(mean)))
    return jnp.clip(best, mean, 1.0)
