"""Bernoulli arms whose means drift: each is a Gaussian random walk with reflecting boundaries."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandit.base.arguments import ClosedUnit, NonNegative, NumArms
from jaxbandit.base.contract import Arms, Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.truth import Truth
from jaxbandit.environments.means import means_of_state, regret_by_means
from jaxbandit.support import checks
from jaxbandit.support.domains import number
from jaxbandit.support.numerics import as_float, get_at, normal_of_words
from jaxbandit.support.types import Array, ArrayLike, Key


class RestlessState(NamedTuple):
    """The true means of one run in one round."""

    means: Array  # float[num_arms]


class RestlessNoise(NamedTuple):
    """All randomness of one round."""

    uniform: Array  # float[], for the reward, shared by all arms
    steps: Array  # float[num_arms], standard normal; the means drift whether the arms are played or not


@declare(settings=({"num_arms": 3, "sigma": 0.3}, {"num_arms": 3, "means": (0.2, 0.5, 0.6)}))
def restless_bernoulli(
    num_arms: NumArms,
    *,
    sigma: NonNegative = 0.02,
    low: ClosedUnit = 0.0,
    high: ClosedUnit = 1.0,
    means: ArrayLike | None = None,
) -> Environment:
    """Rewards 0 or 1, means that follow a reflected random walk, drawn anew in each run.

    Each run has its own random walks, reflected at `low` and `high`, which are the same for every algorithm with the
    same seed. The regret is dynamic; the best fixed arm in hindsight is that of the run.

    Args:
      sigma: standard deviation of a step.
      low: lower boundary.
      high: upper boundary, above low.
      means: float[num_arms] in [low, high], the means of the first round; None draws them uniformly in [low, high].
        Traced.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] in {0, 1}.

    Raises:
      ValueError: means does not have one entry per arm between the boundaries.
    """
    least, open_low = (0.0, False) if checks.is_traced(low) else (float(low), True)
    high = checks.take("high", high, checks.scalars(number(low=least, high=1.0, open_low=open_low)))
    start: Any = None
    if means is not None:
        most = 1.0 if checks.is_traced(high) else float(high)
        start = checks.take("means", means, checks.arrays(low=least, high=most))
        if len(start) != num_arms:
            raise ValueError(f"means has {len(start)} entries, must have {num_arms}, one per arm")

    def init(key: Key) -> RestlessState:
        if start is not None:
            return RestlessState(as_float(start))
        drawn = jax.random.uniform(key, (num_arms,))
        return RestlessState(jnp.minimum(as_float(low) + (as_float(high) - as_float(low)) * drawn, as_float(high)))

    def noise(key: Key) -> RestlessNoise:
        words = jax.random.bits(key, (num_arms + 1,), jnp.uint32)
        uniform = as_float(lax.bitcast_convert_type(words[num_arms] >> 8, jnp.int32)) * 2.0**-24
        return RestlessNoise(uniform, normal_of_words(words[:num_arms]))

    def reward(state: RestlessState, context: None, action: Array, noise: RestlessNoise) -> Array:
        return as_float(noise.uniform < get_at(state.means, action))

    def transition(state: RestlessState, context: None, action: Array, noise: RestlessNoise) -> RestlessState:
        bottom, width = as_float(low), as_float(high) - as_float(low)
        above = jnp.mod(state.means + as_float(sigma) * noise.steps - bottom, 2 * width)
        return RestlessState(jnp.clip(bottom + width - jnp.abs(width - above), bottom, as_float(high)))

    return Environment(
        init=init,
        noise=noise,
        reward=reward,
        regret=regret_by_means(means_of_state),
        transition=transition,
        arms=Arms(num_arms),
        rewards=Rewards(0.0, 1.0, sigma=0.5, family="bernoulli"),
        truth=Truth(means=means_of_state),
    )
