"""LinUCB: the arm of the largest x' theta_hat + radius ||x||, the norm that of the inverse design matrix.

"fn" is the rival of OAM in Hao, Lattimore and Szepesvari 2020, Section 5: no regularisation, radius sqrt(f_n), and
OAM's start. "oful" is OFUL of Abbasi-Yadkori, Pal and Szepesvari 2011, Theorem 2: regularised, the radius grows with
the determinant. Differs: delta = 1 / horizon unless it is given.
"""

import math
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np

from jaxbandit import checks
from jaxbandit.algorithms.regret.action_sets import action_sets
from jaxbandit.algorithms.regret.linear_level import checked_horizon, linear_level
from jaxbandit.algorithms.regret.linear_policy import LinearState, linear_policy
from jaxbandit.base import Algorithm, Rewards
from jaxbandit.estimators import recursive_least_squares as estimator
from jaxbandit.numerics import as_float
from jaxbandit.types import Array, ArrayLike, Scalar


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
    """Return LinUCB for known action sets.

    Args:
      features: float[num_arms, dim], one action set, or float[num_contexts, num_arms, dim], a set a context; finite,
        traced. All arms together must span R^dim for "fn". In float32 an arm within a relative 1.7e-3 of the span of
        others counts as inside it, until the arms pulled span R^dim.
      mask: bool of the first axes of features, False where a row only pads a shorter set; None: none does. Static.
      horizon: n >= max(2, dim), static.
      variant: "fn", the radius is sigma sqrt(f_{n,delta}), f_{n,delta} = 2 (1 + 1 / log n) log(1 / delta) +
        c d log(d log n); or "oful", it is sigma sqrt(log(det V / lambda^d) + 2 log(1 / delta)) + sqrt(lambda)
        theta_norm, V = lambda I + sum x x'. Static.
      c: >= 0, traced; of "fn".
      delta: allowed probability that the confidence set misses theta, in (0, 1), traced; None: 1 / horizon.
      sigma: sub-Gaussian scale of the noise, > 0, traced.
      theta_norm: bound of ||theta||, >= 0, traced; of "oful".
      regularization: lambda > 0, traced; of "oful".

    Returns:
      An Algorithm with contexts int32[] in [0, num_contexts), or none, actions int32[] in [0, num_arms) and rewards
      float[]. It recommends the arm pulled most, num_arms m + a for arm a of context m.

    Raises:
      ValueError: an argument is out of range, the mask leaves a set empty, every set has one arm, or the arms do not
        span R^dim.

    Source: Hao, Lattimore and Szepesvari (2020), Adaptive exploration in linear contextual bandit, AISTATS;
      Abbasi-Yadkori, Pal and Szepesvari (2011), Improved algorithms for linear stochastic bandits, NeurIPS.
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

    def score(noise: Any, state: LinearState, rows: Array) -> Array:
        widths = jnp.sqrt(estimator.variances(state.estimate, rows))
        return estimator.means(state.estimate, rows) + radius(state) * widths

    prior = None if variant == "fn" else regularization
    return linear_policy("lin_ucb", sets, score, regularization=prior, rewards=Rewards(sigma=sigma))
