"""RAGE, randomized adaptive gap elimination: Fiez, Jain, Jamieson and Ratliff (2019), Algorithm 1.

Differences: a sigma other than 1 is allowed. r is the rounding parameter epsilon of the paper; p (1 + 1/r) pulls are
what tracking needs to achieve it.
"""

import jax.numpy as jnp

from jaxbandit.algorithms.exploration.phased_designs import PhasedState, active_pairs, phased_design, whole
from jaxbandit.algorithms.exploration.static_designs import spanning_features
from jaxbandit.base.arguments import Candidates, Delta, Features, Positive, Sigma
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support import checks
from jaxbandit.support.numerics import argmax, as_float
from jaxbandit.support.types import Array
from jaxbandit.theory.estimators import ordinary_least_squares as least_squares
from jaxbandit.theory.solvers.design import pair_differences, transductive_design


@declare(
    question="confidence",
    rewards="sub-Gaussian, scale given",
    cost="O(m^2 d^2) at the end of each phase for m candidates, by default K, and a new design",
    memory="O(K + m)",
    tries={"rounding": (0.1, 0.3)},
)
def rage(
    features: Features,
    *,
    candidates: Candidates | None = None,
    delta: Delta = 0.05,
    sigma: Sigma = 1.0,
    rounding: Positive = 0.1,
) -> Algorithm:
    """Designs for the remaining arms or candidates, with gaps halved in each phase, Fiez et al. 2019.

    The candidates Z, of which one is recommended, are the m = K arms X, or others with the same parameter (transductive
    identification). Phase t pulls arms according to the design that is optimal for the differences of the active
    candidates, with value rho on p arms. It takes max(ceil(8 (2^(t+1))^2 sigma^2 rho (1 + r) log(m^2 t^2 / delta)),
    ceil(p (1 + 1/r))) pulls, where r = rounding, and then eliminates the candidates whose estimate is at least 2^-(t+2)
    below the best.

    Guarantee: The error rate is at most delta.

    In detail, the constants are those of the paper's Algorithm 1; the authors' experiments use smaller ones.

    Args:
      rounding: r, the fraction by which rounding to whole pulls may lengthen a phase.

    Returns:
      It requests its pulls in batches of one phase each, and replans between phases. With candidates the recommendation
      int32[1] is the index of one, in [0, m).

    Raises:
      ValueError: the features do not span R^dim, or the candidates are of another dimension.

    Source:
      Fiez, Jain, Jamieson and Ratliff (2019), Sequential experimental design for transductive linear bandits, NeurIPS,
      Algorithm 1.
    """
    features = spanning_features(features)
    checks.same_dimension(candidates, features)
    items = features if candidates is None else candidates
    num_items = items.shape[0]

    def plan(active: Array, phase: Array, precision: Array) -> tuple[Array, Array]:
        x, t, slack = as_float(features), as_float(phase), as_float(rounding)
        design = transductive_design(x, pair_differences(as_float(items)), mask=active_pairs(active))
        confidence = 2 * (jnp.log(num_items * t)) - jnp.log(as_float(delta))
        scale = as_float(sigma) ** 2 * design.value * (1 + slack)
        needed = 8 * 4 ** (t + 1) * scale * confidence
        fewest = as_float(jnp.sum(design.weights > 0, dtype=jnp.int32)) * (1 + 1 / slack)
        return design.weights, whole(jnp.maximum(needed, fewest))

    def eliminate(state: PhasedState) -> tuple[Array, Array, Array]:
        means = least_squares.fit(as_float(features), state.phase_counts, state.means, at=as_float(items)).means
        means = jnp.where(state.active, means, -jnp.inf)
        close = jnp.max(means) - means < 2 ** -(as_float(state.phase) + 2)
        return state.active & close, argmax(means), state.precision

    return phased_design(features, 1.0, plan, eliminate, delta=delta, sigma=sigma, candidates=candidates)
