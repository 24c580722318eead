"""One arm in every round: an oracle if it is the best one, and the largest regret that a rule can have if the worst."""

from typing import Annotated

import jax.numpy as jnp

from jaxbandit.base.arguments import NumArms
from jaxbandit.base.contract import Algorithm, Arms
from jaxbandit.base.declaration import declare
from jaxbandit.base.parameters import Arg
from jaxbandit.support.domains import integer
from jaxbandit.support.numerics import add_at
from jaxbandit.support.types import Array, Key


@declare(question="regret", cost="O(1)", memory="O(K)", settings=({"arm": 0},))
def fixed_arm(
    num_arms: NumArms,
    arm: Annotated[int, Arg(lambda given: integer(0, given["num_arms"] - 1), within="an integer in [0, num_arms)")],
) -> Algorithm:
    """The same arm in every round, a yardstick.

    Return the rule that always pulls one arm.

    Guarantee: Regret of the gap of the arm times T, 0 for the best arm.

    Args:
      arm: the arm.

    Source:
      A yardstick; there is no paper to cite.
    """

    def init(key: Key) -> Array:
        return jnp.zeros(num_arms, jnp.int32)

    def select(noise: None, state: Array, context: None) -> Array:
        return jnp.int32(arm)

    def update(state: Array, context: None, action: Array, reward: Array) -> Array:
        return add_at(state, action, 1)

    return Algorithm(init, select, update, pulls=lambda state: state, arms=Arms(num_arms))
