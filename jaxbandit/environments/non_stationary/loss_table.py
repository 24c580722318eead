"""Losses that an oblivious adversary fixed in advance: a table of rounds and arms, or a function of the round."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Arms, Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.truth import Truth
from jaxbandit.environments.means import regret_by_means
from jaxbandit.environments.non_stationary.piecewise import Clock, started, ticked
from jaxbandit.support import checks
from jaxbandit.support.numerics import as_float, get_at
from jaxbandit.support.types import Array, ArrayLike, PyTree


@declare(settings=({"losses": np.linspace(0, 1, 180).reshape(60, 3)[::-1]},))
def loss_table(losses: ArrayLike | Callable[[Array], Array]) -> Environment:
    """A table of the losses of every round and arm, fixed in advance.

    The reward of a pull is 1 - loss, without noise, and all runs have the same losses. Bounds of adversarial algorithms
    compare with the best fixed arm in hindsight, see `simulate(..., hindsight=True)`.

    Args:
      losses: float[rounds, num_arms] in [0, 1], whose row r is for round r + 1; traced. Or a function of r, int32[]
        from 0, that returns float[num_arms] in [0, 1] and can be traced by JAX. A run in which the loss of a pulled arm
        is outside [0, 1] ends as OUT_OF_RANGE, or NONFINITE.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] in [0, 1]. Its `regret` is the loss minus
      the smallest loss of the round. A table has as many rounds as rows, and a longer horizon raises an error; a
      function has no limit.

    Raises:
      ValueError: losses is not a table within [0, 1], or its function does not return a vector of floats.

    Source:
      Auer, Cesa-Bianchi, Freund and Schapire (2002), The nonstochastic multiarmed bandit problem, SIAM J. Comput. 32
    """
    rewards, num_arms, length = _rewards(losses)

    def means(state: Clock) -> Array:
        return rewards(state.round)

    return Environment(
        init=started,
        reward=lambda state, context, action, noise: get_at(means(state), action),
        regret=regret_by_means(means),
        transition=ticked,
        arms=Arms(num_arms),
        rewards=Rewards(0.0, 1.0),
        truth=Truth(means=means),
        length=length,
    )


def _rewards(losses: ArrayLike | Callable[[Array], Array]) -> tuple[Callable[[Array], Array], int, int | None]:
    """Return 1 - loss of every arm as a function of the round, the number of arms, and the number of rounds."""
    if callable(losses):
        shape: Any = jax.eval_shape(losses, jax.ShapeDtypeStruct((), jnp.int32))
        if getattr(shape, "ndim", 0) != 1 or not shape.size or not jnp.issubdtype(shape.dtype, jnp.floating):
            raise ValueError(f"losses returns {_named(shape)}, must return float[num_arms]")
        return lambda round: 1 - as_float(losses(round)), shape.shape[0], None
    table = checks.take("losses", losses, checks.arrays(ndim=2, low=0.0, high=1.0))
    if not table.shape[1]:
        raise ValueError(f"losses has shape {table.shape}, must have a column for each arm")
    rest = 1 - table  # in float64 if the losses are concrete, so that 1 - loss is rounded once
    return lambda round: get_at(as_float(rest), round), table.shape[1], table.shape[0]


def _named(x: PyTree) -> str:
    return f"{np.dtype(x.dtype)}{list(x.shape)}" if hasattr(x, "dtype") else type(x).__name__
