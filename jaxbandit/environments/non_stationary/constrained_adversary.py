"""The stochastically constrained adversary of Zimmert and Seldin (2021): all means jump, but the gaps never change."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.arguments import PositiveUnit, SeveralArms
from jaxbandit.base.contract import Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.environments.non_stationary.piecewise import piecewise
from jaxbandit.support import checks
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array
from jaxbandit.theory import bounds  # its names are imported when they are called

MOST_ROUNDS = 2**31


def phase_starts() -> np.ndarray:
    """Return the number of rounds before each phase, int32[phases].

    A phase of n rounds is followed by one of ceil(1.6 n), in integers: 1, 2, 4, 7, 12, ...
    """
    starts, length = [0], 1
    while starts[-1] + length < MOST_ROUNDS:
        starts.append(starts[-1] + length)
        length = (8 * length + 4) // 5
    return np.array(starts, np.int32)


@declare(settings=({"num_arms": 3},))
def constrained_adversary(num_arms: SeveralArms = 8, *, gap: PositiveUnit = 0.125) -> Environment:
    """Rewards 0 or 1, means that jump together while their gaps stay constant.

    Arm 0 is always better than the others by `gap`. The mean losses of arm 0 and of the other arms are 0 and gap in
    phases 0, 2, 4, ..., and 1 - gap and 1 in phases 1, 3, 5, ... Phases last 1, 2, 4, 7, 12, ... rounds; a phase of n
    rounds is followed by one of ceil(1.6 n). UCB1 and Thompson sampling may settle on a wrong arm. `bernoulli` with
    mean (1 + gap) / 2 for arm 0 and (1 - gap) / 2 for the others has the same gaps with constant means.

    The dynamic regret and the regret against the best fixed arm coincide, because arm 0 is best in every round.

    Args:
      gap: difference of the means.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] in {0, 1}.

    Source:
      Zimmert and Seldin (2021), Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits, JMLR 22,
      Section 6, quoted from memory and not compared with the paper; the phase lengths are those of a program by other
      authors.
    """
    xp = jnp if checks.is_traced(gap) else np
    others = (num_arms - 1,)
    even = xp.concatenate([xp.ones(1), xp.full(others, 1 - gap)])
    odd = xp.concatenate([xp.full((1,), gap), xp.zeros(others)])
    starts = phase_starts()
    means = xp.stack([even, odd])[np.arange(len(starts)) % 2]

    def reward(mean: Array, noise: Array) -> Array:
        return as_float(noise < mean)

    return piecewise(
        means,
        starts,
        noise=jax.random.uniform,
        reward=reward,
        rewards=Rewards(0.0, 1.0, sigma=0.5, family="bernoulli"),
        regret_constant=lambda row: bounds.bernoulli_regret_constant(row),
    )
