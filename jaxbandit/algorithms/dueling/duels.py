"""What algorithms for duels share: the counts of wins, their confidence bounds, and the arm that beats the most."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandit.base.contract import Algorithm, Arms, Rewards
from jaxbandit.support.numerics import argmax, as_float
from jaxbandit.support.types import Array, Key, Scalar


def duel_policy(
    num_arms: int, init: Callable, select: Callable, update: Callable, noise: Callable[[Key], Any]
) -> Algorithm:
    """Return the rule whose actions are pairs of arms, which may be equal, and whose state has the field `wins`."""
    return Algorithm(
        init=init,
        select=select,
        update=update,
        recommend=lambda state: beats_most(state.wins),
        noise=noise,
        arms=Arms(num_arms, action=jax.ShapeDtypeStruct((2,), jnp.int32)),
        rewards=Rewards(0.0, 1.0),
    )


def after(wins: Array, pair: Array, feedback: Array) -> Array:
    """Return the wins of rows against columns, int32[num_arms, num_arms], after one more duel; none against itself."""
    first = feedback > 0.5
    winner, loser = jnp.where(first, pair[0], pair[1]), jnp.where(first, pair[1], pair[0])
    arms = jnp.arange(len(wins), dtype=jnp.int32)
    won = (arms[:, None] == winner) & (arms[None] == loser) & (pair[0] != pair[1])
    return wins + won.astype(jnp.int32)


def shares_and_widths(wins: Array, round: Array, alpha: Scalar) -> tuple[Array, Array, Array]:
    """Return the shares of wins, their widths sqrt(alpha log t / duels), and whether there was a duel, [K, K] each."""
    duels = wins + wins.T
    n = as_float(jnp.maximum(duels, 1))
    return as_float(wins) / n, jnp.sqrt(as_float(alpha) * jnp.log(as_float(round)) / n), duels > 0


def column(matrix: Array, arm: Array) -> Array:
    """Return a column without NaN of a matrix as a masked maximum, which is fast in a batch of runs."""
    chosen = jnp.arange(matrix.shape[1], dtype=jnp.int32)[None] == arm
    return jnp.max(jnp.where(chosen, matrix, -jnp.inf), axis=1)


def beats_most(wins: Array) -> Array:
    """Return the arm that has won the majority of its duels against the most others, int32[]."""
    return argmax(jnp.sum(wins > wins.T, axis=1, dtype=jnp.int32))
