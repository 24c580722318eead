"""Rounds that were recorded, or computed, with the reward of every arm: a context, a row of rewards, who is available.

All rewards of a row must be known. A log, in which only the reward of the logged action is known, is evaluated or
replayed instead (docs/evaluate.md).
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Arms, Environment, Offer, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.environments.contextual.row_orders import Order, entry, environment_of
from jaxbandit.support import checks
from jaxbandit.support.numerics import as_float, get_at
from jaxbandit.support.types import Array, ArrayLike, PyTree

CONTEXTS = ((1.0, 0.0), (0.6, 0.8), (0.0, -1.0), (0.5, 0.5))
REWARDS = ((0.0, 1.0), (0.5, 0.25), (1.0, 0.0), (0.25, 0.75))


class _Tables(NamedTuple):
    contexts: Array | None  # float[rows, dim] or float[rows, num_arms, dim]
    rewards: Array  # float[rows, num_arms]
    available: Array | None  # bool[rows, num_arms]


@declare(
    concrete=("contexts", "rewards", "available"),
    settings=(
        {"contexts": CONTEXTS, "rewards": REWARDS},
        {"contexts": tuple((row, row) for row in CONTEXTS), "rewards": REWARDS, "order": "draw"},
        {"contexts": CONTEXTS, "rewards": REWARDS, "available": ((1, 1), (0, 1), (1, 0), (1, 1)), "order": "as_is"},
        {"contexts": None, "rewards": REWARDS, "available": ((1, 1), (0, 1), (1, 0), (1, 1))},
    ),
)
def rewards_table(
    contexts: ArrayLike | None, rewards: ArrayLike, *, available: ArrayLike | None = None, order: Order = "shuffle"
) -> Environment:
    """A table with the context and the reward of every arm in each round.

    Return the contextual bandit that plays the rows of a table, each with the rewards of all arms.

    Args:
      contexts: float[rows, dim], a vector for all arms; float[rows, num_arms, dim], a row of features for each arm; or
        None, without contexts. Finite; static.
      rewards: float[rows, num_arms], finite where the arm is available; static.
      available: bool[rows, num_arms] (or 0 and 1), whether an arm may be pulled in a row; None if all may. At least one
        arm of every row must be available. Static.
      order: "shuffle", each run has the rows in a random order of its own, once each; "draw", every round draws a row,
        with replacement, and there is no limit to the number of rounds; "as_is", in the order of the table. Static.

    Returns:
      An Environment with the contexts of the table, actions int32[] in [0, num_arms) and rewards float[] of the table.
      With `available`, a context is an `Offer`. The regret is the largest reward of the available arms of the row less
      that of the action, and NaN if the action is not available, so that the run ends as NONFINITE. sigma is half the
      range of the rewards, which is large enough by Hoeffding's lemma. The table is stored once for all runs; an order
      of its own takes 4 bytes a row in each run.

    Raises:
      ValueError: numbers of rows or arms differ.
    """
    mask, paid = _offered(rewards, available)
    shape = paid.shape
    seen = None if contexts is None else _contexts(contexts, shape)
    low, high = float(paid.min()), float(paid.max())

    def tables() -> _Tables:
        return _Tables(
            None if seen is None else as_float(seen), as_float(paid), None if mask is None else jnp.asarray(mask)
        )

    def context(tables: _Tables, row: Array) -> PyTree:
        features = None if tables.contexts is None else entry(tables.contexts, row)
        return features if tables.available is None else Offer(entry(tables.available, row), features)

    def reward(tables: _Tables, row: Array, action: Array) -> Array:
        return get_at(entry(tables.rewards, row), action)

    def regret(tables: _Tables, row: Array, action: Array) -> Array:
        each = entry(tables.rewards, row)
        if tables.available is None:
            return jnp.max(each) - get_at(each, action)
        offered = entry(tables.available, row)
        gap = jnp.max(jnp.where(offered, each, -jnp.inf)) - get_at(each, action)
        return jnp.where(get_at(offered, action), gap, jnp.nan)

    return environment_of(
        shape[0],
        order,
        tables,
        context,
        reward,
        regret,
        arms=Arms(shape[1], context=None if seen is None else seen.shape[1:], available=mask is not None),
        rewards=Rewards(low, high),
        sigma=(high - low) / 2,
    )


def _offered(rewards: ArrayLike, available: ArrayLike | None) -> tuple[np.ndarray | None, np.ndarray]:
    """Return the mask, and the rewards, with a real one, the smallest, in place of those of unavailable arms."""
    if available is None:
        paid, mask = checks.take("rewards", rewards, checks.arrays(ndim=2)), None
    else:
        offered, paid = checks.take("available", available, checks.arrays(ndim=2)), np.asarray(rewards, np.float64)
        if offered.shape != paid.shape:
            got, wanted = list(offered.shape), list(paid.shape)
            raise ValueError(f"available has shape {got}, must be {wanted}, as rewards")
        mask = offered == 1
        if not (mask | (offered == 0)).all():
            checks.wrong("available", available, "True and False, or 1 and 0")
        if not mask.any(1).all():
            raise ValueError(f"available[{int(mask.any(1).argmin())}] is all False, must leave an arm")
        checks.take("rewards", np.where(mask, paid, 0.0), checks.arrays(ndim=2))
        paid = np.where(mask, paid, paid[mask].min())
    if not paid.shape[1]:
        raise ValueError(f"rewards has shape {list(paid.shape)}, must have a column for each arm")
    return mask, paid


def _contexts(contexts: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """Return the contexts, checked."""
    ndim = 3 if checks.axes(contexts) == 3 else 2
    seen = checks.take("contexts", contexts, checks.arrays(ndim=ndim))
    if seen.shape[:-1] != shape[: ndim - 1]:
        got, (rows, num_arms) = list(seen.shape), shape
        raise ValueError(f"contexts has shape {got}, must be [{rows}, dim] or [{rows}, {num_arms}, dim]")
    return seen
