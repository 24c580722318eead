"""The stochastically constrained adversary of Zimmert and Seldin (2021): all means jump, the gaps never change."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit import checks
from jaxbandit.base import Environment, Rewards
from jaxbandit.environments.piecewise import piecewise
from jaxbandit.numerics import as_float
from jaxbandit.types import Array, Scalar

MOST_ROUNDS = 2**31


def phase_starts() -> np.ndarray:
    """Rounds played before each phase begins, int32[phases]: phases of 1, 2, 4, 7, 12, ... rounds, n then ceil(1.6 n).

    Integers, since 1.6 n in floats is now above and now below the integer that it may be.
    """
    starts, length = [0], 1
    while starts[-1] + length < MOST_ROUNDS:
        starts.append(starts[-1] + length)
        length = (8 * length + 4) // 5
    return np.array(starts, np.int32)


def constrained_adversary(num_arms: int = 8, *, gap: Scalar = 0.125) -> Environment:
    """Return the Bernoulli bandit whose arm 0 is always better by `gap`, and whose other means jump between extremes.

    The mean losses of arm 0 and of the others are 0 and gap in the phases 0, 2, 4, ..., and 1 - gap and 1 in the phases
    1, 3, 5, ...: phases last 1, 2, 4, 7, 12, ... rounds, n and then ceil(1.6 n). An empirical mean says
    more of the phases in which an arm was pulled than of the arm, so that UCB1 and Thompson sampling may take the wrong
    one; Tsallis-INF's regret stays O(log T). Where the means stand still half-way, `bernoulli` with (1 + gap) / 2 for
    arm 0 and (1 - gap) / 2 for the others, the gaps and so the price of each wrong pull are the same.

    Since arm 0 is the best in every round, dynamic regret and that against the best fixed arm are equal: gap times the
    pulls of the other arms.

    Args:
      num_arms: number of arms, >= 2, static.
      gap: in (0, 1], traced.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] in {0, 1}.

    Raises:
      ValueError: num_arms is below 2, or gap is out of range.

    Source: Zimmert, Seldin (2021), Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits, JMLR,
      Section 6; the lengths of phases are those of their published program.
    """
    num_arms = checks.integer("constrained_adversary", "num_arms", num_arms, 2)
    checks.number("constrained_adversary", "gap", gap, low=0.0, high=1.0, open_low=True)
    xp = jnp if checks.is_traced(gap) else np
    others = (num_arms - 1,)
    even = xp.concatenate([xp.ones(1), xp.full(others, 1 - gap)])
    odd = xp.concatenate([xp.full((1,), gap), xp.zeros(others)])
    starts = phase_starts()
    means = xp.stack([even, odd])[np.arange(len(starts)) % 2]

    def reward(mean: Array, noise: Array) -> Array:
        return as_float(noise < mean)

    return piecewise(
        "constrained_adversary",
        means,
        starts,
        noise=jax.random.uniform,
        reward=reward,
        rewards=Rewards(0.0, 1.0, sigma=0.5, family="bernoulli"),
    )
