"""UCB-E, an upper confidence bound with a fixed amount of exploration: Audibert, Bubeck and Munos (2010)."""

import jax.numpy as jnp

from jaxbandit.algorithms.fixed_budget import budgets
from jaxbandit.algorithms.regret.index_policy import IndexState, index_policy
from jaxbandit.base.arguments import Budget, NumArms, Positive
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import argmax, as_float
from jaxbandit.support.types import Array


@declare(question="budget", rewards="in [0, 1]", cost="O(K)", memory="O(K)", tries={"a": (2.0, 0.5)})
def ucb_e(
    num_arms: NumArms,
    *,
    budget: Budget,
    a: Positive | None = None,
    c: Positive | None = None,
    h1: Positive | None = None,
) -> Algorithm:
    """An upper confidence bound with a fixed amount of exploration, Audibert et al. 2010.

    Return UCB-E, which pulls the arm with the largest mean + sqrt(a / n) until the budget is spent; n is its number of
    pulls. Each arm is pulled once first. The arm with the largest mean is recommended.

    Guarantee: P(error) <= 2 budget K exp(-2 a / 25) if a <= 25 (budget - K) / (36 H1), so H1 has to be known (Audibert
    et al. 2010).

    In detail, for rewards in [0, 1] and H1 as in `jaxbandit.bounds.h1`. A larger `a`, for which nothing is proved,
    often makes fewer errors.

    Args:
      a: amount of exploration; None if c and h1 are given.
      c: together with h1 it replaces a by c budget / h1. 25/36 is nearly the largest value for which the bound holds.
      h1: H1 of the instance.

    Raises:
      ValueError: the call gives neither a nor both c and h1, or more than that.

    Source:
      Audibert, Bubeck and Munos (2010), Best arm identification in multi-armed bandits, COLT, Figure 2 and Theorem 1.
    """
    budgets.check(budget, num_arms, f"a pull of each of {num_arms} arms")
    if (a is None) == (c is None) or (c is None) != (h1 is None):
        given = ", ".join(name for name, value in (("a", a), ("c", c), ("h1", h1)) if value is not None)
        raise ValueError(f"{given or 'neither a nor c'} given, must be either a or both of c and h1")

    def exploration() -> Array:
        if c is None or h1 is None:
            return as_float(a)  # pyright: ignore[reportArgumentType]
        return as_float(c) * as_float(budget) / as_float(h1)

    def index(state: IndexState) -> Array:
        return state.means + jnp.sqrt(exploration()) * state.inverse_sqrt_counts

    return index_policy("ucb_e", num_arms, index, invariant=True)._replace(
        recommend=lambda state: argmax(state.means)[None],
        stop=lambda state: budgets.spent(state.round - 1, budget),
        budget=budget,
    )
