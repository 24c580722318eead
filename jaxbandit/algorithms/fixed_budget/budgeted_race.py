"""A race for rewards of unknown variances with a budget: it ends by its own rule, or when no further round fits."""

from typing import Literal

import jax.numpy as jnp

from jaxbandit.algorithms.best_arm.kim_nelson import kim_nelson
from jaxbandit.algorithms.best_arm.paired_race import paired_race
from jaxbandit.algorithms.fixed_budget import budgets
from jaxbandit.base.arguments import Budget, Delta, NonNegative, SeveralArms
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.types import Array, PyTree


@declare(
    question="budget",
    rewards="Gaussian, variances unknown",
    cost="O(K^2) a batch of one pull of each survivor",
    memory="O(K^2)",
    tries={"epsilon": (0.1, 0.3), "delta": (0.1, 0.3)},
)
def budgeted_race(
    num_arms: SeveralArms,
    *,
    rule: Literal["paired_race", "kim_nelson"] = "paired_race",
    epsilon: NonNegative,
    delta: Delta = 0.05,
    budget: Budget,
) -> Algorithm:
    """A race that stops by its own rule or when its budget is spent.

    Each round pulls every surviving arm once. The run also ends when the budget does not allow another round;
    `sequential_halving`, in contrast, plans its rounds by it.

    Guarantee: That of the race, if the run ends by the race's own rule; none if the budget ends it.

    In detail, if the budget ends the run, the survivor with the largest mean is recommended (ties to the
    lowest-numbered arm).

    Args:
      rule: the race, "paired_race" or "kim_nelson".
      epsilon: epsilon of the race, in the unit of the rewards, and > 0 for "kim_nelson".

    Returns:
      It requests each round in one batch.

    Source:
      The races are those of `paired_race` and `kim_nelson`; the budget is an addition of this library.
    """
    factory = paired_race if rule == "paired_race" else kim_nelson
    own = factory(num_arms, delta=delta, epsilon=epsilon)
    budgets.check(budget, num_arms, f"a pull of each of {num_arms} arms")
    assert own.batch is not None and own.pulls is not None and own.stop is not None
    plan, pulls, decided = own.batch.plan, own.pulls, own.stop

    def stop(state: PyTree) -> Array:
        asked = jnp.sum(pulls(state)) + jnp.sum(plan(state))  # within a round, the rest of it
        return decided(state) | (asked > budgets.whole(budget))

    return own._replace(stop=stop, promise=None, budget=budget, name="budgeted_race")
