"""Theory of linear pure exploration: complexity constants, and a lower and an upper bound on the number of samples.

Xu, Honda and Sugiyama (2017), equations 13 to 15, Theorems 2 and 3; Soare, Lazaric and Munos (2014); Reda, Kaufmann and
Delahaye-Duriez (2021), Table 2. Difference: rho is the square of the l1 norm of w*, as (21), Lemma 1 and the example
need; equation 15 prints the norm. Concrete numbers are computed in float64 with w* by HiGHS and returned as NumPy;
traced arrays of one instance in the precision of the scope, with w* by an interior-point method.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jaxbandit.base.arguments import Delta, Epsilon, Features, M, Regularization, Sigma, ThetaNorm, Vector
from jaxbandit.base.calls import checked
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, ArrayLike, PyTree
from jaxbandit.theory.solvers.best_arm import best_arm_design
from jaxbandit.theory.solvers.l1 import l1_table, representations


class Constants(NamedTuple):
    """H of Reda et al. (2021), Table 2: an algorithm with threshold C stops once t > 1 + H C(t)^2, up to K pulls."""

    lucb: Array  # float[]
    ugape: Array  # float[]
    m_lingape_1: Array  # float[], the arm of largest variance pulled, or both
    m_lingape_2: Array  # float[], the optimized rule


class LinearComplexity(NamedTuple):
    """Complexities of best-arm identification.

    oracle <= design <= oracle_sum, and lingape <= 72 oracle_sum at epsilon = 0.
    """

    lingape: Array  # float[], H_epsilon, equation 13
    oracle: Array  # float[], H_oracle = max over i of rho_i / gap_i^2
    oracle_sum: Array  # float[], H'_oracle, the sum over i of the same
    # float[], min over designs of max over i of ||x* - x_i||^2 / gap_i^2 (Soare et al.): T* / (2 sigma^2)
    design: Array


def top_m_gaps(means: Array, m: int) -> Array:
    """Return the gaps float[K] >= 0: mu_k - mu_(m+1) for the m best arms, and mu_(m) - mu_k for the others."""
    ordered = jnp.sort(means)[::-1]
    return jnp.maximum(means - ordered[m], ordered[m - 1] - means)


@checked
def complexity_constants(
    features: Features, means: Vector, *, m: M, epsilon: Epsilon = 0.0, sigma: Sigma = 1.0, table: Array | None = None
) -> Constants:
    """Return the constants of Table 2 as printed.

    sigma^2 appears in those of m-LinGapE only; the others are for sigma = 1. The constant of m-LinGapE with the
    optimized rule contains abs(w*_a), where the proof, with rho as above, gives abs(w*_a) times the l1 norm of w*.

    Args:
      means: float[K], x_a' theta. A tie at the m-th place with epsilon = 0 gives inf.
      table: float[K, K, K], w* of x_i - x_j; None solves for it.
    """
    _check_sizes(features, means)
    return _evaluate(_constants, features, means, _table(features, table), epsilon, sigma, m=m)


@checked
def linear_complexity(
    features: Features, means: Vector, *, epsilon: Epsilon = 0.0, table: Array | None = None
) -> LinearComplexity:
    """Return the complexities of best-arm identification; those of oracles are for epsilon = 0.

    Args:
      means: float[K], x_a' theta. A tie for the best makes those of oracles inf.
      epsilon: in H_epsilon.
      table: float[K, K, K], w* of x_i - x_j; None solves for it.
    """
    _check_sizes(features, means)
    return _evaluate(_linear_complexity, features, means, _table(features, table), epsilon)


@checked
def sample_lower_bound(features: Features, means: Vector, *, delta: Delta, sigma: Sigma = 1.0) -> Array:
    """Return log(1 / (2.4 delta)) T*: no algorithm correct with probability 1 - delta needs fewer pulls on average.

    T* is taken from its certified lower end, so the bound holds whatever the gap of the solver.

    Args:
      means: float[K], x_a' theta.
      delta: allowed error probability; the bound is 0 from 1 / 2.4 on.
      sigma: standard deviation of the Gaussian noise.

    Source: Kaufmann, Cappe and Garivier (2016), On the complexity of best-arm identification in multi-armed bandit
    models, JMLR.
    """
    _check_sizes(features, means)
    return _evaluate(_lower_bound, features, means, delta, sigma)


@checked
def lingape_sample_bound(
    features: Features,
    means: Vector,
    *,
    delta: Delta,
    epsilon: Epsilon = 0.0,
    sigma: Sigma = 1.0,
    regularization: Regularization = 1.0,
    theta_norm: ThetaNorm = 1.0,
    table: Array | None = None,
) -> Array:
    """Return the number of pulls within which LinGapE with the optimized rule stops with probability 1 - delta.

    It is the largest n with n <= H_epsilon C_n^2 + K (equation 32), with the threshold C_n of (3) at the largest
    determinant that n pulls can give (Proposition 3). Difference: C_n contains 1 / delta, as in (3), where Lemma 5 uses
    K^2 / delta.

    Args:
      means: float[K], x_a' theta.
      table: float[K, K, K], w* of x_i - x_j; None solves for it.
    """
    _check_sizes(features, means)
    table = _table(features, table)
    return _evaluate(_sample_bound, features, means, table, epsilon, delta, sigma, regularization, theta_norm)


def _check_sizes(features: ArrayLike, means: ArrayLike) -> None:
    if means.shape[0] != features.shape[0]:
        raise ValueError(f"means has {means.shape[0]} entries, must have one for each of {features.shape[0]} arms")


def _table(features: ArrayLike, table: ArrayLike | None) -> ArrayLike:
    if table is not None:
        return table
    return representations(as_float(features)) if isinstance(features, Tracer) else l1_table(features)


def _evaluate(function: Callable, *arguments: ArrayLike, **static: int) -> PyTree:
    if any(isinstance(a, Tracer) for a in arguments):
        return function(*map(as_float, arguments), **static)
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, function(*map(as_float, arguments), **static))


def _harder(gaps: Array, epsilon: Array) -> Array:
    """Return float[K, K], max(epsilon, (epsilon + gap_i) / 3, (epsilon + gap_j) / 3)."""
    third = jnp.maximum(epsilon, (epsilon + gaps) / 3)
    return jnp.maximum(third[:, None], third[None])


@functools.partial(jax.jit, static_argnames="m")
def _constants(features: Array, means: Array, table: Array, epsilon: Array, sigma: Array, *, m: int) -> Constants:
    gaps = top_m_gaps(means, m)
    harder = _harder(gaps, epsilon)
    shares = jnp.max(jnp.abs(table) / (harder**2)[..., None], (0, 1), where=(table != 0), initial=0.0)
    return Constants(
        2 * jnp.sum(jnp.maximum(epsilon / 2, gaps) ** -2),
        2 * jnp.sum(jnp.maximum(epsilon, (epsilon + gaps) / 2) ** -2),
        4 * sigma**2 * jnp.sum(jnp.diagonal(harder) ** -2),
        sigma**2 * jnp.sum(shares),
    )


def _lingape(means: Array, table: Array, epsilon: Array) -> Array:
    size = jnp.abs(table)
    # p*_k rho = |w_k| ||w||
    pulls = size * (jnp.sum(size, -1) / _harder(top_m_gaps(means, 1), epsilon) ** 2)[..., None]
    return jnp.sum(jnp.max(pulls, (0, 1), where=(table != 0), initial=0.0))


@jax.jit
def _linear_complexity(features: Array, means: Array, table: Array, epsilon: Array) -> LinearComplexity:
    best = jnp.argmax(means)
    others = jnp.arange(means.shape[0], dtype=best.dtype) != best
    gaps = jnp.where(others, means[best] - means, 1.0)
    ratios = jnp.where(others, (jnp.sum(jnp.abs(table[best]), -1) / gaps) ** 2, 0.0)
    design = best_arm_design(features, means).time / 2
    return LinearComplexity(_lingape(means, table, epsilon), jnp.max(ratios), jnp.sum(ratios), design)


@jax.jit
def _lower_bound(features: Array, means: Array, delta: Array, sigma: Array) -> Array:
    return jnp.maximum(-jnp.log(2.4 * delta), 0.0) * best_arm_design(features, means, sigma=sigma).bound


@jax.jit
def _sample_bound(
    features: Array,
    means: Array,
    table: Array,
    epsilon: Array,
    delta: Array,
    sigma: Array,
    regularization: Array,
    theta_norm: Array,
) -> Array:
    complexity = _lingape(means, table, epsilon)
    num_arms, dim = features.shape
    growth = jnp.max(jnp.sum(features**2, -1)) / (regularization * dim)

    def holds(log_n: Array) -> Array:
        """Return whether the right side is at least n; the difference is concave in n and changes sign once."""
        n = jnp.exp(log_n)
        radius = sigma * jnp.sqrt(-2 * jnp.log(delta) + dim * jnp.log1p(n * growth))
        return complexity * (radius + jnp.sqrt(regularization) * theta_norm) ** 2 + num_arms >= n

    def halve(_: int, bracket: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bracket
        middle = (low + high) / 2
        return jnp.where(holds(middle), middle, low), jnp.where(holds(middle), high, middle)

    top = 0.9 * jnp.log(jnp.finfo(means.dtype).max)
    bracket = jax.lax.fori_loop(0, 80, halve, (jnp.zeros_like(top), top))
    return jnp.where(holds(top), jnp.inf, jnp.exp(bracket[1]))
