"""IMED, indexed minimum empirical divergence: Honda and Takemura (2015), Algorithm 1, for Bernoulli arms.

Pulls argmin_i N_i kl(mean_i, best mean) + log N_i. Differs: kl is the Bernoulli divergence, to which D_min of the
paper reduces for rewards in {0, 1}; for other rewards in [0, 1] it is a lower bound of D_min, and this is not IMED.
"""

import jax.numpy as jnp

from jaxbandit.algorithms.regret.index_policy import IndexState, index_policy
from jaxbandit.base import Algorithm, Rewards
from jaxbandit.numerics import as_float, bernoulli_kl
from jaxbandit.types import Array


def imed(num_arms: int) -> Algorithm:
    """Return IMED, asymptotically optimal without a confidence level or a maximisation over q.

    Arms of the best empirical mean have index log N exactly (kl = 0), so the least pulled of them comes first. While
    the best mean is 1 every arm below 1 has an infinite index: such an arm waits until that mean has fallen.

    Args:
      num_arms: number of arms, >= 1, static.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[] in {0, 1} (or [0, 1], see above).

    Raises:
      ValueError: num_arms is not a positive integer.

    Source: Honda and Takemura (2015), Non-asymptotic analysis of a new bandit algorithm for semi-bounded rewards,
      JMLR 16.
    """

    def index(state: IndexState) -> Array:
        n = as_float(state.counts)
        divergence = bernoulli_kl(state.means, jnp.max(state.means))
        return -(n * divergence + jnp.log(n))

    return index_policy("imed", num_arms, index, rewards=Rewards(0.0, 1.0))
