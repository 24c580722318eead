"""Optimally confident UCB in its anytime form: Lattimore (2016), OCUCB-n."""

from typing import Annotated

import jax.numpy as jnp

from jaxbandit.algorithms.regret.index_policy import IndexState, index_policy
from jaxbandit.base.arguments import AboveOne, NumArms, Sigma
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.parameters import Arg
from jaxbandit.support.domains import number
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, Scalar


@declare(
    question="regret",
    rewards="sub-Gaussian, scale given",
    cost="O(K^2)",
    memory="O(K)",
    tries={"eta": (1.1, 2.0), "rho": (1.0, 0.6)},
)
def oc_ucb(
    num_arms: NumArms,
    *,
    eta: AboveOne = 1.1,
    rho: Annotated[Scalar, Arg(number(0.5, 1, open_low=True))] = 1.0,
    sigma: Sigma = 1.0,
) -> Algorithm:
    """Optimally confident UCB without a horizon, Lattimore 2016.

    Return OCUCB-n: the index is mean_a + sigma sqrt(2 eta log(B_a) / N_a) with B_a = max(e, log t, t log t / H_a), and
    H_a the sum over b of min(N_a, N_b^rho N_a^(1 - rho)). Each arm is pulled once first, and ties go to the
    lowest-numbered arm.

    Guarantee: For sub-Gaussian rewards, eta > 1 and rho in (1/2, 1], regret within a constant factor of the best finite
    bounds known, for all gaps at the same time (Lattimore 2016); the defaults are our choice among these.

    Args:
      eta: factor of the squared width.
      rho: weight of the pulls of other arms, in (1/2, 1]; traced.

    Source:
      Lattimore (2016), Regret analysis of the anytime optimally confident UCB algorithm, arXiv:1603.08661, Algorithm 1.
    """

    def index(state: IndexState) -> Array:
        n, t = as_float(state.counts), as_float(state.round)
        logs, power = jnp.log(n), as_float(rho)
        mixed = jnp.exp(power * logs[None] + (1 - power) * logs[:, None])
        near = jnp.sum(jnp.minimum(n[:, None], mixed), 1)
        level = jnp.log(jnp.maximum(jnp.maximum(jnp.log(t), jnp.e), t * jnp.log(t) / near))
        width = jnp.sqrt(2 * as_float(eta) * level)
        return state.means + as_float(sigma) * width * state.inverse_sqrt_counts

    return index_policy("oc_ucb", num_arms, index, invariant=True, rewards=Rewards(sigma=sigma))
