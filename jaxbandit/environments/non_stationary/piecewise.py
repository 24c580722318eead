"""Environments whose means jump: a table of means with one row per segment of rounds, for several reward families."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Arms, Environment, Noise, Rewards
from jaxbandit.base.truth import Schedule, Truth
from jaxbandit.support import checks
from jaxbandit.support.numerics import as_float, get_at
from jaxbandit.support.types import Array, ArrayLike, Key


class Clock(NamedTuple):
    """The state of an environment that follows a schedule, which all runs share."""

    round: Array  # int32[], rounds played so far


def started(key: Key) -> Clock:
    """Return the clock before the first round."""
    return Clock(jnp.int32(0))


def ticked(state: Clock, context: None, action: Array, noise: Noise) -> Clock:
    """Return the clock one round later. This is the transition of an environment that follows a schedule."""
    return Clock(state.round + 1)


def segments(means: ArrayLike, starts: Sequence[int], low: float = -math.inf, high: float = math.inf) -> ArrayLike:
    """Validate a schedule and return the table of means."""
    means = checks.take("means", means, checks.arrays(ndim=2, low=low, high=high))
    if not means.shape[1]:
        raise ValueError(f"means has shape {means.shape}, must have a column for each arm")
    if len(starts) != len(means):
        raise ValueError(f"starts has {len(starts)} entries, must have {len(means)}, one per row of means")
    return means


def piecewise(
    means: ArrayLike,
    starts: Any,
    noise: Callable[[Key], Noise],
    reward: Callable[[Array, Noise], Array],
    rewards: Rewards,
    regret_constant: Callable[[ArrayLike], float],
) -> Environment:
    """Return the environment of a schedule that `segments` has validated.

    Args:
      starts: int32[segments].
      noise: function that draws the noise of one round.
      reward: function from the mean of the arm and the noise to the reward.
      regret_constant: function from the means of a segment to the constant of their lower bound on regret.
    """
    # Concrete means are subtracted in float64, because regret adds up a gap and its rounding over many rounds.
    gaps = None if checks.is_traced(means) else np.max(means, 1, keepdims=True) - means

    def row(table: ArrayLike, state: Clock) -> Array:
        segment = jnp.sum(state.round >= starts, dtype=jnp.int32) - 1
        return get_at(as_float(table), segment)

    def regret(state: Clock, context: None, action: Array) -> Array:
        if gaps is not None:
            return get_at(row(gaps, state), action)
        mu = row(means, state)
        return jnp.max(mu) - get_at(mu, action)

    return Environment(
        init=started,
        noise=noise,
        reward=lambda state, context, action, noise: reward(get_at(row(means, state), action), noise),
        regret=regret,
        transition=ticked,
        arms=Arms(means.shape[1]),
        rewards=rewards,
        schedule=Schedule(tuple(starts.tolist()), means, regret_constant),
        truth=Truth(means=lambda state: row(means, state)),
    )
