"""The cascade model of clicks: a list is read from the top until something attracts; Kveton et al. (2015)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.base.arguments import ListSize, UnitVector
from jaxbandit.base.contract import Arms, Environment
from jaxbandit.base.declaration import declare
from jaxbandit.base.truth import Truth
from jaxbandit.support.numerics import argmax, as_float
from jaxbandit.support.types import Array, Key


class CascadeState(NamedTuple):
    """The true weights of one run."""

    weights: Array  # float[num_arms], probability that an item attracts who reads it
    best: Array  # float[], probability of a click on the best list


@declare(settings=({"weights": (0.2, 0.5, 0.6), "k": 2},))
def cascade(weights: UnitVector, k: ListSize) -> Environment:
    """Lists of items, of which the first that attracts is clicked.

    The user reads a list of k items from the top, clicks on the first item that attracts, and reads no further. Items
    attract independently.

    Args:
      weights: float[num_arms], probability that an item attracts.

    Returns:
      An Environment with actions int32[k], different items in the order of reading, and feedback int32[], the position
      of the click, from 0, or k without a click. The regret is the probability of a click on the best list minus that
      on the list shown. It does not depend on the order.

    Source:
      Kveton, Szepesvari, Wen and Ashkan (2015), Cascading bandits: learning to rank in the cascade model, ICML.
    """
    num_arms = len(weights)

    def init(key: Key) -> CascadeState:
        w = as_float(weights)
        return CascadeState(w, 1 - jnp.prod(1 - jnp.sort(w)[num_arms - k :]))

    def noise(key: Key) -> Array:
        return jax.random.uniform(key, (num_arms,))

    def shown(action: Array) -> Array:
        """Which item stands at each place, bool[k, num_arms]."""
        return action[:, None] == jnp.arange(num_arms, dtype=action.dtype)[None]

    def reward(state: CascadeState, context: None, action: Array, noise: Array) -> Array:
        attracts = jnp.any(shown(action) & (noise < state.weights)[None], axis=1)
        return jnp.where(jnp.any(attracts), argmax(attracts), jnp.int32(k))

    def regret(state: CascadeState, context: None, action: Array) -> Array:
        missed = jnp.where(jnp.any(shown(action), axis=0), 1 - state.weights, 1.0)
        return jnp.maximum(state.best - (1 - jnp.prod(missed)), 0.0)  # above -1e-7, by rounding

    return Environment(
        init=init,
        noise=noise,
        reward=reward,
        regret=regret,
        simple_regret=lambda state, items: regret(state, None, items),
        arms=Arms(num_arms, action=jax.ShapeDtypeStruct((k,), jnp.int32), ordered=True),
        known=lambda: {"k": k},
        truth=Truth(rates=lambda: weights),
    )
