"""Linear Thompson sampling: pull the best arm for the draw theta_hat + v V^(-1/2) z, where z is standard normal.

"theory" is Agrawal and Goyal (2013), Algorithm 1; "heuristic" is that of Hao, Lattimore and Szepesvari (2020), Appendix
D.2. A root of V^-1 is carried in the state, so that no matrix is factorized in a round.
"""

import math
from typing import Literal

import jax
import jax.numpy as jnp

from jaxbandit.algorithms.regret import action_sets
from jaxbandit.algorithms.regret.linear_policy import Horizon, LinearState, checked_horizon, linear_policy
from jaxbandit.base.arguments import Delta, FeatureSets, Mask, Sigma
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import UNROLLED, as_float, normal_of_words, standard_normal, weighted_sum
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import recursive_least_squares as estimator


@declare(
    question="regret",
    rewards="sub-Gaussian, scale given",
    cost="O(K d + d^2)",
    memory="O(K + d^2)",
    settings=({"horizon": 60}, {"horizon": 60, "variant": "theory"}),
)
def lin_ts(
    features: FeatureSets,
    *,
    mask: Mask | None = None,
    horizon: Horizon | None = None,
    variant: Literal["heuristic", "theory"] = "heuristic",
    delta: Delta | None = None,
    sigma: Sigma = 1.0,
) -> Algorithm:
    """Linear Thompson sampling, from the posterior or with the radius of the regret bound.

    Each round draws theta = theta_hat + v V^(-1/2) z with z standard normal in R^dim, and pulls the arm of the round's
    set with the largest x' theta.

    Guarantee: With the variant "theory", regret O(d^(3/2) sqrt(T)) up to logarithms with probability 1 - delta (Agrawal
    and Goyal 2013); none for the default posterior.

    Args:
      horizon: number of rounds n; only for the default delta of "theory".
      variant: "heuristic", the posterior under the prior N(0, I) and normal noise, V = sigma^2 I + sum x x'; or
        "theory", V = I + sum x x' and v = sigma sqrt(9 d log(t / delta)) in round t.
      delta: probability with which the regret bound of "theory" may fail; None means 1 / horizon.

    Returns:
      An Algorithm with contexts int32[] in [0, num_contexts), or none, actions int32[] in [0, num_arms) and rewards
      float[]. Its noise is float[dim], the normal draws of the round. It recommends the arm pulled most, numbered
      num_arms * m + a for arm a of context m.

    Raises:
      ValueError: the mask leaves a set empty, or every set has one arm.

    Source:
      Agrawal and Goyal (2013), Thompson sampling for contextual bandits with linear payoffs, ICML, Algorithm 1; Hao,
      Lattimore and Szepesvari (2020), Adaptive exploration in linear contextual bandit, AISTATS, Appendix D.2.
    """
    sets = action_sets.action_sets(features, mask, spanning=False)
    if horizon is not None:
        horizon = checked_horizon(horizon, sets.dim)
    if delta is None and horizon is None and variant == "theory":
        raise ValueError("delta = None without a horizon, must be in (0, 1); or give horizon, the number of rounds")

    log_horizon = math.log(horizon or 1)

    def noise(key: Key) -> Array:
        if sets.dim > UNROLLED:  # one by one, 32 normals cost four times as much, and 500 compile for minutes
            return normal_of_words(jax.random.bits(key, (sets.dim,), jnp.uint32))
        # A few are drawn one by one, because a vector costs up to twice as much.
        return jnp.stack([standard_normal(jax.random.fold_in(key, i)) for i in range(sets.dim)])

    def score(noise: Array, state: LinearState, context: Array | None) -> Array:
        rows, scale = action_sets.round_rows(sets, context), as_float(sigma)
        if variant == "theory":
            log_inverse_delta = log_horizon if delta is None else -jnp.log(as_float(delta))
            scale = scale * jnp.sqrt(9 * sets.dim * (jnp.log(as_float(state.round)) + log_inverse_delta))
        drawn = weighted_sum(rows, weighted_sum(state.estimate.root, noise, 1), 1)
        return estimator.means(state.estimate, rows) + scale * drawn

    prior = sigma * sigma if variant == "heuristic" else 1.0
    return linear_policy(sets, score, regularization=prior, noise=noise, rewards=Rewards(sigma=sigma))
