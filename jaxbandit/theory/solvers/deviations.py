"""Constants of time-uniform deviation inequalities: Kaufmann and Koolen (2021), with the inverses of h(u) = u - log u.

Elementwise; numbers and NumPy arrays by NumPy in float64, and JAX arrays by JAX in their own dtype.
"""

import math
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.support.numerics import x_minus_log1p
from jaxbandit.support.types import ArrayLike

LOG_2_ZETA_2 = math.log(math.pi**2 / 3)  # log(2 zeta(2))
STEPS = 7  # Newton steps; from these starting points the last one changes nothing even in float64
_LOG_RATIO = math.log(1.5)  # log of the largest ratio of a slice
_KINK = 1 / _LOG_RATIO + math.log(_LOG_RATIO)  # h(1 / log 1.5), where the optimal ratio is the largest
# Coefficients of (s - 1) zeta(s) in powers of s - 1, from the highest: (-1)^n / n! times Stieltjes's constants
# number n = 14 to 0, and 1. The next one is 2e-16.
_LAURENT = (
    *(-2.3997862217709992e-15, 4.4104247417577534e-15, 3.4921159366720319e-13, -6.7686898635136967e-12),
    *(5.6584219276087080e-11, 9.4782777827623590e-11, -8.7332181002737974e-09, 1.0462094584479187e-07),
    *(-3.3162409087527724e-07, -6.6110318108421892e-06, 9.6890419394470836e-05, -3.4230573671722431e-04),
    *(-4.8451815964361592e-03, 7.2815845483676725e-02, 0.57721566490153286, 1.0),
)
_POINTS, _ROUNDS = 33, 6  # each round of the grid search shrinks the interval by a factor of 16


def h_inverse(x: ArrayLike) -> ArrayLike:
    """Return u >= 1 with u - log u = x, for x >= 1; it is -W_{-1}(-exp(-x))."""
    return 1 + rise(_as_floats(x) - 1)


def h0_inverse(x: ArrayLike) -> ArrayLike:
    """Return u in (0, 1] with u - log u = x, for x >= 1; it is -W_0(-exp(-x))."""
    xp = library(x)
    return xp.exp(log_fall(_as_floats(x) - 1))


def rise(level: ArrayLike) -> ArrayLike:
    """Return v >= 0 with v - log(1 + v) = level, for level >= 0; in JAX as accurate as the level, however small."""
    level = _as_floats(level)
    xp = library(level)
    positive = level > 0
    safe = xp.where(positive, level, 1.0)
    v = xp.where(safe < 0.5, xp.sqrt(2 * safe) + 2 * safe / 3, safe + xp.log1p(safe))
    for _ in range(STEPS):
        v = v - (_excess(v) - safe) * (1 + v) / v
    return xp.where(positive, v, 0.0)


def log_fall(level: ArrayLike) -> ArrayLike:
    """Return s <= 0 with exp(s) - 1 - s = level, for level >= 0; 1 + v = exp(s) is the other root of `rise`."""
    level = _as_floats(level)
    xp = library(level)
    positive = level > 0
    safe = xp.where(positive, level, 1.0)
    s = -(xp.sqrt(2 * safe) + safe)
    for _ in range(STEPS):
        v = xp.expm1(s)
        excess = xp.where(v > -0.5, _excess(xp.maximum(v, -0.5)), v - s)  # 1 + v loses its digits if -s is large
        s = s - (excess - safe) / v
    return xp.where(positive, s, 0.0)


def h_tilde(x: ArrayLike) -> ArrayLike:
    """Return the minimum of y (x - log log y) over y in (1, 3/2], for x >= 0, from a union over slices of ratio y."""
    x = _as_floats(x)
    xp = library(x)
    u = h_inverse(xp.maximum(x, _KINK))
    return xp.where(x >= _KINK, xp.exp(1 / u) * u, 1.5 * (x - math.log(_LOG_RATIO)))


def T(x: ArrayLike) -> ArrayLike:
    """Return T(x) for x >= 0: with probability 1 - exp(-x), the sum of an arm's deviations stays below it at all times.

    Source: Kaufmann and Koolen (2021), Mixture martingales revisited, JMLR, equation (13), with z = 3/2 and s = 2.
    """
    return 2 * h_tilde((h_inverse(1 + _as_floats(x)) + LOG_2_ZETA_2) / 2)


def C_G(x: ArrayLike) -> ArrayLike:
    """Return the minimum of (g(lambda) + x) / lambda over lambda in (1/2, 1), for x >= 0: T for Gaussian rewards.

    Source: Kaufmann and Koolen (2021), Mixture martingales revisited, JMLR, Corollary 10 and the equation of g_G.
    """
    x = _as_floats(x)[..., None]
    xp = library(x)
    steps = np.linspace(0, 1, _POINTS).astype(x.dtype).reshape((1,) * (x.ndim - 1) + (-1,))
    low, high = xp.full_like(x, 0.5 + 1e-6), xp.full_like(x, 1 - 1e-9)
    values = x
    with np.errstate(divide="ignore"):
        for _ in range(_ROUNDS):
            grid = low + (high - low) * steps
            values = (_g(grid) + x) / grid
            best = xp.argmin(values, -1)[..., None]
            low = xp.take_along_axis(grid, xp.maximum(best - 1, 0), -1)
            high = xp.take_along_axis(grid, xp.minimum(best + 1, _POINTS - 1), -1)
    return xp.min(values, -1)


def zeta(s: ArrayLike) -> ArrayLike:
    """Return Riemann's zeta function at s in (1, 2], with an error of a few roundings.

    Source: Abramowitz and Stegun (1964), Handbook of mathematical functions, 23.2.5: its Laurent series at 1.
    """
    xp = library(s)
    return xp.polyval(np.array(_LAURENT, s.dtype), s - 1) / (s - 1)


def _g(weight: ArrayLike) -> ArrayLike:
    """Return the function g_G of the paper at lambda = weight in (1/2, 1)."""
    xp = library(weight)
    twice = 2 * weight
    return twice - twice * xp.log(2 * twice) + xp.log(zeta(twice)) - xp.log1p(-weight) / 2


def _excess(v: ArrayLike) -> ArrayLike:
    """Return v - log(1 + v); in NumPy with an error of one rounding of v, which float64 allows for constants."""
    return x_minus_log1p(v) if isinstance(v, jax.Array) else v - np.log1p(v)


def library(x: ArrayLike) -> ModuleType:
    """Return the module that computes with x: jax.numpy for JAX arrays, traced ones included, and numpy otherwise."""
    return jnp if isinstance(x, jax.Array) else np


def _as_floats(x: ArrayLike) -> ArrayLike:
    return x if isinstance(x, jax.Array) else np.asarray(x, np.float64)
