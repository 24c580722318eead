"""Means of Gaussian samples of unknown variance: confidence sequences, pair statistics and their thresholds.

A sample is described by its size n, its mean and its variance v with divisor n. R = (mean - mu)^2 / v is bounded for
all n simultaneously, even if other observations decide when the sample is continued, by a martingale (Lai 1976; Wang
and Ramdas 2023); docs/mathematics.md has the proof, also of the one-sided version.
"""

from typing import Any

import jax.numpy as jnp
from jax import lax

from jaxbandit.support.numerics import as_float, normal_of_words
from jaxbandit.support.types import Array, Scalar
from jaxbandit.theory.solvers import deviations
from jaxbandit.theory.solvers.beta import beta_shape, logit_at

_HALVINGS = 40  # bisections around a stationary point, where half the digits suffice because the statistic is flat
_ROUNDINGS = 16  # rounding errors allowed in a reward, before those of the sum
_LARGEST = 1e24  # largest variance relative to the squared difference of means; there the statistic is 0 to all digits


def resolution(squares: Any, size: Any) -> Any:
    """Return the resolution of rewards of that size, elementwise: rounding may have changed each by half of it.

    With a resolution h, a bound is mean + h + (sd + h) sqrt(R). It is 0 if the rewards, or differences, are exactly
    equal, which needs `squares` of deviations from a first reward. `size` is the largest modulus, or for a difference
    the sum of two.
    """
    xp = deviations.library(squares)
    h = _ROUNDINGS * xp.finfo(squares.dtype).eps * size
    vanishes = (h > 0) & (h * h == 0)  # so may the squares of deviations that are not 0
    return xp.where(squares > 0, h, xp.where(vanishes, xp.inf, 0.0))


def varies(squares: Any, n: Any, size: Any) -> Any:
    """Return whether squared deviations add up to more than what rounding leaves for n equal rewards of that size.

    If they do not, the variance counts as 0. This is for means from sums of rewards, which have errors of up to n
    rounding errors; with deviations from a first reward take `resolution`.
    """
    return squares > n * ((_ROUNDINGS + n) * jnp.finfo(squares.dtype).eps * size) ** 2


def default_c2(log_alpha: Any) -> Any:
    """The prior's precision c2 for which M bounds R most tightly near n = 20, for a level alpha given by its log."""
    return 20 / deviations.rise(-2 * log_alpha)


def one_sided(n: Any, log_alpha: Any, c2: Any) -> Any:
    """The log of the level at which `squared_radius` bounds one side with probability alpha; about log(2 alpha)."""
    xp = deviations.library(n)
    s = xp.sqrt(c2 / (n + c2))
    return xp.log(2.0) + log_alpha - xp.log1p(xp.exp(log_alpha) * s)


def squared_radius(n: Any, log_alpha: Any, c2: Any, information: Any = None) -> Any:
    """The largest R with M_n <= 1/alpha, or inf: mean and mu differ by at most sqrt(v R) for all n at level alpha.

    A sample of one has no variance, and its R is inf. `c2` is the prior's precision. `information` is the variance of
    one number over that of the mean, which is n if numbers are independent, and more without replacement.
    """
    xp = deviations.library(n)
    i = n if information is None else information
    weight = -xp.expm1((2 * log_alpha + xp.log(c2 / (i + c2))) / n) * (i + c2)
    bounded = (weight < i) & (n >= 2)
    ratio = xp.where(bounded, weight / xp.where(bounded, i - weight, 1.0), xp.inf)
    return ratio if information is None else ratio * (n / information)


def tbox(n: Array, log_alpha: Array, c2: Array) -> Array:
    """Return G(n) = (n/2) log(1 + R) with R of `squared_radius`, an arm's part of a threshold for `exact_statistic`.

    With log_alpha = log(delta/K), P(exists t, a: Z_ba > G(n_b) + G(n_a) although mu_b <= mu_a) <= delta.
    """
    return n / 2 * jnp.log1p(squared_radius(n, log_alpha, c2))


