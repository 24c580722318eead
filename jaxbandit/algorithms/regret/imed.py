"""IMED, indexed minimum empirical divergence: Honda and Takemura (2015), Algorithm 1, for Bernoulli arms.

The divergence is the Bernoulli kl, to which the paper's D_min reduces for rewards in {0, 1}. For other rewards in [0,
1] it is a lower bound on D_min, and this is not the published IMED.
"""

import jax.numpy as jnp

from jaxbandit.algorithms.regret.index_policy import IndexState, index_policy
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.numerics import as_float, bernoulli_kl
from jaxbandit.base.types import Array


@declare(
    question="regret",
    setting="arms",
    rewards="0 or 1",
    cost="O(K)",
    memory="O(K)",
)
def imed(num_arms: int) -> Algorithm:
    """Indexed minimum empirical divergence, Honda and Takemura 2015.

    Return IMED: pull the arm with the smallest N_a kl(mean_a, best mean) + log N_a.

    The policy needs neither a confidence level nor an inversion of the divergence. Arms that attain the best empirical
    mean have divergence 0 and index log N_a, so the least pulled of them comes first. While the best empirical mean is
    1, every arm with a mean below 1 has an infinite index and is not pulled until the best mean has fallen. Each arm is
    pulled once first, and ties go to the lowest-numbered arm.

    Guarantee: Asymptotically optimal for Bernoulli rewards with a best mean below 1 (Honda and Takemura 2015).

    Args:
      num_arms: number of arms, an integer >= 1; static.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[] in {0, 1}. Other rewards in [0, 1] are
      accepted, but the guarantee does not cover them.

    Raises:
      ValueError: num_arms is not a positive integer.

    Source:
      Honda and Takemura (2015), Non-asymptotic analysis of a new bandit algorithm for semi-bounded rewards, JMLR 16,
      Algorithm 1.
    """

    def index(state: IndexState) -> Array:
        n = as_float(state.counts)
        divergence = bernoulli_kl(state.means, jnp.max(state.means))
        return -(n * divergence + jnp.log(n))

    return index_policy("imed", num_arms, index, rewards=Rewards(0.0, 1.0))
