"""XY-oracle allocation: Soare, Lazaric and Munos (2014); Xu, Honda and Sugiyama (2018), (18): it knows the parameter.

Difference: the stopping rule is evaluated on a geometric grid of pull counts, as in xy_static.
"""

import jax.numpy as jnp
import numpy as np

from jaxbandit.algorithms.exploration.static_designs import StaticDesignState, spanning_features, static_design
from jaxbandit.base.arguments import Delta, Features, Grid, Sigma, Vector
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import argmax, as_float, get_at, set_at
from jaxbandit.support.types import Array
from jaxbandit.theory.estimators import ordinary_least_squares as least_squares
from jaxbandit.theory.solvers.design import transductive_design


@declare(
    question="confidence",
    rewards="sub-Gaussian, scale given",
    cost="O(K d^2 + d^3) a batch of pulls",
    memory="O(K)",
    truth=("theta",),
    tries={"theta": ((1.0, 0.2),)},
)
def xy_oracle(
    features: Features, theta: Vector, *, delta: Delta = 0.05, sigma: Sigma = 1.0, grid: Grid = 1.001
) -> Algorithm:
    """An oracle, the optimal design for the true theta, Soare et al. 2014.

    The design minimizes the largest variance of the differences from the best arm divided by their true gaps. It stops
    when confidence intervals of that width would prove which arm is best. Rewards are not used.

    Guarantee: An oracle for comparison: it is told theta and never errs.

    Args:
      theta: float[dim], the true parameter, for which the best arm is unique.
      delta: error probability that sets the confidence widths.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] (ignored) and recommendations int32[1]. It
      requests its pulls in batches, from one evaluation of the stopping rule to the next.

    Raises:
      ValueError: the features do not span R^dim, or two arms tie for the best.

    Source:
      Soare, Lazaric and Munos (2014), Best-arm identification in linear bandits, NeurIPS.
    """
    features = spanning_features(features)
    if theta.shape != features.shape[1:]:
        raise ValueError(f"theta has {theta.shape[0]} entries, must have {features.shape[1]} as features")
    if isinstance(features, np.ndarray) and isinstance(theta, np.ndarray):
        order = np.argsort(-np.matmul(features, theta), kind="stable")
        if np.matmul(features[order[0]], theta) == np.matmul(features[order[1]], theta):
            raise ValueError(f"arms {order[0]} and {order[1]} tie for the best, must have a unique best arm")

    def directions() -> Array:
        """Return (x_best - x_i) / gap_i, float[num_arms, dim], with a zero row for the best arm."""
        x = as_float(features)
        means = jnp.sum(x * as_float(theta)[None], 1)
        best = argmax(means)
        gaps = set_at(get_at(means, best) - means, best, jnp.ones(()))
        return least_squares.differences(x, best) / gaps[:, None]

    def solve() -> Array:
        return transductive_design(as_float(features), directions()).weights

    def stops(state: StaticDesignState, level: Array) -> Array:
        inverse = least_squares.inverse(least_squares.design_matrix(as_float(features), as_float(state.counts)))
        squares = least_squares.squared_norms(directions(), inverse)
        return level * jnp.sqrt(jnp.max(squares)) <= 1

    def recommend(state: StaticDesignState) -> Array:
        return argmax(jnp.sum(as_float(features) * as_float(theta)[None], 1))[None]

    return static_design(features, solve, stops, recommend, delta, sigma, grid, means=False)
