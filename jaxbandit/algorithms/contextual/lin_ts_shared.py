"""Linear Thompson sampling with one model, on a row of floats for each arm: the best arm for theta + v F z, F F' = P.

`lin_ts` is for known action sets.
"""

from typing import Literal

import jax.numpy as jnp

from jaxbandit.algorithms.contextual.models import models, ridge
from jaxbandit.algorithms.contextual.policy import ContextualState, Each, contextual_policy, inverse_delta
from jaxbandit.base.arguments import Delta, Dim, Horizon, Intercept, NumArms, Regularization, Sigma
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float, normal_noise
from jaxbandit.support.types import Array


@declare(
    question="regret",
    setting="contexts",
    rewards="sub-Gaussian, scale given",
    cost="O(K d + d^2)",
    memory="O(K + d^2)",
    tries={"regularization": (0.25, 1.0)},
    settings=({"dim": 2}, {"dim": 2, "variant": "theory"}),
)
def lin_ts_shared(
    num_arms: NumArms,
    dim: Dim,
    *,
    variant: Literal["heuristic", "theory"] = "heuristic",
    sigma: Sigma = 1.0,
    regularization: Regularization | None = None,
    horizon: Horizon | None = None,
    delta: Delta | None = None,
    intercept: Intercept = True,
) -> Algorithm:
    """Linear Thompson sampling for a context with a row of floats for each arm, with one linear model.

    Each round draws theta~ = theta + v F z with z standard normal in R^dim and F F' = P, and pulls the arm with the
    largest x_a' theta~; see `lin_ucb_shared` for theta and P.

    Guarantee: With the variant "theory", regret O~(d^(3/2) sqrt(T)) with probability 1 - delta for rows of norm at most
    1 and theta of norm at most 1 (Agrawal and Goyal 2013); none for the default posterior.

    Args:
      dim: dimension of a row.
      variant: "heuristic", v = sigma, the posterior under normal noise; or "theory", v = sigma sqrt(9 d log(t / delta))
        in round t.
      regularization: lambda; None means sigma^2 for "heuristic", the prior N(0, I), and 1 for "theory".
      horizon: number of rounds; only for the default delta of "theory".
      delta: probability with which the bound of "theory" may fail; None means 1 / horizon.
      intercept: whether a constant 1 is appended to each row: rows of norm at most 1 are then of norm at most sqrt(2),
        and theta has one more entry. Without it the mean at x = 0 is 0.

    Returns:
      An Algorithm with contexts float[num_arms, dim], or an Offer of them, actions int32[] in [0, num_arms) and rewards
      float[]. Its noise is a normal for each entry of theta.

    Raises:
      ValueError: "theory" has neither a delta nor a horizon.

    Source:
      Agrawal and Goyal (2013), Thompson sampling for contextual bandits with linear payoffs, ICML, Algorithm 1.
    """
    log_inverse_delta = inverse_delta(delta, horizon, needed=variant == "theory")
    prior = regularization if regularization is not None else sigma * sigma if variant == "heuristic" else 1.0
    own = models(ridge, prior, num_arms, (num_arms, dim), intercept)

    def score(noise: Array, state: ContextualState, each: Each) -> Array:
        scale = as_float(sigma)
        if variant == "theory":
            scale = scale * jnp.sqrt(9 * own.shape[-1] * (jnp.log(as_float(state.round)) + log_inverse_delta()))
        return each(lambda state, x: own.model.mean(own.model.draw(state, scale * noise), x))

    noise = normal_noise(own.shape[-1])
    return contextual_policy(own, score, noise=noise, rewards=Rewards(sigma=sigma), intercept=intercept)
