"""Uniform exploration: every round pulls a uniformly random arm. A baseline whose regret is linear."""

import jax

from jaxbandit.base.arguments import NumArms
from jaxbandit.base.contract import Algorithm, Arms, Offer
from jaxbandit.base.declaration import declare
from jaxbandit.base.offers import available_of, uniform_arm
from jaxbandit.support.types import Array
from jaxbandit.theory.estimators import counts as estimator
from jaxbandit.theory.estimators.counts import Counts


@declare(question="regret", cost="O(1)", memory="O(K)")
def uniform(num_arms: NumArms) -> Algorithm:
    """A uniformly random arm in each round.

    It recommends the arm with the largest empirical mean, because pull counts say nothing; ties go to the
    lowest-numbered arm.

    Guarantee: None: a baseline whose regret grows linearly.

    Source:
      A standard baseline; there is no paper to cite.
    """

    def select(noise: Array, state: Counts, context: Offer | None) -> Array:
        return uniform_arm(available_of(context), noise, num_arms)

    def update(state: Counts, context: Offer | None, action: Array, reward: Array) -> Counts:
        return estimator.update(state, action, reward)[0]

    return Algorithm(
        init=lambda key: estimator.init(num_arms, from_first=True),
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        recommend=estimator.best_mean,
        noise=lambda key: jax.random.uniform(key),
        arms=Arms(num_arms),
    )
