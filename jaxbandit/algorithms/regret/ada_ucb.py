"""AdaUCB: Lattimore (2018), Refining the confidence level for optimistic bandit strategies, Algorithm 1."""

import jax.numpy as jnp

from jaxbandit.algorithms.regret.index_policy import IndexState, index_policy
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support import checks
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, Scalar


@declare(
    question="regret",
    setting="arms",
    rewards="sub-Gaussian, scale given",
    cost="O(K^2)",
    memory="O(K)",
    tries={"sigma": (1.0, 0.5)},
    settings=({"horizon": 30},),
)
def ada_ucb(num_arms: int, *, horizon: int, sigma: Scalar = 1.0) -> Algorithm:
    """AdaUCB, whose confidence level depends on the pulls of all arms, Lattimore 2018.

    Return AdaUCB: the index is mean_a + sigma sqrt(2 l(T / H_a) / N_a), H_a the sum over b of min(N_a, sqrt(N_a N_b)).

    l(x) = log((x + e) sqrt(log(x + e))). Each arm is pulled once first, and ties go to the lowest-numbered arm.

    Guarantee: For normal rewards of standard deviation sigma, asymptotically optimal, regret O(sqrt(K T)) whatever the
    gaps, and never more than a constant factor above that of UCB (Lattimore 2018).

    Args:
      num_arms: number of arms, an integer >= 1; static.
      horizon: number of rounds T, an integer >= 1; static.
      sigma: standard deviation, or sub-Gaussian scale, of the rewards, > 0 (1/2 for rewards in [0, 1]); traced.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[].

    Raises:
      ValueError: an argument is out of range.

    Source:
      Lattimore (2018), Refining the confidence level for optimistic bandit strategies, JMLR 19, Algorithm 1.
    """
    horizon = checks.integer("ada_ucb", "horizon", horizon, 1)
    checks.number("ada_ucb", "sigma", sigma, low=0.0, open_low=True)

    def index(state: IndexState) -> Array:
        n = as_float(state.counts)
        near = jnp.sum(jnp.minimum(n[:, None], jnp.sqrt(n[:, None] * n[None])), 1)
        x = horizon / near + jnp.e
        level = jnp.log(x) + jnp.log(jnp.log(x)) / 2
        return state.means + as_float(sigma) * jnp.sqrt(2 * level) * state.inverse_sqrt_counts

    return index_policy("ada_ucb", num_arms, index, invariant=True, rewards=Rewards(sigma=sigma))
