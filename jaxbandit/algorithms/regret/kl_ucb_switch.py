"""kl-UCB-switch: Garivier, Hadiji, Menard and Stoltz (2022), Section 2; with and without a horizon.

The paper's divergence is that of the empirical distribution, as in `kl_ucb_empirical`. It is the Bernoulli kl for
rewards 0 and 1; for others the index is wider and asymptotic optimality is not proved.
"""

import math

import jax.numpy as jnp

from jaxbandit.algorithms.regret.index_policy import IndexState, index_policy
from jaxbandit.algorithms.regret.kl_ucb_plus import doubly_logarithmic
from jaxbandit.base.arguments import Horizon, NumArms
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers.kl import kl_upper


@declare(
    question="regret",
    rewards="in [0, 1]",
    cost="O(K), one numerical inversion of kl an arm",
    memory="O(K)",
    settings=({}, {"horizon": 30}),
)
def kl_ucb_switch(num_arms: NumArms, *, horizon: Horizon | None = None) -> Algorithm:
    """kl-UCB for arms with few pulls and MOSS for the others, Garivier et al. 2022; anytime without horizon.

    With x = T / (K N_a), the index of an arm with N_a <= floor((T / K)^(1/5)) is the largest q with kl(mean_a, q) <=
    max(0, log x) / N_a, and that of other arms mean_a + sqrt(max(0, log x) / (2 N_a)). Without a horizon T is the round
    t, and log x is replaced by log(x (1 + max(0, log x)^2)). Each arm is pulled once first, and ties go to the
    lowest-numbered arm.

    Guarantee: Regret of at most K - 1 + 23 sqrt(K T) for rewards in [0, 1], 44 in place of 23 without the horizon, and
    asymptotically optimal for Bernoulli rewards (Garivier, Hadiji, Menard and Stoltz 2022).

    Args:
      horizon: number of rounds T, or None for the anytime index.

    Source:
      Garivier, Hadiji, Menard and Stoltz (2022), KL-UCB-Switch: optimal regret bounds for stochastic bandits from both
      a distribution-dependent and a distribution-free viewpoints, JMLR 23, Section 2.
    """

    def index(state: IndexState) -> Array:
        n = as_float(state.counts)
        if horizon is None:
            log_rounds = jnp.log(as_float(state.round) / num_arms)
            level = doubly_logarithmic(log_rounds - jnp.log(n)) / n
        else:
            log_rounds = as_float(math.log(horizon / num_arms))
            level = jnp.maximum(log_rounds - jnp.log(n), 0.0) / n
        # n is whole: n <= floor(x) iff n <= x; the margin makes x = n itself independent of rounding.
        few = jnp.log(n) <= log_rounds / 5 + 1e-6
        return jnp.where(few, kl_upper(state.means, level), state.means + jnp.sqrt(level / 2))

    return index_policy("kl_ucb_switch", num_arms, index, rewards=Rewards(0.0, 1.0))
