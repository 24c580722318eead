"""LinUCB with one linear model, on a row of floats for each arm: pull the arm with the largest x' theta + rho |x|_P.

"alpha" has a constant rho; "oful" is Abbasi-Yadkori, Pal and Szepesvari (2011), Theorem 2. `lin_ucb` is for known
action sets.
"""

from typing import Literal

import jax.numpy as jnp

from jaxbandit.algorithms.contextual.models import models, ridge
from jaxbandit.algorithms.contextual.policy import ContextualState, Each, contextual_policy, inverse_delta
from jaxbandit.base.arguments import (
    Delta,
    Dim,
    Horizon,
    Intercept,
    NonNegative,
    NumArms,
    Regularization,
    Sigma,
    ThetaNorm,
)
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array


@declare(
    question="regret",
    setting="contexts",
    rewards='any; sub-Gaussian, scale given, with "oful"',
    cost="O(K d^2)",
    memory="O(K + d^2)",
    tries={"alpha": (1.0, 0.0)},
    settings=({"dim": 2}, {"dim": 2, "variant": "oful"}),
)
def lin_ucb_shared(
    num_arms: NumArms,
    dim: Dim,
    *,
    variant: Literal["alpha", "oful"] = "alpha",
    alpha: NonNegative = 1.0,
    regularization: Regularization = 1.0,
    horizon: Horizon | None = None,
    delta: Delta | None = None,
    sigma: Sigma = 1.0,
    theta_norm: ThetaNorm = 1.0,
    intercept: Intercept = True,
) -> Algorithm:
    """LinUCB for a context with a row of floats for each arm, with one linear model.

    Each round pulls the arm with the largest x_a' theta + rho sqrt(x_a' P x_a), where x_a is the arm's row, theta the
    ridge estimate from all rewards, and P = V^-1 with V = lambda I + sum x x' over the rows of the arms pulled.

    Guarantee: With the variant "oful", regret O~(d sqrt(T)) with probability 1 - delta for rows of norm at most 1 and a
    known bound on the norm of theta (Abbasi-Yadkori et al. 2011); none for the default "alpha".

    Args:
      dim: dimension of a row. The defaults are meant for rows of norm at most 1.
      variant: "alpha" has rho = alpha; "oful" has rho = sigma sqrt(log(det V / lambda^d) + 2 log(1 / delta)) +
        sqrt(lambda) theta_norm.
      alpha: weight of the width, in units of the rewards. Used by "alpha" only.
      horizon: number of rounds; only for the default delta of "oful".
      delta: probability with which the bound of "oful" may fail; None means 1 / horizon.
      theta_norm: upper bound on the Euclidean norm of theta. Used, as sigma, by "oful" only.
      intercept: whether a constant 1 is appended to each row: rows of norm at most 1 are then of norm at most sqrt(2),
        and theta has one more entry. Without it the mean at x = 0 is 0.

    Returns:
      An Algorithm with contexts float[num_arms, dim], or an Offer of them, actions int32[] in [0, num_arms) and rewards
      float[].

    Raises:
      ValueError: "oful" has neither a delta nor a horizon.

    Source:
      Abbasi-Yadkori, Pal and Szepesvari (2011), Improved algorithms for linear stochastic bandits, NeurIPS, Theorem 2
      ("oful"); Li, Chu, Langford and Schapire (2010), A contextual-bandit approach to personalized news article
      recommendation, WWW, the index of Algorithm 1 ("alpha").
    """
    log_inverse_delta = inverse_delta(delta, horizon, needed=variant == "oful")
    own = models(ridge, regularization, num_arms, (num_arms, dim), intercept)

    def radius(state: ContextualState) -> Array:
        if variant == "alpha":
            return as_float(alpha)
        prior = as_float(regularization)
        grown = state.models.logdet - own.shape[-1] * jnp.log(prior)
        return as_float(sigma) * jnp.sqrt(grown + 2 * log_inverse_delta()) + jnp.sqrt(prior) * as_float(theta_norm)

    def score(noise: None, state: ContextualState, each: Each) -> Array:
        return each(own.model.mean) + radius(state) * each(own.model.width)

    rewards = Rewards(sigma=sigma) if variant == "oful" else None
    return contextual_policy(own, score, rewards=rewards, intercept=intercept)
