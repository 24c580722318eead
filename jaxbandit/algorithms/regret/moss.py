"""MOSS: Audibert and Bubeck (2009), Figure 1; without a horizon, MOSS-anytime of Degenne and Perchet (2016)."""

import math

import jax.numpy as jnp

from jaxbandit.algorithms.regret.index_policy import IndexState, index_policy
from jaxbandit.base.arguments import Horizon, NumArms
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array

ANYTIME_ALPHA = 1.35


@declare(question="regret", rewards="in [0, 1]", cost="O(K)", memory="O(K)", settings=({}, {"horizon": 30}))
def moss(num_arms: NumArms, *, horizon: Horizon | None = None) -> Algorithm:
    """Minimax optimal UCB, Audibert and Bubeck 2009; anytime without horizon.

    Return MOSS. The index of an arm pulled s times is mean + sqrt(max(log(n / (K s)), 0) / s) for K arms and the
    horizon n. Without a horizon, n is the round t and the logarithm is multiplied by (1 + alpha) / 2 with alpha = 1.35,
    the value in the regret bound of Degenne and Perchet. Each arm is pulled once first, and ties go to the
    lowest-numbered arm.

    Guarantee: Minimax optimal up to a constant: regret O(sqrt(K T)) whatever the gaps, with the horizon (Audibert and
    Bubeck 2009) or without it (Degenne and Perchet 2016).

    Args:
      horizon: number of rounds n that the index is tuned for, or None for the anytime index.

    Source:
      Audibert and Bubeck (2009), Minimax policies for adversarial and stochastic bandits, COLT, Figure 1; Degenne and
      Perchet (2016), Anytime optimal algorithms in stochastic multi-armed bandits, ICML.
    """

    def index(state: IndexState) -> Array:
        log_ratio = -jnp.log(num_arms * as_float(state.counts))  # log(1 / (K s))
        if horizon is None:
            log_ratio = (1 + ANYTIME_ALPHA) / 2 * (jnp.log(as_float(state.round)) + log_ratio)
        else:
            log_ratio = math.log(horizon) + log_ratio
        return state.means + jnp.sqrt(jnp.maximum(log_ratio, 0.0)) * state.inverse_sqrt_counts

    return index_policy("moss", num_arms, index, rewards=Rewards(0.0, 1.0))
