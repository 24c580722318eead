"""What theory says of linear pure exploration: complexity constants, T*, and sample bounds.

Xu, Honda, Sugiyama (2017), equations 13 to 15 and Theorems 2 and 3; Soare, Lazaric, Munos (2014); Reda, Kaufmann,
Delahaye-Duriez (2021), Table 2; the lower bound log(1 / (2.4 delta)) T* of Kaufmann, Cappe, Garivier (2016).
Differs: rho is (sum_a |w*_a|)^2. The paper's equation 15 prints the sum, but calls it the optimal value of (21), uses
its square in Lemma 1 and says that it is 4 on the canonical basis.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.numerics import as_float
from jaxbandit.solvers.best_arm import best_arm_design
from jaxbandit.solvers.l1 import l1_representation
from jaxbandit.types import Array, Scalar


class Constants(NamedTuple):
    """H of Reda et al. (2021), Table 2: an algorithm stops within about H C^2 pulls, C its threshold."""

    lucb: Array  # float[]
    ugape: Array  # float[]
    m_lingape_1: Array  # float[], largest variance, or both arms pulled
    m_lingape_2: Array  # float[], optimized rule


class LinearComplexity(NamedTuple):
    """Complexities of best-arm identification, H_oracle <= H_design <= H'_oracle and H_0 <= 72 H'_oracle."""

    lingape: Array  # float[], H_epsilon, equation 13
    oracle: Array  # float[], H_oracle = max_i rho_i / gap_i^2
    oracle_sum: Array  # float[], H'_oracle = sum_i rho_i / gap_i^2
    design: Array  # float[], least over designs of max_i ||x* - x_i||^2 / gap_i^2 (Soare et al.) = T* / (2 sigma^2)


def top_m_gaps(means: Array, m: int) -> Array:
    """Return float[K]: mu_k - mu_(m+1) for the m best arms, mu_(m) - mu_k for the others; 0 for a tie there."""
    ordered = jnp.sort(means)[::-1]
    return jnp.maximum(means - ordered[m], ordered[m - 1] - means)


def representations(features: Array, *, steps: int = 20) -> Array:
    """Return float[K, K, K], w* of x_i - x_j for all i, j."""
    first, second = jnp.triu_indices(features.shape[0], 1)
    solve = jax.vmap(lambda target: l1_representation(features, target, steps=steps).weights)
    weights = solve(features[first] - features[second])
    table = jnp.zeros((features.shape[0],) * 3, weights.dtype)
    return table.at[first, second].set(weights).at[second, first].set(-weights)


def complexity_constants(
    features: Array,
    means: Array,
    *,
    m: int,
    epsilon: Scalar = 0.0,
    sigma: Scalar = 1.0,
    table: Array | None = None,
    steps: int = 20,
) -> Constants:
    """Return the constants of Table 2 as printed: sigma^2 in those of m-LinGapE only.

    Args:
      features: float[K, d], traced.
      means: float[K], traced.
      m: static, in [1, K - 1].
      epsilon: traced, >= 0.
      sigma: traced, > 0.
      table: float[K, K, K], traced, w* of all pairs; solved for if None.
      steps: static, of the solver.
    """
    epsilon, sigma = as_float(epsilon), as_float(sigma)
    gaps = top_m_gaps(means, m)
    table = representations(features, steps=steps) if table is None else table
    third = jnp.maximum(epsilon, (epsilon + gaps) / 3)
    pairs = jnp.maximum(third[:, None], third[None])
    shares = jnp.max(jnp.abs(table) / (pairs**2)[..., None], (0, 1))
    return Constants(
        2 * jnp.sum(jnp.maximum(epsilon / 2, gaps) ** -2),
        2 * jnp.sum(jnp.maximum(epsilon, (epsilon + gaps) / 2) ** -2),
        4 * sigma**2 * jnp.sum(third**-2),
        sigma**2 * jnp.sum(shares),
    )


def linear_complexity(
    features: Array, means: Array, *, epsilon: Scalar = 0.0, table: Array | None = None, steps: int = 25
) -> LinearComplexity:
    """Return the complexities of best-arm identification; those of the oracle are for epsilon = 0."""
    epsilon = as_float(epsilon)
    gaps = top_m_gaps(means, 1)
    table = representations(features) if table is None else table
    sizes = jnp.abs(table)
    roots = jnp.sum(sizes, -1)
    third = jnp.maximum(epsilon, (epsilon + gaps) / 3)
    pairs = jnp.maximum(third[:, None], third[None])
    shares = jnp.max(sizes * (roots / pairs**2)[..., None], (0, 1))
    best = jnp.argmax(means)
    ratios = jnp.where(jnp.arange(means.shape[0]) == best, 0.0, roots[best] ** 2 / gaps**2)
    design = best_arm_design(features, means, steps=steps).time / 2
    return LinearComplexity(jnp.sum(shares), jnp.max(ratios), jnp.sum(ratios), design)


def sample_lower_bound(features: Array, means: Array, *, delta: Scalar, sigma: Scalar = 1.0, steps: int = 25) -> Array:
    """Return log(1 / (2.4 delta)) T*: no delta-correct algorithm needs fewer pulls in expectation."""
    design = best_arm_design(features, means, sigma=sigma, steps=steps)
    return jnp.maximum(jnp.log(1 / (2.4 * as_float(delta))), 0.0) * design.bound
