"""A race for unknown variances that is given a budget: it ends by its own rule, or where no further round fits."""

from typing import Literal

import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.algorithms.best_arm.kim_nelson import kim_nelson
from jaxbandit.algorithms.best_arm.paired_race import paired_race
from jaxbandit.algorithms.fixed_budget import budgets
from jaxbandit.base import Algorithm
from jaxbandit.types import Array, PyTree, Scalar


def budgeted_race(
    num_arms: int,
    *,
    rule: Literal["paired_race", "kim_nelson"] = "paired_race",
    epsilon: Scalar,
    delta: Scalar = 0.05,
    budget: Scalar,
) -> Algorithm:
    """Return a race that recommends its best survivor when it is over, or when the budget has no further round.

    A round pulls every survivor once. Of a run that ends by the race's own rule what the race promises still holds; of
    one that the budget ends, the survivor of largest mean is recommended, of equal means the lowest, and nothing is
    proved. The rule knows its budget at the end alone, where `sequential_halving` plans by it.

    Args:
      num_arms: number of arms, in [2, 5000], static.
      rule: which race, static.
      epsilon: of the race, traced: >= 0, and > 0 of "kim_nelson".
      delta: allowed error rate of the race, in (0, 1), traced.
      budget: pulls, a whole number >= num_arms, traced.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[1]. It asks for each
      round in one batch.

    Raises:
      ValueError: an argument is out of range.
    """
    where = "budgeted_race"
    checks.choice(where, "rule", rule, ("paired_race", "kim_nelson"))
    factory = paired_race if rule == "paired_race" else kim_nelson
    own = factory(num_arms, delta=delta, epsilon=epsilon)
    budgets.check(where, budget, num_arms, f"a pull of each of {num_arms} arms")
    assert own.batch is not None and own.pulls is not None
    plan, pulls = own.batch.plan, own.pulls

    def stop(state: PyTree) -> Array:
        asked = jnp.sum(pulls(state)) + jnp.sum(plan(state))  # in the midst of a round, what is left of it
        return own.stop(state) | (asked > budgets.whole(budget))

    return own._replace(stop=stop, promise=None, budget=budget, name=where)
