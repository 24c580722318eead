"""Quantiles of the binomial and the hypergeometric distribution, elementwise and in a fixed number of operations.

Of a small variance, probabilities relative to a first one are multiplied and added over a window of WINDOW numbers that
leaves out less than 1e-12 of the distribution. Of a large one, the expansion of Cornish and Fisher with four cumulants
and Sheppard's corrections is used; its distribution is right up to 1e-5 in total variation.

A `Lattice` has what quantiles of one distribution need. It is far more work to make one than to take a quantile.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.base.numerics import normal_quantile
from jaxbandit.base.types import Array

WINDOW = 64
LARGE = 14.0  # variance from which on the expansion is used; of a smaller one the window has 8 standard deviations


class Lattice(NamedTuple):
    """Distributions on whole numbers, each array float[...] with the same shape but for `sums`."""

    low: Array
    high: Array
    start: Array  # first number of the window
    sums: Array  # float[WINDOW, ...], sums of probabilities from there on, relative to the first
    mean: Array
    deviation: Array
    skew: Array  # standardized third and fourth cumulants
    excess: Array
    large: Array  # 1 where the expansion is used, else 0


def binomial(n: Array, p: Array) -> Lattice:
    """Return Binomial(n, p).

    Args:
      n: number of trials, whole, float[...] >= 0.
      p: probability of success, float[...] in [0, 1).
    """
    q = 1 - p
    spread = n * p * q

    def ratio(k: Array) -> Array:
        return (n - k) * p / ((k + 1) * q)

    return _lattice(jnp.zeros_like(n), n, n * p, spread, (q - p) * spread, (1 - 6 * p * q) * spread, ratio)


def hypergeometric(good: Array, bad: Array, drawn: Array) -> Lattice:
    """Return the distribution of the good ones among `drawn` of good + bad, without replacement.

    Args:
      good: whole, float[...] >= 0.
      bad: whole, float[...] >= 0.
      drawn: whole, float[...] in [0, good + bad].
    """
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
    return _lattice(low, high, drawn * p, spread, third, fourth, ratio)


def quantile(u: Array, law: Lattice) -> Array:
    """Return the smallest k with P(X <= k) >= u for levels u in (0, 1), a whole number in floats."""
    passed = jnp.sum((law.sums < u[None] * law.sums[-1:]).astype(u.dtype), 0)
    exact = law.start + jnp.minimum(passed, WINDOW - 1)
    z = jnp.where(u < 0.5, -1, 1) * normal_quantile(jnp.clip(jnp.minimum(u, 1 - u), 1e-10, 0.5))
    square = z * z
    bent = law.excess * (square - 3) / 24 - law.skew * law.skew * (2 * square - 5) / 36
    bent = z + law.skew * (square - 1) / 6 + z * bent
    expanded = jnp.clip(jnp.ceil(law.mean + law.deviation * bent - 0.5), law.low, law.high)
    return jnp.where(law.large > 0, expanded, exact)


def _lattice(
    low: Array,
    high: Array,
    mean: Array,
    variance: Array,
    third: Array,
    fourth: Array,
    ratio: Callable[[Array], Array],
) -> Lattice:
    """Return a distribution on [low, high] from its cumulants; ratio(k) is the probability of k + 1 over that of k."""
    large = variance >= LARGE
    start = jnp.clip(jnp.floor(mean - 8 * jnp.sqrt(jnp.minimum(variance, LARGE)) - 3), low, high)
    k = start[None] + jnp.arange(WINDOW - 1, dtype=mean.dtype).reshape(-1, *[1] * mean.ndim)
    factors = jnp.where((k < high[None]) & ~large[None], jax.vmap(ratio)(k), 0.0)
    weights = jnp.concatenate([jnp.ones_like(start)[None], jnp.cumprod(factors, 0)])
    wide = jnp.maximum(variance, LARGE) - 1 / 12
    return Lattice(
        low=low,
        high=high,
        start=start,
        sums=jnp.cumsum(weights, 0),
        mean=mean,
        deviation=jnp.sqrt(wide),
        skew=third / wide**1.5,
        excess=(fourth + 1 / 120) / wide**2,
        large=large.astype(mean.dtype),
    )
