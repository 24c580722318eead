"""Upper quantiles of Beta(a, b) without the incomplete beta function, in a fixed number of passes and without loops.

In the coordinate w of solvers/beta.py (the normal from which a draw is made) the Beta density is phi(w) A(w) with A
close to 1. So P(W > w) = P(Z > w) E(w), where E(w) is the mean of A over the normal's tail. Because A hardly varies,
one correction of the normal's quantile by E, from a Gauss-Legendre rule with few nodes, suffices: the error is 1e-6 for
tails from 1/2 to 1e-7.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit.base.numerics import normal_quantile
from jaxbandit.base.types import Array
from jaxbandit.theory.solvers.beta import BetaShape, beta_shape, logit_and_ratio, logit_at

NODES = 4
POWER = 2


class QuantileShape(NamedTuple):
    """What quantiles of Beta(a, b) need, as functions of a and b alone."""

    shape: BetaShape
    level: Array  # the constant factor of A


def quantile_shape(a: Array, b: Array) -> QuantileShape:
    """Return what quantiles of Beta(a, b) need, elementwise, for a, b >= 1/2."""
    level = jnp.exp(_stirling_error(a + b) - _stirling_error(a) - _stirling_error(b))
    return QuantileShape(beta_shape(a, b), level)


def logit_quantile(tail: Array, law: QuantileShape) -> Array:
    """Return logit(x) with P(X > x) = tail, elementwise in `law`, for a scalar tail in [1e-9, 1/2]."""
    shape, level = law
    mean = jnp.zeros_like(level)
    for place, weight in _tail_rule(NODES):  # the nodes are shared by all arms, as they depend on the tail alone
        mean = mean + weight * level * logit_and_ratio(normal_quantile(tail * place), shape)[1]
    w = normal_quantile(tail / mean)  # so that P(Z > w) E(w) = tail
    return lax.optimization_barrier(logit_at(w, shape))


def beta_upper_quantile(tail: Array, a: Array, b: Array) -> Array:
    """Return x with P(X > x) = tail for X from Beta(a, b), a, b >= 1/2, tail in [1e-9, 1/2], elementwise in a and b."""
    return jax.nn.sigmoid(logit_quantile(tail, quantile_shape(a, b)))


def _tail_rule(num_nodes: int) -> list[tuple[float, float]]:
    """Return nodes in (0, 1) and weights of a quadrature rule for the mean over the mass of the tail.

    It is Gauss-Legendre after the substitution s = v^POWER, because A varies like sqrt(-log s) at the far end s = 0.
    """
    nodes, weights = np.polynomial.legendre.leggauss(num_nodes)
    v = (1 + nodes) / 2
    return [(float(s), float(m)) for s, m in zip(v**POWER, weights * POWER / 2 * v ** (POWER - 1), strict=True)]


def _stirling_error(x: Array) -> Array:
    """Return log Gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2 for x >= 1/2, to 1e-9."""
    shifted = jnp.zeros_like(x)
    for _ in range(4):
        shifted = shifted + (x + 0.5) * jnp.log1p(1 / x) - 1
        x = x + 1
    inverse = 1 / (x * x)
    return shifted + (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / x
