"""Sequential Halving: Karnin, Koren, Somekh (2013).

Differs: with reading = "all" the end of a round compares the means of all pulls so far, as is done in practice, where
the paper compares those of the round alone. Pulls that the division into rounds leaves over are not used. Halving to m
arms is not in the paper.
"""

from typing import Literal

import jax.numpy as jnp
import numpy as np

from jaxbandit import checks
from jaxbandit.algorithms.fixed_budget import budgets
from jaxbandit.algorithms.fixed_budget.elimination import elimination
from jaxbandit.base import Algorithm
from jaxbandit.types import Array, Scalar


def sequential_halving(
    num_arms: int, *, m: int = 1, budget: Scalar, reading: Literal["all", "round"] = "all"
) -> Algorithm:
    """Return Sequential Halving: R = ceil(log2(num_arms / m)) rounds of equal cost, each keeps the better half.

    In round r each of the |S_r| survivors is pulled floor(budget / (|S_r| R)) times, and the max(m, ceil(|S_r| / 2)) of
    largest mean go on; of equal means the lowest arms. The last m are recommended.

    For rewards in [0, 1], m = 1 and "round", P(error) <= 3 log2(num_arms) exp(-budget / (8 H2 log2(num_arms))), with H2
    as in `jaxbandit.bounds.h2`. For "all", which errs less in practice, and for m > 1 nothing is proved;
    `successive_rejects` has a bound for m > 1.

    Args:
      num_arms: number of arms, >= 1, static. Of one arm there is nothing to find, and nothing is pulled.
      m: number of arms to find, in [1, num_arms - 1], or 1 of one arm; static.
      budget: pulls, a whole number >= num_arms R, traced.
      reading: whether the end of a round compares the means of "all" pulls so far or of this "round" alone; static.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[m], the best first.
      It asks for each round in one batch, and stops when its rounds are over.

    Raises:
      ValueError: an argument is out of range.

    Source: Karnin, Koren, Somekh (2013), Almost optimal exploration in multi-armed bandits, ICML, Algorithm 1 and
    Theorem 4.1. Halving until m arms are left is the schedule of Kalyanakrishnan, Stone (2010), Efficient selection of
    multiple bandit arms, ICML, whose rule is given a confidence and not a budget.
    """
    where = "sequential_halving"
    num_arms = checks.integer(where, "num_arms", num_arms, 1)
    m = checks.integer(where, "m", m, 1, max(num_arms - 1, 1))
    survivors = [num_arms]
    while survivors[-1] > m:
        survivors.append(max(-(-survivors[-1] // 2), m))
    sizes = np.asarray(survivors[:-1], int)
    rounds = len(sizes)
    budgets.check(where, budget, num_arms * rounds, f"a pull of each of {num_arms} arms in each of {rounds} rounds")
    checks.choice(where, "reading", reading, ("all", "round"))

    def schedule() -> Array:
        pulls = budgets.whole(budget) // jnp.asarray(sizes * rounds, int)
        return jnp.zeros(num_arms, int).at[sizes - 1].set(jnp.cumsum(pulls))

    return elimination(where, num_arms, schedule, budget=budget, m=m, fresh=reading == "round")
