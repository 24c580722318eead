"""Losses that an adversary fixed in advance: a table of rounds and arms, or a function of the round."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit import checks
from jaxbandit.base import Arms, Environment, Rewards
from jaxbandit.environments.piecewise import Clock, started, ticked
from jaxbandit.numerics import as_float, get_at
from jaxbandit.types import Array, ArrayLike


def loss_table(losses: ArrayLike | Callable[[Array], Array]) -> Environment:
    """Return the bandit whose losses are all given: the reward of a pull is 1 - loss, without noise.

    All runs meet the same losses. Nothing is assumed of them, which is what regret bounds of adversarial algorithms are
    about; those compare with the best fixed arm in hindsight: `simulate(..., hindsight=True)`.

    Args:
      losses: float[rounds, num_arms] in [0, 1], traced, row r for round r + 1; or a function of r, int32[] from 0, that
        returns float[num_arms] in [0, 1] and runs while JAX traces. A run in which a pulled arm's loss is outside
        [0, 1] ends as OUT_OF_RANGE, or NONFINITE.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] in [0, 1]. Its `regret` is the loss less
      the least of the round. A table has as many rounds as rows, and a longer horizon is refused; a function has any.

    Raises:
      ValueError: losses is no table within [0, 1], or its function does not return a vector of floats.

    Source: Auer, Cesa-Bianchi, Freund, Schapire (2002), The nonstochastic multiarmed bandit problem, SIAM J. Comput.
    """
    rewards, num_arms, length = _rewards(losses)

    def reward(state: Clock, context: None, action: Array, noise: None) -> Array:
        return get_at(rewards(state.round), action)

    def regret(state: Clock, context: None, action: Array) -> Array:
        all_arms = rewards(state.round)
        return jnp.max(all_arms) - get_at(all_arms, action)

    return Environment(
        init=started,
        reward=reward,
        regret=regret,
        transition=ticked,
        arms=Arms(num_arms),
        rewards=Rewards(0.0, 1.0),
        length=length,
        name="loss_table",
    )


def _rewards(losses: Any) -> tuple[Callable[[Array], Array], int, int | None]:
    """1 - loss of every arm as a function of the round, the number of arms, and that of rounds."""
    if callable(losses):
        shape: Any = jax.eval_shape(losses, jax.ShapeDtypeStruct((), jnp.int32))
        if getattr(shape, "ndim", 0) != 1 or not shape.size or not jnp.issubdtype(shape.dtype, jnp.floating):
            raise ValueError(f"loss_table: losses returns {_named(shape)}, must return float[num_arms]")
        return lambda round: 1 - as_float(losses(round)), shape.shape[0], None
    table = checks.array("loss_table", "losses", losses, ndim=2, low=0.0, high=1.0)
    if not table.shape[1]:
        raise ValueError(f"loss_table: losses has shape {table.shape}, must have a column, one an arm")
    rest = 1 - table  # of numbers that are known in float64: 1 - loss is then rounded once
    return lambda round: get_at(as_float(rest), round), table.shape[1], table.shape[0]


def _named(x: Any) -> str:
    return f"{np.dtype(x.dtype)}{list(x.shape)}" if hasattr(x, "dtype") else type(x).__name__
