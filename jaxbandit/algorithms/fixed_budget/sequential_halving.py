"""Sequential Halving: Karnin, Koren, Somekh (2013).

Differs: with reading = "all" the end of a round compares the means of all pulls so far, as is done in practice, where
the paper compares those of the round alone. Pulls that the division into rounds leaves over are not used.
"""

from typing import Literal

import jax.numpy as jnp
import numpy as np

from jaxbandit import checks
from jaxbandit.algorithms.fixed_budget import budgets
from jaxbandit.algorithms.fixed_budget.elimination import elimination
from jaxbandit.base import Algorithm
from jaxbandit.types import Array, Scalar


def sequential_halving(num_arms: int, *, budget: Scalar, reading: Literal["all", "round"] = "all") -> Algorithm:
    """Return Sequential Halving: R = ceil(log2 num_arms) rounds of equal cost, each keeps the better half.

    In round r each of the |S_r| survivors is pulled floor(budget / (|S_r| R)) times, and the ceil(|S_r| / 2) of largest
    mean go on; of equal means the lowest arms.

    For rewards in [0, 1] and "round", P(error) <= 3 log2(num_arms) exp(-budget / (8 H2 log2(num_arms))), with H2 as in
    `jaxbandit.bounds.h2`. For "all", which errs less in practice, nothing is proved.

    Args:
      num_arms: number of arms, >= 1, static. Of one arm there is nothing to find, and nothing is pulled.
      budget: pulls, a whole number >= num_arms R, traced.
      reading: whether the end of a round compares the means of "all" pulls so far or of this "round" alone; static.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[1]. It asks for each
      round in one batch, and stops when its rounds are over.

    Raises:
      ValueError: an argument is out of range.

    Source: Karnin, Koren, Somekh (2013), Almost optimal exploration in multi-armed bandits, ICML, Algorithm 1 and
    Theorem 4.1.
    """
    where = "sequential_halving"
    num_arms = checks.integer(where, "num_arms", num_arms, 1)
    rounds = (num_arms - 1).bit_length()  # exact where num_arms is a power of two, as a logarithm need not be
    budgets.check(where, budget, num_arms * rounds, f"a pull of each of {num_arms} arms in each of {rounds} rounds")
    checks.choice(where, "reading", reading, ("all", "round"))
    survivors = [num_arms]
    while survivors[-1] > 2:
        survivors.append(-(-survivors[-1] // 2))
    sizes = np.asarray(survivors)

    def schedule() -> Array:
        pulls = budgets.whole(budget) // jnp.asarray(sizes * max(rounds, 1), int)
        return jnp.zeros(num_arms, int).at[sizes - 1].set(jnp.cumsum(pulls))

    return elimination(where, num_arms, schedule, budget=budget, fresh=reading == "round")
