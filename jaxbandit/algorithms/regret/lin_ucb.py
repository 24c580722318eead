"""LinUCB: pull the arm with the largest x' theta_hat + radius sqrt(x' V^-1 x), where V is the design matrix.

"fn" is the baseline of Hao, Lattimore and Szepesvari (2020), Section 5, with the initial pulls of OAM; "oful" is OFUL
of Abbasi-Yadkori, Pal and Szepesvari (2011), Theorem 2.
"""

import math
from typing import Literal

import jax.numpy as jnp

from jaxbandit.algorithms.regret.action_sets import action_sets
from jaxbandit.algorithms.regret.linear_policy import (
    Horizon,
    LinearState,
    checked_horizon,
    linear_level,
    linear_policy,
    means_and_variances,
)
from jaxbandit.base.arguments import Delta, FeatureSets, Mask, NonNegative, Regularization, Sigma, ThetaNorm
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, PyTree


@declare(
    question="regret",
    rewards="sub-Gaussian, scale given",
    cost="O(K d^2)",
    memory="O(K + d^2)",
    tries={"c": (0.0, 3.0)},
    settings=({"horizon": 60}, {"horizon": 60, "variant": "oful"}),
)
def lin_ucb(
    features: FeatureSets,
    *,
    mask: Mask | None = None,
    horizon: Horizon,
    variant: Literal["fn", "oful"] = "fn",
    c: NonNegative = 1.0,
    delta: Delta | None = None,
    sigma: Sigma = 1.0,
    theta_norm: ThetaNorm = 1.0,
    regularization: Regularization = 1.0,
) -> Algorithm:
    """Linear UCB on known action sets, with the radius of the OAM paper or of OFUL.

    Each round pulls the arm of the round's set with the largest x' theta_hat + radius sqrt(x' V^-1 x), where theta_hat
    is the least-squares estimate and V the design matrix. The variant sets the radius and the regularization.

    Guarantee: With the variant "oful", regret O(d sqrt(T) log T) with probability 1 - delta, for known bounds on theta
    and the features (Abbasi-Yadkori et al. 2011); no regret bound is stated for the default "fn", the baseline of the
    OAM paper.

    Args:
      features: float[num_arms, dim] for one action set, or float[num_contexts, num_arms, dim] for one set per context;
        finite. For "fn" all arms together must span R^dim. In float32, until the arms pulled span R^dim, an arm within
        a relative distance of 1.7e-3 of the span of other arms counts as inside it.
      variant: "fn" has no regularization and the radius sigma sqrt(f_{n,delta}), where f_{n,delta} = 2 (1 + 1 / log n)
        log(1 / delta) + c d log(d log n). "oful" has V = lambda I + sum x x' and the radius sigma sqrt(log(det V /
        lambda^d) + 2 log(1 / delta)) + sqrt(lambda) theta_norm.
      c: weight of the second term of f_{n,delta}. Used by "fn" only.
      delta: allowed probability that the confidence set does not contain theta; None means 1 / horizon.
      theta_norm: upper bound on the Euclidean norm of theta. Used, as regularization (lambda), by "oful" only.

    Returns:
      An Algorithm with contexts int32[] in [0, num_contexts), or none, actions int32[] in [0, num_arms) and rewards
      float[]. It recommends the arm pulled most, numbered num_arms * m + a for arm a of context m.

    Raises:
      ValueError: the mask leaves a set empty, every set has one arm, or (for "fn") the arms do not span R^dim.

    Source:
      Hao, Lattimore and Szepesvari (2020), Adaptive exploration in linear contextual bandit, AISTATS, Section 5;
      Abbasi-Yadkori, Pal and Szepesvari (2011), Improved algorithms for linear stochastic bandits, NeurIPS, Theorem 2.
    """
    sets = action_sets(features, mask, spanning=variant == "fn")
    horizon = checked_horizon(horizon, sets.dim)

    def radius(state: LinearState) -> Array:
        log_inverse_delta = math.log(horizon) if delta is None else -jnp.log(as_float(delta))
        if variant == "fn":
            return as_float(sigma) * jnp.sqrt(linear_level(horizon, sets.dim, c, log_inverse_delta))
        prior = as_float(regularization)
        grown = state.estimate.logdet - sets.dim * jnp.log(prior)
        return as_float(sigma) * jnp.sqrt(grown + 2 * log_inverse_delta) + jnp.sqrt(prior) * as_float(theta_norm)

    def score(noise: PyTree, state: LinearState, context: Array | None) -> Array:
        means, variances = means_and_variances(sets, state, context)
        return means + radius(state) * jnp.sqrt(variances)

    prior = None if variant == "fn" else regularization
    return linear_policy(sets, score, regularization=prior, widths=True, rewards=Rewards(sigma=sigma))
