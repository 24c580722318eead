"""UCB1-tuned: Auer, Cesa-Bianchi and Fischer (2002), Section 4. No theorem covers it."""

import jax.numpy as jnp

from jaxbandit.algorithms.regret.index_policy import IndexState, index_policy
from jaxbandit.base.arguments import NumArms
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import exploration_level
from jaxbandit.support.types import Array


@declare(question="regret", rewards="in [0, 1]", cost="O(K)", memory="O(K)")
def ucb_tuned(num_arms: NumArms) -> Algorithm:
    """UCB1-tuned, with an upper bound on the variance of each arm, Auer et al. 2002.

    Return UCB1-tuned: the index is mean_a + sqrt(log(t) / N_a min(1/4, V_a)), V_a = variance_a + sqrt(2 log(t) / N_a),
    where the variance has the divisor N_a. Each arm is pulled once first, and ties go to the lowest-numbered arm.

    Guarantee: None: the paper recommends it for its results in practice and proves nothing. `ucb_v` is a rule with
    variances and a theorem.

    Source:
      Auer, Cesa-Bianchi and Fischer (2002), Finite-time analysis of the multiarmed bandit problem, Machine Learning 47,
      Section 4.
    """

    def index(state: IndexState) -> Array:
        inverse = state.inverse_sqrt_counts
        level = exploration_level(state.round)
        spread = state.squares * inverse * inverse + jnp.sqrt(2 * level) * inverse
        return state.means + jnp.sqrt(level * jnp.minimum(spread, 0.25)) * inverse

    return index_policy("ucb_tuned", num_arms, index, squares=True, rewards=Rewards(0.0, 1.0))
