"""Epsilon-greedy: Sutton and Barto (2018), Reinforcement Learning, Section 2.4; Auer et al. (2002), Figure 3.

Epsilon is constant as in Sutton and Barto. Differences: every arm is pulled once first, and ties between greedy arms go
to the lowest-numbered arm instead of a random one. `epsilon_decreasing` has the epsilon_n of Auer et al.
"""

import jax
import jax.numpy as jnp

from jaxbandit.base.arguments import ClosedUnit, NumArms
from jaxbandit.base.contract import Algorithm, Arms, Offer
from jaxbandit.base.declaration import declare
from jaxbandit.base.offers import available_of, best_available, uniform_arm
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import counts as estimator
from jaxbandit.theory.estimators.counts import Counts


@declare(question="regret", cost="O(K)", memory="O(K)", tries={"epsilon": (0.1, 0.0, 1.0)})
def epsilon_greedy(num_arms: NumArms, *, epsilon: ClosedUnit = 0.1) -> Algorithm:
    """The arm with the largest empirical mean, a random one with probability epsilon.

    Otherwise the arm with the largest empirical mean is pulled, which is also the recommendation. Each arm is pulled
    once before anything else.

    Guarantee: None: regret grows linearly, because epsilon is constant.

    Args:
      epsilon: probability of exploring. An exploring round may also draw the greedy arm.

    Source:
      Sutton and Barto (2018), Reinforcement Learning: An Introduction, MIT Press, equation (2.2) and the boxed
      algorithm of Section 2.4.
    """

    def noise(key: Key) -> Array:
        """Return a uniform number that selects the arm to explore, float[], or -1 in a round that exploits."""
        below_one = 1 - 2.0**-24
        u = jnp.minimum(as_float(jax.random.bits(key, (), jnp.uint32)) * 2.0**-32, below_one)
        bound = as_float(epsilon)
        return jnp.where(u < bound, jnp.minimum(u / jnp.maximum(bound, 2.0**-32), below_one), -1.0)

    def select(noise: Array, state: Counts, context: Offer | None) -> Array:
        score = jnp.where(state.counts > 0, state.means, jnp.inf)  # an arm without a reward comes first
        drawn = jnp.where(noise < 0, -1, uniform_arm(available_of(context), noise, num_arms))
        explored = (jnp.arange(num_arms, dtype=jnp.int32) == drawn) & (score < jnp.inf)
        return best_available(context, jnp.where(explored, jnp.finfo(score.dtype).max, score))

    def update(state: Counts, context: Offer | None, action: Array, reward: Array) -> Counts:
        return estimator.update(state, action, reward)[0]

    return Algorithm(
        init=lambda key: estimator.init(num_arms, from_first=True),
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        recommend=estimator.best_mean,
        noise=noise,
        arms=Arms(num_arms),
    )
