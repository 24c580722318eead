"""Recorded rewards: a round draws one row of a table, with replacement; an arm's reward is its entry there.

The arms of a round share the row, so that what was recorded together stays together.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit import checks
from jaxbandit.base import Environment, no_context
from jaxbandit.numerics import as_float, get_at
from jaxbandit.types import Array, Key


class TableState(NamedTuple):
    """The truth of one run."""

    means: Array  # float[num_arms], the table's column means
    gaps: Array  # float[num_arms], max(means) - means


def table(rewards: Array, features: Array | None = None) -> Environment:
    """Return the K-armed bandit that replays a table of recorded rewards.

    Args:
      rewards: float[num_rows, num_arms], finite, traced. Row i is one record of every arm's reward.
      features: float[num_arms, dim] or None, what is known of each arm. Only checked here: an algorithm that
        uses features is given them by its caller.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] of the table. Its noise is the
      row, int32[]: a 64-bit random integer modulo num_rows, so its law is uniform to within 2^-64 a row.

    Raises:
      ValueError: rewards is empty, ragged, not finite or not of two axes, or features has not a row an arm.
    """
    rewards = checks.array("table", "rewards", rewards, ndim=2)
    num_rows, num_arms = rewards.shape
    if num_arms < 1:
        raise ValueError(f"table: rewards has shape {rewards.shape}, must have a column for each arm")
    if features is not None:
        num_described = checks.array("table", "features", features, ndim=2).shape[0]
        if num_described != num_arms:
            raise ValueError(f"table: features has {num_described} rows, must have {num_arms}, one an arm")

    def init(key: Key) -> TableState:
        # In float64 where the table is concrete: float32 sums over many rows would part arms that tie.
        recorded = rewards if isinstance(rewards, np.ndarray) else as_float(rewards)
        mu = as_float(recorded.mean(axis=0))
        return TableState(mu, jnp.max(mu) - mu)

    def noise(key: Key) -> Array:
        return jax.random.randint(key, (), 0, num_rows, jnp.int32)

    def reward(state: TableState, context: None, action: Array, noise: Array) -> Array:
        return get_at(as_float(rewards).reshape(-1), noise * num_arms + action)

    def regret(state: TableState, context: None, action: Array) -> Array:
        return get_at(state.gaps, action)

    return Environment(init=init, observe=no_context(), noise=noise, reward=reward, regret=regret)
