"""Bandits with knapsacks: arms pay and cost, and a run is over when a budget is spent; Badanidiyuru et al. (2018)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.base.arguments import AtLeastOne, UnitVector
from jaxbandit.base.contract import Arms, Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support import checks
from jaxbandit.support.numerics import as_float, get_at
from jaxbandit.support.types import Array, ArrayLike, Key

Paid = tuple[Array, Array]  # reward float[], costs float[num_resources]


class KnapsackState(NamedTuple):
    """The true means of one run, and what has been spent."""

    rewards: Array  # float[num_arms]
    costs: Array  # float[num_arms, num_resources]
    spent: Array  # int32[num_resources], number of units


@declare(settings=({"rewards": (0.7, 0.5, 0.3), "costs": (0.9, 0.4, 0.1), "budget": 20},))
def knapsack(rewards: UnitVector, costs: ArrayLike, budget: AtLeastOne) -> Environment:
    """Arms that pay and cost, until a budget is spent.

    A pull pays 0 or 1 and costs 0 or 1 unit of each resource, independently. A run is over as soon as another unit of
    some resource cannot be paid from its budget, even if the next pulls would cost nothing; rounds after that count
    nothing. No regret is defined for a single round: give `simulate` a metric, such as
    `metrics={"reward": jb.metrics.reward}`. `bounds.knapsack_bound` is the most that a plan can earn on average.

    Args:
      rewards: float[num_arms], mean rewards.
      costs: float[num_arms] or float[num_arms, num_resources] in [0, 1], mean costs; traced.
      budget: units of every resource, at least 1.

    Returns:
      An Environment with actions int32[] and feedback (reward, costs), float[] and float[num_resources]. An algorithm
      may know the budget and num_resources.

    Raises:
      ValueError: the numbers of arms differ.

    Source:
      Badanidiyuru, Kleinberg and Slivkins (2018), Bandits with knapsacks, Journal of the ACM 65.
    """
    costs = checks.take("costs", costs, checks.arrays(ndim=1 + (checks.axes(costs) > 1), low=0.0, high=1.0))
    num_arms = len(rewards)
    if len(costs) != num_arms:
        raise ValueError(f"costs has {len(costs)} rows, must have {num_arms}, one for each arm")
    costs = costs.reshape(num_arms, -1)
    resources = costs.shape[1]

    def init(key: Key) -> KnapsackState:
        return KnapsackState(as_float(rewards), as_float(costs), jnp.zeros(resources, jnp.int32))

    def noise(key: Key) -> Array:
        return jax.random.uniform(key, (1 + resources,))

    def units(state: KnapsackState, action: Array, noise: Array) -> Array:
        return noise[1:] < jax.lax.dynamic_index_in_dim(state.costs, action, 0, keepdims=False)

    def reward(state: KnapsackState, context: None, action: Array, noise: Array) -> Paid:
        return as_float(noise[0] < get_at(state.rewards, action)), as_float(units(state, action, noise))

    def transition(state: KnapsackState, context: None, action: Array, noise: Array) -> KnapsackState:
        return state._replace(spent=state.spent + units(state, action, noise).astype(jnp.int32))

    def over(state: KnapsackState) -> Array:
        return jnp.any(as_float(state.spent) + 1 > as_float(budget))

    return Environment(
        init=init,
        noise=noise,
        reward=reward,
        transition=transition,
        over=over,
        arms=Arms(num_arms),
        rewards=Rewards(0.0, 1.0, sigma=0.5),
        known=lambda: {"budget": budget, "num_resources": resources},
    )
