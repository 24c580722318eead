"""AdaUCB: Lattimore (2018), Refining the confidence level for optimistic bandit strategies, Algorithm 1."""

import jax.numpy as jnp

from jaxbandit.algorithms.regret.index_policy import IndexState, index_policy
from jaxbandit.base.arguments import Horizon, NumArms, Sigma
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array


@declare(
    question="regret", rewards="sub-Gaussian, scale given", cost="O(K^2)", memory="O(K)", settings=({"horizon": 30},)
)
def ada_ucb(num_arms: NumArms, *, horizon: Horizon, sigma: Sigma = 1.0) -> Algorithm:
    """AdaUCB, whose confidence level depends on the pulls of all arms, Lattimore 2018.

    Return AdaUCB: the index is mean_a + sigma sqrt(2 l(T / H_a) / N_a), H_a the sum over b of min(N_a, sqrt(N_a N_b)),
    and l(x) = log((x + e) sqrt(log(x + e))). Each arm is pulled once first, and ties go to the lowest-numbered arm.

    Guarantee: For normal rewards of standard deviation sigma, asymptotically optimal, regret O(sqrt(K T)) whatever the
    gaps, and never more than a constant factor above that of UCB (Lattimore 2018).

    Source:
      Lattimore (2018), Refining the confidence level for optimistic bandit strategies, JMLR 19, Algorithm 1.
    """

    def index(state: IndexState) -> Array:
        n = as_float(state.counts)
        near = jnp.sum(jnp.minimum(n[:, None], jnp.sqrt(n[:, None] * n[None])), 1)
        x = horizon / near + jnp.e
        level = jnp.log(x) + jnp.log(jnp.log(x)) / 2
        return state.means + as_float(sigma) * jnp.sqrt(2 * level) * state.inverse_sqrt_counts

    return index_policy("ada_ucb", num_arms, index, invariant=True, rewards=Rewards(sigma=sigma))
