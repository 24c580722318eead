"""Two crescents in the plane, each of which is right half of the time: a small problem that no linear model fits.

The crescents are those of scikit-learn's `make_moons`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.base.arguments import NonNegative
from jaxbandit.base.contract import Arms, Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float, normal_of_words, numbered_key
from jaxbandit.support.types import Array, Key


class MoonsState(NamedTuple):
    """The point of this round. The regret needs its moon, and the context does not have it; so the state does."""

    moon: Array  # int32[], 0 or 1
    point: Array  # float[2]


@declare(settings=({}, {"noise": 0.0}))
def moons(noise: NonNegative = 0.1) -> Environment:
    """Two interleaved half circles: the context is a point, and the arm of its half circle pays 1.

    In every round, moon m is 0 or 1 with probability 1/2, b is uniform in (0, pi), and the point is (cos b, sin b) or
    (1 - cos b, 1/2 - sin b), plus noise.

    Args:
      noise: standard deviation of the normal noise of each coordinate.

    Returns:
      An Environment with contexts float[2], actions int32[] in {0, 1}, and rewards 1 if the arm is the moon, else 0.
      The regret is 1 - reward.
    """

    def draw(key: Key) -> MoonsState:
        moon = jax.random.bits(numbered_key(key, 1), (), jnp.uint32) >> 31
        angle = jnp.pi * jax.random.uniform(numbered_key(key, 2))
        x, y = jnp.cos(angle), jnp.sin(angle)
        place = jnp.where(moon == 0, jnp.stack([x, y]), jnp.stack([1 - x, 0.5 - y]))
        normals = normal_of_words(jax.random.bits(numbered_key(key, 3), (2,), jnp.uint32))
        return MoonsState(moon.astype(jnp.int32), place + as_float(noise) * normals)

    def reward(state: MoonsState, context: Array, action: Array, noise: MoonsState) -> Array:
        return as_float(action == state.moon)

    return Environment(
        init=draw,
        noise=draw,  # the point of the next round
        observe=lambda state, noise: state.point,
        reward=reward,
        regret=lambda state, context, action: as_float(action != state.moon),
        transition=lambda state, context, action, noise: noise,
        arms=Arms(2, context=(2,)),
        rewards=Rewards(0.0, 1.0, sigma=0.5, family="bernoulli"),
        known=lambda: {"sigma": 0.5},
    )
