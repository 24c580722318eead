"""Arms whose rewards vary little, except in rare events: trainings that fail, calls that are interrupted by a pause."""

import math
from typing import Annotated

import jax
import jax.numpy as jnp

from jaxbandit.base.arguments import Vector, per_arm
from jaxbandit.base.batches import BatchRewards
from jaxbandit.base.contract import Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.truth import Truth
from jaxbandit.environments.means import MeansState, equal_if_rounded, means_of_state, stationary_arms
from jaxbandit.environments.stationary.binomial import binomial
from jaxbandit.support import checks
from jaxbandit.support.numerics import as_float, get_at
from jaxbandit.support.types import Array, ArrayLike, Key, Numbers, Scalar


@declare(
    settings=({"typical": (0.8, 0.9), "rare": 0.4, "chance": (0.0, 0.25), "spread": 0.01, "low": 0.0, "high": 1.0},)
)
def rare_events(
    typical: Vector,
    *,
    rare: Annotated[Numbers, per_arm()],
    chance: Annotated[Numbers, per_arm(low=0, high=1)],
    spread: Annotated[Numbers, per_arm(low=0)] = 0.0,
    low: Scalar = -math.inf,
    high: Scalar = math.inf,
) -> Environment:
    """Normal rewards, except for rare events of another reward.

    A rule that compares arms before an event has occurred sees other means than the true ones.

    Args:
      typical: float[num_arms], means of the rewards without an event.
      rare: the reward of an event.
      chance: probability of an event at each pull.
      spread: standard deviation of the rewards without an event.
      low: smallest reward that is declared, for rules that know the range; traced. A run that meets a reward outside
        the range ends as such.
      high: largest reward that is declared, above low; traced.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[]. Its noise is two numbers per round,
      shared by all arms: one uniform for the event, one standard normal. With a finite range, sigma is half its width.

    Raises:
      ValueError: has another length than typical.
    """
    bounded = all(checks.is_traced(end) or math.isfinite(end) for end in (low, high))
    if not any(map(checks.is_traced, (low, high))) and not low < high:
        raise ValueError(f"low = {low}, high = {high}, must be low < high")

    def by_arm(numbers: ArrayLike) -> Array:
        return jnp.broadcast_to(as_float(numbers), len(typical))

    def means(key: Key) -> Array:
        often = by_arm(typical)
        parts = often, by_arm(chance) * (by_arm(rare) - often)
        # Two roundings of each part and one of the sum; the parameters may be rounded already.
        rounding = 2 * jnp.finfo(often.dtype).eps * (abs(parts[0]) + abs(parts[1]))
        return equal_if_rounded(parts[0] + parts[1], rounding)

    def noise(key: Key) -> Array:
        event, normal = jax.random.split(key)
        return jnp.stack([jax.random.uniform(event), jax.random.normal(normal)])

    def reward(state: MeansState, context: None, action: Array, noise: Array) -> Array:
        usual = get_at(by_arm(typical), action) + get_at(by_arm(spread), action) * noise[1]
        return jnp.where(noise[0] < get_at(by_arm(chance), action), get_at(by_arm(rare), action), usual)

    def batch_noise(key: Key) -> tuple[Key, Array]:
        events, normal = jax.random.split(key)
        return events, jax.random.normal(normal, (len(typical),))

    def sums(state: MeansState, pulls: Array, noise: tuple[Key, Array]) -> Array:
        events = binomial(noise[0], pulls, by_arm(chance))
        usual = as_float(pulls) - events
        return events * by_arm(rare) + usual * by_arm(typical) + by_arm(spread) * jnp.sqrt(usual) * noise[1]

    return stationary_arms(
        len(typical),
        means,
        reward,
        noise=noise,
        batch=BatchRewards(batch_noise, sums),
        rewards=Rewards(low, high, sigma=(high - low) / 2 if bounded else None),
        truth=Truth(means=means_of_state, rates=lambda: chance),
    )
