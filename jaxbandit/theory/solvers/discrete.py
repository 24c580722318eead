"""Quantiles of the binomial and the hypergeometric distribution, elementwise and in a fixed number of operations.

Of a small variance, probabilities are added over a window that leaves out less than 1e-12. Of a large one, the
expansion of Cornish and Fisher is used; its distribution is right up to 1e-5 in total variation.
"""

from collections.abc import Callable

import jax.numpy as jnp

from jaxbandit.support.numerics import normal_quantile
from jaxbandit.support.types import Array

WINDOW = 64
LARGE = 14.0  # variance from which on the expansion is used; of a smaller one the window has 8 standard deviations


def binomial_quantile(u: Array, n: Array, p: Array) -> Array:
    """Return the smallest k with P(X <= k) >= u for X ~ Binomial(n, p), a whole number in floats, for p in [0, 1)."""
    q = 1 - p
    spread = n * p * q

    def ratio(k: Array) -> Array:
        return (n - k) * p / ((k + 1) * q)

    return _quantile(u, jnp.zeros_like(n), n, n * p, spread, (q - p) * spread, (1 - 6 * p * q) * spread, ratio)


def hypergeometric_quantile(u: Array, good: Array, bad: Array, drawn: Array) -> Array:
    """Return the same for the number X of good ones among `drawn` of good + bad, without replacement, in floats."""
    total = jnp.maximum(good + bad, 2.0)
    p, f, rest = good / total, drawn / total, total - drawn
    one, two, three = total - 1, jnp.maximum(total - 2, 1.0), jnp.maximum(total - 3, 1.0)
    spread = drawn * p * (1 - p) * (rest / one)
    third = spread * (1 - 2 * p) * (1 - 2 * f) * (total / two)
    # Of total (total + 1) - 6 drawn rest is 1 - 6 f (1 - f) all that counts where the expansion is used.
    fourth = spread * ((1 - 6 * f * (1 - f)) * (1 - 6 * p * (1 - p)) - 6 * p * (1 - p) * f * (1 - f)) * (total / three)

    def ratio(k: Array) -> Array:
        return (good - k) * (drawn - k) / ((k + 1) * jnp.maximum(bad - drawn + k + 1, 1.0))

    low, high = jnp.maximum(drawn - bad, 0.0), jnp.minimum(drawn, good)
    return _quantile(u, low, high, drawn * p, spread, third, fourth, ratio)


def _quantile(
    u: Array,
    low: Array,
    high: Array,
    mean: Array,
    variance: Array,
    third: Array,
    fourth: Array,
    ratio: Callable[[Array], Array],
) -> Array:
    """Return the quantile on [low, high] from the cumulants; ratio(k) is the probability of k + 1 over that of k."""
    large = variance >= LARGE
    start = jnp.clip(jnp.floor(mean - 8 * jnp.sqrt(jnp.minimum(variance, LARGE)) - 3), low, high)
    weight = jnp.ones_like(start)
    sums = [weight]
    # Written out, because a CPU then keeps all sums in registers; cumprod and cumsum take thirty times as long.
    for k in range(WINDOW - 1):
        number = start + k
        weight = weight * jnp.where((number < high) & ~large, ratio(number), 0.0)
        sums.append(sums[-1] + weight)
    level = u * sums[-1]
    exact = start + sum((x < level).astype(u.dtype) for x in sums[:-1])
    wide = jnp.maximum(variance, LARGE) - 1 / 12
    skew, excess = third / wide**1.5, (fourth + 1 / 120) / wide**2
    z = jnp.where(u < 0.5, -1, 1) * normal_quantile(jnp.clip(jnp.minimum(u, 1 - u), 1e-10, 0.5))
    square = z * z
    bent = z + skew * (square - 1) / 6 + z * (excess * (square - 3) / 24 - skew * skew * (2 * square - 5) / 36)
    return jnp.where(large, jnp.clip(jnp.ceil(mean + jnp.sqrt(wide) * bent - 0.5), low, high), exact)
