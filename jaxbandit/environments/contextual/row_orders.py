"""What environments have in common whose rounds are the rows of a table: in which order they come.

The state knows the row, which the regret needs. The tables are leaves of the state that all runs share.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.base.contract import Arms, Environment, Rewards
from jaxbandit.environments.contextual.laws import row_numbers
from jaxbandit.environments.means import arm_order
from jaxbandit.support.numerics import get_at
from jaxbandit.support.types import Array, Key, PyTree

Order = Literal["shuffle", "draw", "as_is"]


class RowsState(NamedTuple):
    """The row of one run's round, and the tables, which all runs share."""

    tables: PyTree  # each leaf [rows, ...]
    place: Array  # int32[], number of rounds played, or the row itself if every round draws one
    order: Array | None = None  # int32[rows], the row of every round of a run that has an order of its own


def row_of(state: RowsState) -> Array:
    """Return the row of this round, int32[]."""
    return state.place if state.order is None else get_at(state.order, state.place)


def entry(table: Array, row: Array) -> Array:
    """Return a row of a table."""
    return jax.lax.dynamic_index_in_dim(table, row, 0, keepdims=False)


def environment_of(
    num_rows: int,
    order: Order,
    tables: Callable[[], PyTree],
    context: Callable[[PyTree, Array], PyTree],
    reward: Callable[[PyTree, Array, Array], Array],
    regret: Callable[[PyTree, Array, Array], Array],
    *,
    arms: Arms,
    rewards: Rewards,
    sigma: float,
) -> Environment:
    """Return the environment whose rounds are rows, in an order of each run, drawn, or as they are.

    Args:
      order: "shuffle", a permutation for each run; "draw", one row in each round, with replacement; or "as_is".
      tables: returns the tables in the current precision.
      context: `(tables, row) -> context`.
      reward: `(tables, row, action) -> float[]`.
      regret: `(tables, row, action) -> float[]`.
    """

    def init(key: Key) -> RowsState:
        if order == "draw":
            return RowsState(tables(), row_numbers(key, (), num_rows))
        return RowsState(tables(), jnp.zeros((), jnp.int32), arm_order(key, num_rows) if order == "shuffle" else None)

    def noise(key: Key) -> Array | None:
        return row_numbers(key, (), num_rows) if order == "draw" else None

    def transition(state: RowsState, context: PyTree, action: Array, noise: Array | None) -> RowsState:
        return state._replace(place=state.place + 1 if noise is None else noise)

    return Environment(
        init=init,
        noise=noise,
        observe=lambda state, noise: context(state.tables, row_of(state)),
        reward=lambda state, context, action, noise: reward(state.tables, row_of(state), action),
        regret=lambda state, context, action: regret(state.tables, row_of(state), action),
        transition=transition,
        arms=arms,
        rewards=rewards,
        known=lambda: {"sigma": sigma},
        length=None if order == "draw" else num_rows,
    )
