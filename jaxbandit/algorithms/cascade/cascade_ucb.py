"""CascadeUCB1 for cascading bandits: Kveton, Szepesvari, Wen and Ashkan (2015), Algorithm 1 with the index of UCB1.

Difference: the paper begins with one reward of each item from outside; here the first lists are filled with items that
nobody has read yet, the lowest-numbered first.
"""

import jax
import jax.numpy as jnp

from jaxbandit.algorithms.combinatorial import teams
from jaxbandit.algorithms.combinatorial.teams import TeamState
from jaxbandit.base.arguments import ListSize, NumArms, Positive
from jaxbandit.base.contract import Algorithm, Arms
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array


@declare(
    question="regret",
    setting="cascade",
    rewards="a click or none",
    cost="O(K k)",
    memory="O(K)",
    tries={"c": (1.5, 0.5)},
    settings=({"k": 2},),
)
def cascade_ucb(num_arms: NumArms, *, k: ListSize, c: Positive = 1.5) -> Algorithm:
    """Cascades, the list of the k items with the largest indices, Kveton et al. 2015.

    Return CascadeUCB1. The index of an item that was read N times is its share of clicks plus sqrt(c log(t - 1) / N).
    The list is in descending order, and items below the click were not read.

    Guarantee: Regret O(K log T / gap), where gap is the smallest difference between the weight of an item of the best
    list and one outside.

    Args:
      num_arms: number of items.
      c: factor of log(t - 1). The paper's value is 1.5.

    Returns:
      An Algorithm with actions int32[k], different items, and feedback int32[], the position of the click, from 0, or k
      without a click. It recommends the k items that were read most, int32[k].

    Source:
      Kveton, Szepesvari, Wen and Ashkan (2015), Cascading bandits: learning to rank in the cascade model, ICML,
      Algorithm 1.
    """

    def select(noise: None, state: TeamState, context: None) -> Array:
        before = as_float(jnp.maximum(state.round - 1, 1))
        width = jnp.sqrt(as_float(c) * jnp.log(before) / as_float(jnp.maximum(state.counts, 1)))
        return teams.ranked(teams.unseen_first(state, state.means + width), k)

    def update(state: TeamState, context: None, items: Array, click: Array) -> TeamState:
        at = items[:, None] == jnp.arange(num_arms, dtype=jnp.int32)[None]
        places = jnp.arange(k, dtype=jnp.int32)[:, None]
        read = jnp.any(at & (places <= click), axis=0)
        return teams.update(state, read, as_float(jnp.any(at & (places == click), axis=0)))

    return Algorithm(
        init=lambda key: teams.init(num_arms),
        select=select,
        update=update,
        recommend=lambda state: teams.ranked(as_float(state.counts), k),
        arms=Arms(num_arms, action=jax.ShapeDtypeStruct((k,), jnp.int32), ordered=True),
    )
