"""Sequential Halving: Karnin, Koren and Somekh (2013).

Differences from the paper: with reading = "all", the end of a round compares the means over all pulls so far, and not
those of the round alone. Pulls left over are not used. Halving down to m arms is not in the paper.
"""

from typing import Literal

import jax.numpy as jnp
import numpy as np

from jaxbandit.algorithms.fixed_budget import budgets
from jaxbandit.algorithms.fixed_budget.elimination import elimination
from jaxbandit.base.arguments import Budget, M, NumArms
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.types import Array


@declare(
    question="budget",
    rewards="in [0, 1]",
    cost="O(K^2) comparisons a round, of about log2(K / m) rounds",
    memory="O(K)",
    settings=({}, {"reading": "round"}),
)
def sequential_halving(
    num_arms: NumArms, *, m: M = 1, budget: Budget, reading: Literal["all", "round"] = "all"
) -> Algorithm:
    """Halves the arms until m are left, Karnin et al. 2013.

    There are R = ceil(log2(num_arms / m)) rounds of equal cost. Round r pulls each of its s survivors floor(budget / (s
    R)) times and keeps the max(m, ceil(s / 2)) arms with the largest means; among equal means the lowest-numbered arms
    survive. The last m arms are recommended.

    Guarantee: With m = 1 and the reading "round", P(error) <= 3 log2(K) exp(-budget / (8 H2 log2(K))) (Karnin et al.
    2013); none for the default reading "all", which errs less in practice.

    In detail, for rewards in [0, 1] and H2 as in `jaxbandit.bounds.h2`. `successive_rejects` has a bound for m > 1.

    Args:
      num_arms: number of arms. With one arm there is nothing to find, and nothing is pulled.
      reading: whether the end of a round compares the means over "all" pulls so far, or over this "round" alone.

    Returns:
      It requests each round in one batch, and it stops after its last round.

    Source:
      Karnin, Koren and Somekh (2013), Almost optimal exploration in multi-armed bandits, ICML, Algorithm 1 and Theorem
      4.1. Halving until m arms are left is the schedule of Kalyanakrishnan and Stone (2010), Efficient selection of
      multiple bandit arms, ICML, whose rule has a fixed confidence and not a budget.
    """
    survivors = [num_arms]
    while survivors[-1] > m:
        survivors.append(max(-(-survivors[-1] // 2), m))
    sizes = np.asarray(survivors[:-1], int)
    rounds = len(sizes)
    budgets.check(budget, num_arms * rounds, f"a pull of each of {num_arms} arms in each of {rounds} rounds")

    def schedule() -> Array:
        pulls = budgets.whole(budget) // jnp.asarray(sizes * rounds, int)
        return jnp.zeros(num_arms, int).at[sizes - 1].set(jnp.cumsum(pulls))

    return elimination(num_arms, schedule, budget=budget, m=m, fresh=reading == "round")