def evbox(n: Array, num_arms: int, delta: Scalar) -> Array:
    """An arm's part of a threshold for `plug_in_statistic`, from separate boxes for mean and variance; very loose.

    Source: Jourdan, Degenne and Kaufmann (2023), Dealing with unknown variances in best-arm identification, ALT.
    """
    delta = as_float(delta)
    level = deviations.LOG_2_ZETA_2 + jnp.log(num_arms / delta)
    e = -1 / jnp.log(delta)
    many = jnp.maximum(n, 2.0)
    upper = deviations.h_inverse(5 + 2 * level + 4 * jnp.log1p(jnp.log(many) / 4))
    slices = jnp.log1p(jnp.log(many - 1) / jnp.log1p(e))
    lower = deviations.h0_inverse(1 + 2 * (1 + e) / (many - 1) * (level + 2 * slices))
    return jnp.where(n >= 2, many / (2 * (many - 1)) * upper / lower, jnp.inf)


def posterior_draw(words: Array, n: Array, mean: Array, variance: Array) -> Array:
    """Return draws of true means from their posterior under the prior 1/sigma, mean + sqrt(v/(n - 1)) T, elementwise.

    T has Student's t distribution with n - 1 degrees of freedom and increases in one normal, from random bits
    uint32[...]. The error is 1e-6 in total variation for n >= 3, and 6e-5 for n = 2. For n < 2 or v = 0 the mean is
    returned.
    """
    freedom = jnp.maximum(n - 1, 1.0)
    logit = logit_at(normal_of_words(words), beta_shape(freedom / 2, freedom / 2))
    return mean + jnp.sqrt(jnp.where(n > 1, variance, 0.0)) * jnp.sinh(logit / 2)


def plug_in_statistic(mean_a: Array, var_a: Array, n_a: Array, mean_b: Array, var_b: Array, n_b: Array) -> Array:
    """Return Z_ab = D^2 / (2 (v_a/n_a + v_b/n_b)) for D = mean_a - mean_b > 0, else 0; also 0 if a variance is 0."""
    difference = jnp.maximum(mean_a - mean_b, 0.0)
    known = (var_a > 0) & (var_b > 0)
    spread = jnp.where(known, var_a / n_a + var_b / n_b, 1.0)
    return jnp.where(known, difference * difference / (2 * spread), 0.0)


def exact_statistic(mean_a: Array, var_a: Array, n_a: Array, mean_b: Array, var_b: Array, n_b: Array) -> Array:
    """Return Z_ab, the generalized likelihood ratio of mu_a > mu_b for two Gaussian samples of unknown variances.

    Z_ab = min over x of n_a/2 log(1 + (mean_a - x)^2/v_a) + n_b/2 log(1 + (x - mean_b)^2/v_b), and 0 if mean_a <=
    mean_b or a variance is 0.

    Source: Jourdan, Degenne and Kaufmann (2023), Dealing with unknown variances in best-arm identification, ALT.
    """
    apart = (mean_a > mean_b) & (var_a > 0) & (var_b > 0)
    square = jnp.where(apart, mean_a - mean_b, 1.0) ** 2
    a = jnp.minimum(jnp.where(apart, var_a, 1.0) / square, _LARGEST)  # x = mean_b + y (mean_a - mean_b), y in [0, 1]
    b = jnp.minimum(jnp.where(apart, var_b, 1.0) / square, _LARGEST)
    share_a = n_a / (n_a + n_b)
    share_b = 1 - share_a

    def slope(y: Array) -> Array:
        """Return the derivative divided by the positive (v_a + (1 - y)^2) (v_b + y^2), up to a constant factor."""
        return share_a * (y - 1) * (b + y * y) + share_b * y * (a + (1 - y) ** 2)

    # Its derivative is 3 y^2 - 2 linear y + constant.
    linear, constant = share_a + 2 * share_b, share_a * b + share_b * (a + 1)
    root = jnp.sqrt(jnp.maximum(linear * linear - 3 * constant, 0.0))
    bends = linear * linear > 3 * constant
    ends = jnp.where(bends, jnp.clip((linear - root) / 3, 0.0, 1.0), 1.0)  # end of the left bracket
    starts = jnp.where(bends, jnp.clip((linear + root) / 3, 0.0, 1.0), 0.0)  # start of the right bracket

    def halve(_: int, bracket: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bracket
        middle = (low + high) / 2
        below = slope(middle) < 0
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    def least(low: Array, high: Array) -> Array:
        low, high = lax.fori_loop(0, _HALVINGS, halve, (low, high))
        y = (low + high) / 2
        return n_a / 2 * jnp.log1p((1 - y) ** 2 / a) + n_b / 2 * jnp.log1p(y * y / b)

    best = jnp.minimum(least(jnp.zeros_like(ends), ends), least(starts, jnp.ones_like(starts)))
    return jnp.where(apart, best, 0.0)
