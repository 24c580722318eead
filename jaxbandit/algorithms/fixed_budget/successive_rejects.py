"""Successive Rejects: Audibert, Bubeck, Munos (2010). Successive Accepts and Rejects: Bubeck, Wang, Viswanathan (2013).

Differs: SAR stops once nothing is left to decide, where the paper spends the rest of its budget.
"""

import jax.numpy as jnp
import numpy as np

from jaxbandit import checks
from jaxbandit.algorithms.fixed_budget import budgets
from jaxbandit.algorithms.fixed_budget.elimination import elimination
from jaxbandit.base import Algorithm
from jaxbandit.numerics import as_float
from jaxbandit.types import Array, Scalar

ROUNDING = 8  # units of the last place by which a quotient that is whole on paper may come out too large


def successive_rejects(num_arms: int, *, m: int = 1, budget: Scalar) -> Algorithm:
    """Return Successive Rejects: num_arms - 1 phases, at the end of each the arm of least mean is dropped.

    With K arms and L = 1/2 + sum_{i=2}^K 1/i, phase k = 1, ..., K - 1 brings each survivor to ceil((budget - K) /
    (L (K + 1 - k))) pulls, for which the budget is enough. Of equal means the highest arm is dropped.

    For m > 1 it is Successive Accepts and Rejects (SAR), of the same phases. With w arms still to be found, the gap of
    one of the w best that are left is its mean less that of the (w + 1)-th best, and the gap of another the mean of the
    w-th best less its own. At the end of a phase the arm of largest gap leaves: the best one, accepted as one of the m,
    or the worst one, rejected, which also leaves if the two gaps are equal. For m = 1 that is Successive Rejects.

    For rewards in [0, 1], P(error) <= K (K - 1) / 2 exp(-(budget - K) / (L H2)) for m = 1, and
    <= 2 K^2 exp(-(budget - K) / (8 L H2)) for any m, with H2 as in `jaxbandit.bounds.h2` for that m.

    Args:
      num_arms: number of arms, >= 1, static. Of one arm there is nothing to find, and nothing is pulled.
      m: number of arms to find, in [1, num_arms - 1], or 1 of one arm; static.
      budget: pulls, a whole number > num_arms, traced.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[m], the best first.
      It asks for each phase in one batch, and stops when its phases are over, or nothing is left to decide.

    Raises:
      ValueError: an argument is out of range.

    Source: Audibert, Bubeck, Munos (2010), Best arm identification in multi-armed bandits, COLT, Figure 3,
    Theorem 2; for m > 1 Bubeck, Wang, Viswanathan (2013), Multiple identifications in multi-armed bandits, ICML.
    """
    where = "successive_rejects"
    num_arms = checks.integer(where, "num_arms", num_arms, 1)
    m = checks.integer(where, "m", m, 1, max(num_arms - 1, 1))
    budgets.check(where, budget, num_arms + 1, f"more than one for each of {num_arms} arms")
    sizes = np.arange(1, num_arms + 1)
    shares = (0.5 + np.sum(1 / sizes[1:])) * sizes  # L s of phase num_arms + 1 - s, in which s arms survive

    def schedule() -> Array:
        pulls = (as_float(budget) - num_arms) / as_float(shares)
        pulls = jnp.ceil(pulls * (1 - ROUNDING * jnp.finfo(pulls.dtype).eps)).astype(int)
        return jnp.where(jnp.asarray(sizes) > 1, pulls, 0)

    return elimination(where, num_arms, schedule, budget=budget, m=m, accepts=m > 1)
