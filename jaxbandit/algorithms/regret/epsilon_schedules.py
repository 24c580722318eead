"""Epsilon-greedy with an epsilon that changes: all exploration first, or epsilon_n of Auer et al. (2002), Figure 3.

Unlike in `epsilon_greedy`, an arm without a reward is only preferred in rounds that exploit. Ties go to the
lowest-numbered arm.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.base.arguments import ClosedUnit, Horizon, NumArms, Positive, PositiveUnit
from jaxbandit.base.contract import Algorithm, Arms, Offer
from jaxbandit.base.declaration import declare
from jaxbandit.base.offers import available_of, best_available, uniform_arm
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import counts as estimator
from jaxbandit.theory.estimators.counts import Counts


class ScheduleState(NamedTuple):
    """The round, and what is known of the arms."""

    round: Array  # int32[], the round about to be played, from 1
    arms: Counts


@declare(question="regret", cost="O(K)", memory="O(K)", tries={"epsilon": (0.1, 0.0, 1.0)}, settings=({"horizon": 30},))
def epsilon_first(num_arms: NumArms, *, horizon: Horizon, epsilon: ClosedUnit = 0.1) -> Algorithm:
    """Random arms in a share epsilon of the rounds, all of them first; then the largest empirical mean.

    Return the rule that explores in the rounds t <= epsilon T and is greedy in the others.

    Guarantee: None: regret grows linearly with the horizon, because the share of exploration is constant.

    Args:
      epsilon: share of the rounds that explore. It is rounded up to a whole number of rounds.

    Source:
      Tran-Thanh, Chapman, Munoz de Cote, Rogers and Jennings (2010), Epsilon-first policies for budget-limited
      multi-armed bandits, AAAI, without a budget.
    """

    def probability(round: Array) -> Array:
        share = as_float(epsilon) * (1 - 2.0**-22)  # so that rounding does not make 0.1 x 10,000 more than 1,000
        return as_float(as_float(round - 1) < share * horizon)

    return _rule(num_arms, probability)


@declare(question="regret", rewards="in [0, 1]", cost="O(K)", memory="O(K)", tries={"c": (0.1, 5.0), "d": (0.2, 1.0)})
def epsilon_decreasing(num_arms: NumArms, *, c: Positive = 0.1, d: PositiveUnit = 0.2) -> Algorithm:
    """Epsilon-greedy with epsilon proportional to 1/t, Auer et al. 2002.

    Return epsilon_n-greedy: a random arm with probability min(1, c K / (d^2 t)), else the largest empirical mean.

    Guarantee: With c > 5 and d at most the smallest gap, the probability of a suboptimal arm in round t is at most c /
    (d^2 t) to first order, so the regret is logarithmic (Auer et al. 2002, Theorem 3); the defaults are not covered.

    Args:
      c: weight of the exploration. The paper's experiments have 0.05 to 0.3.
      d: a lower bound on the smallest gap.

    Source:
      Auer, Cesa-Bianchi and Fischer (2002), Finite-time analysis of the multiarmed bandit problem, Machine Learning 47,
      Figure 3 and Theorem 3.
    """

    def probability(round: Array) -> Array:
        return as_float(c) * num_arms / (as_float(d) ** 2 * as_float(round))

    return _rule(num_arms, probability)


def _rule(num_arms: int, probability: Callable[[Array], Array]) -> Algorithm:
    """Return the rule that explores in round t with this probability, at most 1."""

    def init(key: Key) -> ScheduleState:
        return ScheduleState(jnp.ones((), jnp.int32), estimator.init(num_arms, from_first=True))

    def noise(key: Key) -> Array:
        """Return two uniform numbers in [0, 1): whether to explore, and which arm."""
        return jax.random.uniform(key, (2,))

    def select(noise: Array, state: ScheduleState, context: Offer | None) -> Array:
        greedy = best_available(context, jnp.where(state.arms.counts > 0, state.arms.means, jnp.inf))
        explores = noise[0] < probability(state.round)
        return jnp.where(explores, uniform_arm(available_of(context), noise[1], num_arms), greedy)

    def update(state: ScheduleState, context: Offer | None, action: Array, reward: Array) -> ScheduleState:
        return ScheduleState(state.round + 1, estimator.update(state.arms, action, reward)[0])

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.arms.counts,
        recommend=lambda state: estimator.best_mean(state.arms),
        noise=noise,
        arms=Arms(num_arms),
    )
