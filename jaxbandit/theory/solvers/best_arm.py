"""T* of linear best-arm identification with Gaussian noise, and the design that attains it, with a certificate.

1 / T* is the maximum over designs w of the minimum over i != best of gap_i^2 / (2 sigma^2 y' A(w)^-1 y), where y is
x_best - x_i (Soare, Lazaric and Munos 2014; Jedra and Proutiere 2020, equation 5): the oracle design of design.py.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.support.numerics import argmax, as_float
from jaxbandit.support.types import Array, Scalar
from jaxbandit.theory.solvers.design import transductive_design


class BestArmDesign(NamedTuple):
    """The design, the characteristic time that it attains, and a certified lower bound on the smallest time."""

    weights: Array  # float[num_arms], on the simplex
    time: Array  # float[], T* up to the certified gap time - bound; inf if two different arms share the largest mean
    bound: Array  # float[], certified: no design has a smaller time


def best_arm_design(
    features: Array, means: Array, *, sigma: Scalar = 1.0, steps: int = 25, candidates: Array | None = None
) -> BestArmDesign:
    """Return the design that identifies the best arm fastest, for features float[K, d] and means float[K].

    With `candidates`, float[m, d], of means float[m], it identifies the best of them by pulls of the arms (Fiez, Jain,
    Jamieson and Ratliff 2019, Theorem 1). Rows that equal the best one are as good, and need not be told from it.
    """
    rows = features if candidates is None else candidates
    best = argmax(means)
    gaps = means[best] - means
    others = jnp.any(rows != rows[best][None], axis=1)
    apart = gaps > 0
    directions = (rows[best][None] - rows) / jnp.where(apart, gaps, 1.0)[:, None]
    design = transductive_design(features, directions, mask=others & apart, steps=steps)
    tied = jnp.any(others & ~apart)
    scale = 2 * as_float(sigma) ** 2
    return BestArmDesign(
        design.weights, jnp.where(tied, jnp.inf, scale * design.value), jnp.where(tied, jnp.inf, scale * design.bound)
    )
