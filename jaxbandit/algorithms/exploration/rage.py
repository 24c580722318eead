"""RAGE, randomized adaptive gap elimination: Fiez, Jain, Jamieson and Ratliff (2019), Algorithm 1, with Z = X.

Differences: a sigma other than 1 is allowed. r is the rounding parameter epsilon of the paper; p (1 + 1/r) pulls are
what tracking needs to achieve it.
"""

import jax.numpy as jnp

from jaxbandit.algorithms.exploration.phased_designs import PhasedState, active_pairs, phased_design, whole
from jaxbandit.algorithms.exploration.static_designs import spanning_features
from jaxbandit.base.arguments import Delta, Features, Positive, Sigma
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import argmax, as_float
from jaxbandit.support.types import Array
from jaxbandit.theory.estimators import ordinary_least_squares as least_squares
from jaxbandit.theory.solvers.design import pair_differences, transductive_design


@declare(
    question="confidence",
    rewards="sub-Gaussian, scale given",
    cost="O(K^2 d^2) at the end of each phase, and a new design",
    memory="O(K)",
    tries={"rounding": (0.1, 0.3)},
)
def rage(features: Features, *, delta: Delta = 0.05, sigma: Sigma = 1.0, rounding: Positive = 0.1) -> Algorithm:
    """Designs for the remaining arms, with gaps halved in each phase, Fiez et al. 2019.

    Phase t pulls arms according to the design that is optimal for the differences of the active arms, with value rho on
    p arms. It takes max(ceil(8 (2^(t+1))^2 sigma^2 rho (1 + r) log(K^2 t^2 / delta)), ceil(p (1 + 1/r))) pulls, where r
    = rounding, and then eliminates the arms whose estimate is at least 2^-(t+2) below the best.

    Guarantee: The error rate is at most delta.

    In detail, the constants are those of the paper's Algorithm 1; the authors' experiments use smaller ones.

    Args:
      rounding: r, the fraction by which rounding to whole pulls may lengthen a phase.

    Returns:
      It requests its pulls in batches of one phase each, and replans between phases.

    Raises:
      ValueError: the features do not span R^dim.

    Source:
      Fiez, Jain, Jamieson and Ratliff (2019), Sequential experimental design for transductive linear bandits, NeurIPS,
      Algorithm 1.
    """
    features = spanning_features(features)
    num_arms = features.shape[0]

    def plan(active: Array, phase: Array, precision: Array) -> tuple[Array, Array]:
        x, t, slack = as_float(features), as_float(phase), as_float(rounding)
        design = transductive_design(x, pair_differences(x), mask=active_pairs(active))
        confidence = 2 * (jnp.log(num_arms * t)) - jnp.log(as_float(delta))
        scale = as_float(sigma) ** 2 * design.value * (1 + slack)
        needed = 8 * 4 ** (t + 1) * scale * confidence
        fewest = as_float(jnp.sum(design.weights > 0, dtype=jnp.int32)) * (1 + 1 / slack)
        return design.weights, whole(jnp.maximum(needed, fewest))

    def eliminate(state: PhasedState) -> tuple[Array, Array, Array]:
        means = least_squares.fit(as_float(features), state.phase_counts, state.means).means
        means = jnp.where(state.active, means, -jnp.inf)
        close = jnp.max(means) - means < 2 ** -(as_float(state.phase) + 2)
        return state.active & close, argmax(means), state.precision

    return phased_design(features, 1.0, plan, eliminate, delta=delta, sigma=sigma)
