"""Successive Rejects: Audibert, Bubeck, Munos (2010)."""

import jax.numpy as jnp
import numpy as np

from jaxbandit import checks
from jaxbandit.algorithms.fixed_budget import budgets
from jaxbandit.algorithms.fixed_budget.elimination import elimination
from jaxbandit.base import Algorithm
from jaxbandit.numerics import as_float
from jaxbandit.types import Array, Scalar

ROUNDING = 8  # units of the last place by which a quotient that is whole on paper may come out too large


def successive_rejects(num_arms: int, *, budget: Scalar) -> Algorithm:
    """Return Successive Rejects: num_arms - 1 phases, at the end of each the arm of least mean is dropped.

    With K arms and L = 1/2 + sum_{i=2}^K 1/i, phase k = 1, ..., K - 1 brings each survivor to ceil((budget - K) /
    (L (K + 1 - k))) pulls, for which the budget is enough. Of equal means the highest arm is dropped.

    For rewards in [0, 1], P(error) <= K (K - 1) / 2 exp(-(budget - K) / (L H2)), with H2 as in `jaxbandit.bounds.h2`.

    Args:
      num_arms: number of arms, >= 1, static. Of one arm there is nothing to find, and nothing is pulled.
      budget: pulls, a whole number > num_arms, traced.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[1]. It asks for each
      phase in one batch, and stops when its phases are over.

    Raises:
      ValueError: an argument is out of range.

    Source: Audibert, Bubeck, Munos (2010), Best arm identification in multi-armed bandits, COLT, Figure 3,
    Theorem 2.
    """
    where = "successive_rejects"
    num_arms = checks.integer(where, "num_arms", num_arms, 1)
    budgets.check(where, budget, num_arms + 1, f"more than one for each of {num_arms} arms")
    sizes = np.arange(1, num_arms + 1)
    shares = (0.5 + np.sum(1 / sizes[1:])) * sizes  # L s of phase num_arms + 1 - s, in which s arms survive

    def schedule() -> Array:
        pulls = (as_float(budget) - num_arms) / as_float(shares)
        pulls = jnp.ceil(pulls * (1 - ROUNDING * jnp.finfo(pulls.dtype).eps)).astype(int)
        return jnp.where(jnp.asarray(sizes) > 1, pulls, 0)

    return elimination(where, num_arms, schedule, budget=budget)
