"""LinUCB: pull the arm with the largest x' theta_hat + radius sqrt(x' V^-1 x), where V is the design matrix.

The variant "fn" is the baseline of Hao, Lattimore and Szepesvari (2020), Section 5, without regularization, with radius
sqrt(f_n) and the initial pulls of OAM. The variant "oful" is OFUL of Abbasi-Yadkori, Pal and Szepesvari (2011), Theorem
2, with regularization and a radius that grows with the determinant of V. By default delta = 1 / horizon.
"""

import math
from typing import Literal

import jax.numpy as jnp
import numpy as np

from jaxbandit.algorithms.regret.action_sets import action_sets
from jaxbandit.algorithms.regret.linear_policy import (
    LinearState,
    checked_horizon,
    linear_level,
    linear_policy,
    means_and_variances,
)
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support import checks
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, ArrayLike, PyTree, Scalar


@declare(
    question="regret",
    setting="features",
    rewards="sub-Gaussian, scale given",
    cost="O(K d^2)",
    memory="O(K + d^2)",
    tries={
        "c": (0.0, 3.0),
        "delta": (0.05, 0.5),
        "sigma": (0.2, 1.0),
        "theta_norm": (1.0, 2.0),
        "regularization": (1.0, 0.01),
    },
    settings=({"horizon": 60}, {"horizon": 60, "variant": "oful"}),
)
def lin_ucb(
    features: ArrayLike,
    *,
    mask: np.ndarray | None = None,
    horizon: int,
    variant: Literal["fn", "oful"] = "fn",
    c: Scalar = 1.0,
    delta: Scalar | None = None,
    sigma: Scalar = 1.0,
    theta_norm: Scalar = 1.0,
    regularization: Scalar = 1.0,
) -> Algorithm:
    """Linear UCB on known action sets, with the radius of the OAM paper or of OFUL.

    Return LinUCB for known action sets.

    Each round pulls the arm of the round's set with the largest x' theta_hat + radius sqrt(x' V^-1 x), where theta_hat
    is the least-squares estimate and V the design matrix. The variant sets the radius and the regularization.

    Guarantee: With the variant "oful", regret O(d sqrt(T) log T) with probability 1 - delta, for known bounds on theta
    and the features (Abbasi-Yadkori et al. 2011); no regret bound is stated for the default "fn", the baseline of the
    OAM paper.

    In detail, for "oful", with sigma-sub-Gaussian noise, a bound theta_norm on the norm of theta and bounded features,
    Abbasi-Yadkori et al. prove regret O~(d sqrt(T)) with probability 1 - delta. "fn" is the baseline of the OAM paper.

    Args:
      features: float[num_arms, dim] for one action set, or float[num_contexts, num_arms, dim] for one set per context;
        finite; traced. For "fn" all arms together must span R^dim. In float32, until the arms pulled span R^dim, an arm
        within a relative distance of 1.7e-3 of the span of other arms counts as inside it.
      mask: bool with the leading axes of features, False for rows that only pad a shorter set; None means no padding.
        Static.
      horizon: number of rounds n, an integer >= max(2, dim); static.
      variant: static. "fn" has no regularization and the radius sigma sqrt(f_{n,delta}), where f_{n,delta} = 2 (1 + 1 /
        log n) log(1 / delta) + c d log(d log n). "oful" has V = lambda I + sum x x' and the radius sigma sqrt(log(det V
        / lambda^d) + 2 log(1 / delta)) + sqrt(lambda) theta_norm.
      c: weight of the second term of f_{n,delta}, >= 0; traced. Used by "fn" only.
      delta: allowed probability that the confidence set does not contain theta, in (0, 1); None means 1 / horizon.
        Traced.
      sigma: sub-Gaussian scale of the noise, > 0; traced.
      theta_norm: upper bound on the Euclidean norm of theta, >= 0; traced. Used by "oful" only.
      regularization: lambda, > 0; traced. Used by "oful" only.

    Returns:
      An Algorithm with contexts int32[] in [0, num_contexts), or none, actions int32[] in [0, num_arms) and rewards
      float[]. It recommends the arm pulled most, numbered num_arms * m + a for arm a of context m.

    Raises:
      ValueError: an argument is out of range, the mask leaves a set empty, every set has one arm, or (for "fn") the
        arms do not span R^dim.

    Source:
      Hao, Lattimore and Szepesvari (2020), Adaptive exploration in linear contextual bandit, AISTATS, Section 5;
      Abbasi-Yadkori, Pal and Szepesvari (2011), Improved algorithms for linear stochastic bandits, NeurIPS, Theorem 2.
    """
    checks.choice("lin_ucb", "variant", variant, ("fn", "oful"))
    sets = action_sets("lin_ucb", features, mask, spanning=variant == "fn")
    horizon = checked_horizon("lin_ucb", horizon, sets.dim)
    checks.number("lin_ucb", "c", c, low=0.0)
    if delta is not None:
        checks.number("lin_ucb", "delta", delta, low=0.0, high=1.0, open_low=True, open_high=True)
    checks.number("lin_ucb", "sigma", sigma, low=0.0, open_low=True)
    checks.number("lin_ucb", "theta_norm", theta_norm, low=0.0)
    checks.number("lin_ucb", "regularization", regularization, low=0.0, open_low=True)

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
    return linear_policy("lin_ucb", sets, score, regularization=prior, widths=True, rewards=Rewards(sigma=sigma))
