"""D-UCB: Garivier and Moulines (2011), Section 3: UCB with counts and sums that are discounted in every round.

Difference: besides the UCB index of the paper there is a kl index.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.non_stationary import tuned
from jaxbandit.algorithms.non_stationary.upper_index import Index, upper_index
from jaxbandit.base.arguments import Horizon, NumArms, NumChanges, Positive, PositiveUnit
from jaxbandit.base.contract import Algorithm, Arms, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import add_at, argmax, as_float
from jaxbandit.support.types import Array, Key


class DUcbState(NamedTuple):
    """Statistics of each arm, which are multiplied by the discount at the end of every round.

    The round just played has been discounted too. A product of a sum is rounded twice in every program, whereas a
    compiler may fuse a sum after a product.
    """

    weights: Array  # float[num_arms], discounted pull counts
    sums: Array  # float[num_arms], discounted sums of rewards
    pulls: Array  # int32[num_arms]


@declare(
    question="regret",
    setting="changing",
    rewards="in [0, bound]",
    cost="O(K)",
    memory="O(K)",
    tries={"discount": (0.9, 1.0), "xi": (0.6, 2.0), "bound": (1.0, 2.0)},
)
def d_ucb(
    num_arms: NumArms,
    *,
    discount: PositiveUnit | None = None,
    index: Index = "ucb",
    xi: Positive = 0.6,
    bound: Positive = 1.0,
    horizon: Horizon | None = None,
    num_changes: NumChanges = 1,
) -> Algorithm:
    """UCB with discounted rewards, Garivier and Moulines 2011.

    Return discounted UCB (D-UCB) for changing means, in which a reward from s rounds ago has weight discount^s.

    With the discounted counts N_a and sums S_a, and n the sum of all N_a, the index is S_a / N_a + 2 B sqrt(xi log n /
    N_a). The kl index is the largest q with kl(S_a / N_a, q) <= log n / N_a.

    Guarantee: Regret O(sqrt(T Y) log T) for a known number of changes Y and gaps bounded away from 0 (Garivier and
    Moulines 2011); not with the index "kl" or xi of at most 1/2.

    In detail, this is for rewards in [0, B] and the default discount, with a constant that grows as gaps shrink.

    Args:
      discount: factor per round; None means the paper's 1 - sqrt(num_changes / horizon) / 4. With 1 nothing is
        forgotten, and it is UCB with the level log(t - 1), in place of the log t of UCB1 and kl-UCB.
      index: "ucb", or "kl" for rewards in [0, 1]; static.
      xi: factor of the logarithm in the UCB index.
      bound: largest reward B, and 1 for the kl index.
      horizon: number of rounds of a run; only for the default of discount.

    Returns:
      It recommends the arm with the largest discounted count.

    Raises:
      ValueError: neither discount nor horizon is given.

    Source:
      Garivier and Moulines (2011), On upper-confidence bound policies for switching bandit problems, ALT, Section 3.
    """
    if discount is None:
        discount = tuned.discount(*tuned.tuned_for("discount", horizon, num_changes))
    tuned.check_bound(bound, index)

    def init(key: Key) -> DUcbState:
        return DUcbState(jnp.zeros(num_arms), jnp.zeros(num_arms), jnp.zeros(num_arms, jnp.int32))

    def select(noise: None, state: DUcbState, context: None) -> Array:
        weights = state.weights / as_float(discount)
        level = jnp.log(jnp.maximum(jnp.sum(weights), 1.0))
        means = state.sums / jnp.where(weights > 0, state.weights, 1.0)
        width = 4 * as_float(bound) ** 2 * as_float(xi)
        return argmax(upper_index(index, means, level, jnp.sqrt(1 / weights), width))

    def update(state: DUcbState, context: None, action: Array, reward: Array) -> DUcbState:
        factor = as_float(discount)
        return DUcbState(
            weights=add_at(state.weights, action, 1) * factor,
            sums=add_at(state.sums, action, reward) * factor,
            pulls=add_at(state.pulls, action, 1),
        )

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.pulls,
        recommend=lambda state: argmax(state.weights),
        arms=Arms(num_arms),
        rewards=Rewards(0.0, bound),
    )
