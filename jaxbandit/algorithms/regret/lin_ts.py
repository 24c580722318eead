"""Linear Thompson sampling: the arm that is best under theta_hat + v V^(-1/2) z, z standard normal, drawn each round.

"theory" is Agrawal and Goyal 2013, Algorithm 1: v = sigma sqrt(9 d log(t / delta)), V = I + sum x x'. "heuristic" is
that of Hao, Lattimore and Szepesvari 2020, appendix D.2: v = sigma and the prior N(0, I), so that theta is drawn from
its posterior. Nothing is factorised in a round: the root of V^-1 is carried.
"""

import math
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit import checks
from jaxbandit.algorithms.regret.action_sets import action_sets
from jaxbandit.algorithms.regret.linear_level import checked_horizon
from jaxbandit.algorithms.regret.linear_policy import LinearState, linear_policy
from jaxbandit.base import Algorithm, Rewards
from jaxbandit.estimators import recursive_least_squares as estimator
from jaxbandit.numerics import as_float, product, standard_normal
from jaxbandit.types import Array, ArrayLike, Key, Scalar


def lin_ts(
    features: ArrayLike,
    *,
    mask: np.ndarray | None = None,
    horizon: int,
    variant: Literal["heuristic", "theory"] = "heuristic",
    delta: Scalar | None = None,
    sigma: Scalar = 1.0,
) -> Algorithm:
    """Return linear Thompson sampling for known action sets.

    Args:
      features: float[num_arms, dim], one action set, or float[num_contexts, num_arms, dim], a set a context; finite,
        traced.
      mask: bool of the first axes of features, False where a row only pads a shorter set; None: none does. Static.
      horizon: n >= max(2, dim), static; "heuristic" does not look at it.
      variant: "heuristic", the posterior of the prior N(0, I) and normal noise, V = sigma^2 I + sum x x'; or "theory",
        V = I + sum x x' and v = sigma sqrt(9 d log(t / delta)) at round t, for which regret is bounded. Static.
      delta: allowed probability that the bound fails, in (0, 1), traced; None: 1 / horizon; of "theory".
      sigma: standard deviation, or sub-Gaussian scale, of the noise, > 0, traced.

    Returns:
      An Algorithm with contexts int32[] in [0, num_contexts), or none, actions int32[] in [0, num_arms) and rewards
      float[]. Its noise is float[dim], the round's normals. It recommends the arm pulled most, num_arms m + a for arm a
      of context m.

    Raises:
      ValueError: an argument is out of range, the mask leaves a set empty, or every set has one arm.

    Source: Agrawal and Goyal (2013), Thompson sampling for contextual bandits with linear payoffs, ICML.
    """
    checks.choice("lin_ts", "variant", variant, ("heuristic", "theory"))
    sets = action_sets("lin_ts", features, mask, spanning=False)
    horizon = checked_horizon("lin_ts", horizon, sets.dim)
    if delta is not None:
        checks.number("lin_ts", "delta", delta, low=0.0, high=1.0, open_low=True, open_high=True)
    checks.number("lin_ts", "sigma", sigma, low=0.0, open_low=True)

    def noise(key: Key) -> Array:
        # One by one: a vector at once costs up to twice as much (measured, dim 2 to 12).
        return jnp.stack([standard_normal(jax.random.fold_in(key, i)) for i in range(sets.dim)])

    def score(noise: Array, state: LinearState, rows: Array) -> Array:
        scale = as_float(sigma)
        if variant == "theory":
            log_inverse_delta = math.log(horizon) if delta is None else -jnp.log(as_float(delta))
            scale = scale * jnp.sqrt(9 * sets.dim * (jnp.log(as_float(state.round)) + log_inverse_delta))
        drawn = product(state.estimate.root, noise[:, None])
        return estimator.means(state.estimate, rows) + scale * product(rows, drawn)[:, 0]

    prior = sigma * sigma if variant == "heuristic" else 1.0
    return linear_policy("lin_ts", sets, score, regularization=prior, noise=noise, rewards=Rewards(sigma=sigma))
