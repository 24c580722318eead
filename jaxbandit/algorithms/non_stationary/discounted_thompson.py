"""Discounted Thompson sampling (Raj and Kalyani 2017): Beta posteriors whose evidence is discounted in every round.

Differences: a reward between 0 and 1 counts as a fraction of a success, and the rest as a failure, without a Bernoulli
draw; and all arms are discounted once per round.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.non_stationary import tuned
from jaxbandit.base.arguments import Horizon, NumArms, NumChanges, PositiveUnit
from jaxbandit.base.contract import Algorithm, Arms, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import add_at, argmax, as_float
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.solvers.beta import beta_shape, draw_logits, draw_pairs, words_of_pairs


class DiscountedThompsonState(NamedTuple):
    """The evidence on each arm, multiplied by the discount at the end of every round, also the one just played."""

    successes: Array  # float[num_arms], discounted sums of rewards
    failures: Array  # float[num_arms], discounted sums of 1 - reward
    pulls: Array  # int32[num_arms]


@declare(
    question="regret",
    setting="changing",
    rewards="in [0, 1]",
    cost="O(K), one Beta draw an arm",
    memory="O(K)",
    tries={"discount": (0.9, 1.0)},
)
def discounted_thompson(
    num_arms: NumArms,
    *,
    discount: PositiveUnit | None = None,
    horizon: Horizon | None = None,
    num_changes: NumChanges = 1,
) -> Algorithm:
    """Thompson sampling with discounted evidence, Raj and Kalyani 2017.

    Return discounted Thompson sampling with posteriors Beta(1 + S, 1 + F): after every round the numbers S and F of
    successes and failures are multiplied by the discount, for all arms. Each round pulls the arm with the largest draw.

    Guarantee: None: the paper bounds the probability of pulling a worse arm, for two arms only.

    Args:
      discount: factor per round; None means 1 - sqrt(num_changes / horizon) / 4. With 1 it is `thompson` with a uniform
        prior: it makes the same draws, and on Bernoulli rewards takes the same actions.
      horizon: number of rounds of a run; only for the default of discount.

    Returns:
      It recommends the arm with the largest discounted count.

    Raises:
      ValueError: neither discount nor horizon is given.

    Source:
      Raj and Kalyani (2017), Taming non-stationary bandits: a Bayesian approach, arXiv:1707.09727.
    """
    if discount is None:
        discount = tuned.discount(*tuned.tuned_for("discount", horizon, num_changes))

    def init(key: Key) -> DiscountedThompsonState:
        return DiscountedThompsonState(jnp.zeros(num_arms), jnp.zeros(num_arms), jnp.zeros(num_arms, jnp.int32))

    def select(noise: Array, state: DiscountedThompsonState, context: None) -> Array:
        factor = as_float(discount)
        words = words_of_pairs(noise)[:num_arms]
        return argmax(draw_logits(words, beta_shape(1 + state.successes / factor, 1 + state.failures / factor)))

    def update(state: DiscountedThompsonState, context: None, action: Array, reward: Array) -> DiscountedThompsonState:
        factor = as_float(discount)
        return DiscountedThompsonState(
            successes=add_at(state.successes, action, reward) * factor,
            failures=add_at(state.failures, action, 1 - reward) * factor,
            pulls=add_at(state.pulls, action, 1),
        )

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.pulls,
        recommend=lambda state: argmax(state.successes + state.failures),
        noise=lambda key: draw_pairs(key, num_arms + 1),  # the words of `thompson`, whose last is not used here
        arms=Arms(num_arms),
        rewards=Rewards(0.0, 1.0),
    )
