"""Uniform allocation of a budget: pull every arm equally often and recommend the largest means. A baseline."""

import jax.numpy as jnp
import numpy as np

from jaxbandit.algorithms.fixed_budget import budgets
from jaxbandit.algorithms.fixed_budget.elimination import elimination
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support import checks
from jaxbandit.support.types import Array, Scalar


@declare(
    question="budget",
    setting="arms",
    rewards="in [0, 1]",
    finds="m",
    cost="O(K^2) comparisons, once",
    memory="O(K)",
    tries={"budget": (30.0, 41.0)},
    settings=({}, {"m": 2}),
)
def uniform_allocation(num_arms: int, *, m: int = 1, budget: Scalar) -> Algorithm:
    """A baseline, pulls every arm equally often and recommends the m largest means.

    Return the rule that pulls each arm floor(budget / num_arms) times and recommends the m largest means.

    Guarantee: P(error) <= the sum of exp(-n gap^2) over pairs of a best arm and another one, with n = floor(budget / K)
    (Hoeffding's inequality).

    Args:
      num_arms: number of arms, an integer >= 1; static.
      m: number of arms to find, an integer in [1, num_arms - 1], or 1 with one arm; static.
      budget: number of pulls, a whole number >= num_arms; traced.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[m], the best arm
      first. It requests all pulls in one batch and then stops.

    Raises:
      ValueError: an argument is out of range.

    Source:
      Bubeck, Munos and Stoltz (2011), Pure exploration in finitely-armed and continuous-armed bandits, Theoretical
      Computer Science 412, for m = 1.
    """
    where = "uniform_allocation"
    num_arms = checks.integer(where, "num_arms", num_arms, 1)
    m = checks.integer(where, "m", m, 1, max(num_arms - 1, 1))
    budgets.check(where, budget, num_arms, f"a pull of each of {num_arms} arms")

    def schedule() -> Array:
        pulls = budgets.whole(budget) // num_arms
        return jnp.where(np.arange(num_arms) == num_arms - 1, pulls, 0)

    return elimination(where, num_arms, schedule, budget=budget, m=m)
