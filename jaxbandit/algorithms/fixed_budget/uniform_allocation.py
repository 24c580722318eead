"""Uniform allocation of a budget: pull every arm equally often and recommend the largest means. A baseline."""

import jax.numpy as jnp
import numpy as np

from jaxbandit.algorithms.fixed_budget import budgets
from jaxbandit.algorithms.fixed_budget.elimination import elimination
from jaxbandit.base.arguments import Budget, M, NumArms
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.types import Array


@declare(
    question="budget", rewards="in [0, 1]", cost="O(K^2) comparisons, once", memory="O(K)", settings=({}, {"m": 2})
)
def uniform_allocation(num_arms: NumArms, *, m: M = 1, budget: Budget) -> Algorithm:
    """A baseline, pulls every arm equally often and recommends the m largest means.

    Return the rule that pulls each arm floor(budget / num_arms) times and recommends the m largest means.

    Guarantee: P(error) <= the sum of exp(-n gap^2) over pairs of a best arm and another one, with n = floor(budget / K)
    (Hoeffding's inequality).

    Returns:
      It requests all pulls in one batch and then stops.

    Source:
      Bubeck, Munos and Stoltz (2011), Pure exploration in finitely-armed and continuous-armed bandits, Theoretical
      Computer Science 412, for m = 1.
    """
    budgets.check(budget, num_arms, f"a pull of each of {num_arms} arms")

    def schedule() -> Array:
        pulls = budgets.whole(budget) // num_arms
        return jnp.where(np.arange(num_arms) == num_arms - 1, pulls, 0)

    return elimination(num_arms, schedule, budget=budget, m=m)
