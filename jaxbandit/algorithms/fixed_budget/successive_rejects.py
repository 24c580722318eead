"""Successive Rejects: Audibert, Bubeck and Munos (2010), and Successive Accepts and Rejects: Bubeck et al. (2013).

Difference: Successive Accepts and Rejects stops once nothing is left to decide, whereas the paper spends the rest of
the budget.
"""

import jax.numpy as jnp
import numpy as np

from jaxbandit.algorithms.fixed_budget import budgets
from jaxbandit.algorithms.fixed_budget.elimination import elimination
from jaxbandit.base.arguments import Budget, M, NumArms
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array

ROUNDING = 8  # units in the last place by which a quotient that is mathematically an integer may come out too large


@declare(
    question="budget",
    rewards="in [0, 1]",
    cost="O(K^2) comparisons a phase, of K - 1 phases",
    memory="O(K)",
    settings=({}, {"m": 2}),
)
def successive_rejects(num_arms: NumArms, *, m: M = 1, budget: Budget) -> Algorithm:
    """Eliminates arms one by one, Audibert et al. 2010, Bubeck et al. 2013.

    Return Successive Rejects, or for m > 1 Successive Accepts and Rejects (SAR). With K arms and L = 1/2 + sum_{i=2}^K
    1/i, phase k = 1, ..., K - 1 brings each survivor to ceil((budget - K) / (L (K + 1 - k))) pulls, for which the
    budget suffices. At its end the arm with the smallest mean is rejected; among equal means the highest-numbered one.

    For m > 1, let w be the number of arms still to be found. The gap of an arm among the w best that are left is its
    mean minus that of the (w + 1)-th best, and the gap of any other arm is the mean of the w-th best minus its own. At
    the end of a phase the arm with the largest gap leaves: the best one, which is accepted as one of the m, or the
    worst one, which is rejected and also leaves if the two gaps are equal.

    Guarantee: For m = 1, P(error) <= K (K - 1) / 2 exp(-(budget - K) / (L H2)) with L = 1/2 + 1/2 + ... + 1/K (Audibert
    et al. 2010); a similar bound for m > 1 (Bubeck et al. 2013).

    In detail, for rewards in [0, 1] and any m, P(error) <= 2 K^2 exp(-(budget - K) / (8 L H2)), with H2 as in
    `jaxbandit.bounds.h2` for that m.

    Args:
      num_arms: number of arms K. With one arm there is nothing to find, and nothing is pulled.

    Returns:
      It requests each phase in one batch, and it stops after its last phase or when nothing is left to decide.

    Source:
      Audibert, Bubeck and Munos (2010), Best arm identification in multi-armed bandits, COLT, Figure 3 and Theorem 2;
      for m > 1 Bubeck, Wang and Viswanathan (2013), Multiple identifications in multi-armed bandits, ICML.
    """
    budgets.check(budget, num_arms + 1, f"more than one for each of {num_arms} arms")
    sizes = np.arange(1, num_arms + 1)
    shares = (0.5 + np.sum(1 / sizes[1:])) * sizes  # L s in phase num_arms + 1 - s, where s arms survive

    def schedule() -> Array:
        pulls = (as_float(budget) - num_arms) / as_float(shares)
        pulls = jnp.ceil(pulls * (1 - ROUNDING * jnp.finfo(pulls.dtype).eps)).astype(int)
        return jnp.where(jnp.asarray(sizes) > 1, pulls, 0)

    return elimination(num_arms, schedule, budget=budget, m=m, accepts=m > 1)
