"""The Laplace posterior of logistic regression, by one Newton step for each row, in dim^2 operations.

This is the extended Kalman filter, so it depends on the order of the rows. The state is that of
recursive_least_squares, whose `means`, `variances` and `root` apply: F F' = H^-1 with H = lambda I + sum q x x'.
"""

import jax

from jaxbandit.support.numerics import total
from jaxbandit.support.types import Array, Scalar
from jaxbandit.theory.estimators import recursive_least_squares
from jaxbandit.theory.estimators.recursive_least_squares import RecursiveLeastSquares


def init(dim: int, regularization: Scalar) -> RecursiveLeastSquares:
    """Return the prior N(0, I / regularization), with regularization > 0."""
    return recursive_least_squares.init(dim, regularization)


def update(estimate: RecursiveLeastSquares, x: Array, reward: Array) -> RecursiveLeastSquares:
    """Return the estimate after one more row x, float[dim], and its reward in [0, 1].

    With p = p(x' theta) at the old theta and q = p (1 - p), H gains q x x' and then theta gains H^-1 x (reward - p).
    """
    p = jax.nn.sigmoid(total(x * estimate.theta))
    return recursive_least_squares.weighted_update(estimate, x, p * (1 - p), reward - p)
