"""Recorded rewards: a pull draws a row of a table, with replacement, and the reward of an arm is its entry there.

The arms of a round share the row, so that rewards that were recorded together stay together.
"""

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.arguments import Deviation, Matrix, Permute
from jaxbandit.base.batches import BatchRewards
from jaxbandit.base.contract import Arms, Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.truth import Truth, nothing
from jaxbandit.environments.linear_arms.linear_truth import linear_known
from jaxbandit.environments.means import arm_order, equal_if_rounded, means_of_state, regret_by_gaps, simple_regret
from jaxbandit.support.numerics import as_float, get_at
from jaxbandit.support.types import Array, ArrayLike, Key


class TableState(NamedTuple):
    """The true means of one run."""

    means: Array  # float[num_arms], the table's column means
    gaps: Array  # float[num_arms], max(means) - means
    order: Array | None = None  # int32[num_arms], the column of each arm; None keeps the order of the table


@declare(concrete=("rewards", "features"), settings=({"rewards": ((0.0, 0.5), (1.0, 0.25), (0.5, 0.0))},))
def table(
    rewards: Matrix,
    features: Matrix | None = None,
    *,
    sigma: Deviation | None = None,
    rows: Literal["common", "independent"] = "common",
    permute: Permute = False,
) -> Environment:
    """Recorded rewards, rows drawn with replacement.

    Each round draws one row uniformly, with replacement, and the reward of an arm is its entry in that row.

    Args:
      rewards: float[num_rows, num_arms], finite; traced. Row i is one record of every arm's reward.
      features: float[num_arms, dim], known features of each arm, or None. They do not affect rewards; theta is their
        minimum-norm least-squares fit of the means, and no bound holds unless it represents them.
      sigma: sub-Gaussian scale that algorithms are told. None means half the difference between the largest and the
        smallest entry of rewards, which is large enough by Hoeffding's lemma.
      rows: whether the arms of a batch draw "common" or "independent" rows.
      permute: whether each run has the arms in a random order of its own; it must be False with features.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] from the table. Its noise is the row,
      int32[]: a 64-bit random integer modulo num_rows, so its distribution is uniform up to 2^-64 per row.

    Raises:
      ValueError: rewards is empty, ragged, not finite or not two-dimensional, features does not have one row per arm,
        or sigma is not a finite number above 0.
    """
    known: Any = features
    _check_arms(rewards, features)
    num_rows, num_arms = rewards.shape
    if permute and features is not None:
        raise ValueError("permute = True, must be False with features, which are in the order of the arms")
    low, high = rewards.min(), rewards.max()
    scale = (high - low) / 2 if sigma is None else sigma

    def theta() -> ArrayLike:
        means = _means(rewards)
        if all(isinstance(array, np.ndarray) for array in (known, means)):
            return np.linalg.lstsq(known, means, rcond=None)[0]
        return jnp.linalg.lstsq(as_float(known), as_float(means))[0]

    def init(key: Key) -> TableState:
        mu = as_float(_means(rewards))
        order = arm_order(key, num_arms) if permute else None
        mu = mu if order is None else get_at(mu, order)
        return TableState(mu, jnp.max(mu) - mu, order)

    def entries(state: TableState, row: Array, arm: Array) -> Array:
        column = arm if state.order is None else get_at(state.order, arm)
        return get_at(as_float(rewards).reshape(-1), row * num_arms + column)

    def noise(key: Key) -> Array:
        return jax.random.randint(key, (), 0, num_rows, jnp.int32)

    def reward(state: TableState, context: None, action: Array, noise: Array) -> Array:
        return entries(state, noise, action)

    def total(state: TableState, pulls: Array, key: Key, squared: bool) -> Array:
        arms = jnp.arange(num_arms, dtype=jnp.int32)
        shape = () if rows == "common" else (num_arms,)

        def add(carry: tuple[Array, Array]) -> tuple[Array, Array]:
            i, sums = carry
            # Bits, not randint, whose chain of Threefry rounds takes XLA's CPU compiler extremely long.
            row = jax.random.bits(jax.random.fold_in(key, i), shape, jnp.uint32) % num_rows
            x = entries(state, jnp.broadcast_to(row.astype(jnp.int32), (num_arms,)), arms)
            return i + 1, sums + jnp.where(i < pulls, x * x if squared else x, 0.0)

        begin = (jnp.zeros((), pulls.dtype), jnp.zeros_like(state.means))
        return jax.lax.while_loop(lambda carry: carry[0] < jnp.max(pulls), add, begin)[1]

    def sums(state: TableState, pulls: Array, noise: Key) -> Array:
        return total(state, pulls, noise, False)

    def squares(state: TableState, pulls: Array, noise: Key, sums: Array) -> Array:
        return total(state, pulls, noise, True)  # the same key, hence the rows of the sums

    return Environment(
        init=init,
        noise=noise,
        reward=reward,
        regret=regret_by_gaps,
        simple_regret=simple_regret,
        batch=BatchRewards(lambda key: key, sums, squares),
        arms=Arms(num_arms),
        rewards=Rewards(low, high, sigma=scale),
        known=lambda: {"sigma": scale} if known is None else linear_known(known, theta(), scale),
        truth=Truth(
            means=means_of_state,
            dim=None if known is None else known.shape[1],
            parameters=nothing if known is None else lambda: {"theta": theta()},
        ),
    )


def _check_arms(rewards: ArrayLike, features: ArrayLike | None) -> None:
    num_arms = rewards.shape[1]
    if num_arms < 1:
        raise ValueError(f"rewards has shape {rewards.shape}, must have a column for each arm")
    if features is not None and features.shape[0] != num_arms:
        raise ValueError(f"features has {features.shape[0]} rows, must have {num_arms}, one per arm")


def _means(rewards: ArrayLike) -> ArrayLike:
    if not isinstance(rewards, np.ndarray):
        return as_float(rewards).mean(axis=0)
    # In float64, because float32 sums over many rows would separate tied arms. A sum is within num_rows rounding errors
    # of the absolute values in whatever order it is taken, so that columns with the same entries tie.
    rounding = len(rewards) * np.finfo(rewards.dtype).eps / 2 * abs(rewards).mean(axis=0)
    return equal_if_rounded(rewards.mean(axis=0), rounding)
