"""Bernoulli arms with sinusoidal means of a common period, whose phases are evenly spaced over the arms."""

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandit.base.arguments import ClosedUnit, NumArms, Positive
from jaxbandit.base.contract import Arms, Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.truth import Truth
from jaxbandit.environments.means import regret_by_means
from jaxbandit.environments.non_stationary.piecewise import Clock, started, ticked
from jaxbandit.support import checks
from jaxbandit.support.domains import number
from jaxbandit.support.numerics import as_float, get_at
from jaxbandit.support.types import Array


@declare(settings=({"num_arms": 3, "period": 7.5},))
def sinusoidal_bernoulli(
    num_arms: NumArms, *, center: ClosedUnit = 0.5, amplitude: ClosedUnit = 0.3, period: Positive = 2500.0
) -> Environment:
    """Rewards 0 or 1, means that oscillate.

    In round r, counted from 0, the mean of arm a is center + amplitude sin(2 pi (r / period + a / num_arms)). All runs
    share this schedule, and the regret is dynamic.

    Args:
      center: mean around which the means oscillate.
      amplitude: amplitude of the oscillation, at most min(center, 1 - center).
      period: period in rounds.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] in {0, 1}.

    Raises:
      ValueError: a mean would leave [0, 1].
    """
    most = 1.0 if checks.is_traced(center) else min(float(center), 1 - float(center))
    amplitude = checks.take("amplitude", amplitude, checks.scalars(number(low=0.0, high=most)))

    def means(state: Clock) -> Array:
        # The remainder is computed first because it is exact, whereas float32 would round the quotient.
        turn = lax.rem(as_float(state.round), as_float(period)) / as_float(period)
        phase = turn + jnp.arange(num_arms, dtype=turn.dtype) / num_arms
        return jnp.clip(as_float(center) + as_float(amplitude) * jnp.sin(2 * jnp.pi * phase), 0.0, 1.0)

    def reward(state: Clock, context: None, action: Array, noise: Array) -> Array:
        return as_float(noise < get_at(means(state), action))

    return Environment(
        init=started,
        noise=jax.random.uniform,
        reward=reward,
        regret=regret_by_means(means),
        transition=ticked,
        arms=Arms(num_arms),
        rewards=Rewards(0.0, 1.0, sigma=0.5, family="bernoulli"),
        truth=Truth(means=means),
    )
