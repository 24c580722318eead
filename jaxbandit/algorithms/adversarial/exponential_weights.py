"""Exponential weights on estimated losses: the distribution and the learning rates of EXP3 and EXP3-IX."""

import math
from collections.abc import Callable
from typing import Literal

import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.numerics import as_float
from jaxbandit.types import Array, Scalar

Rate = Literal["anytime", "fixed"]


def learning_rate(
    where: str, num_arms: int, rate: Rate, horizon: int | None, eta: Scalar | None
) -> Callable[[Array], Array]:
    """Return the learning rate of a round, float[] from float[]; refuse, in one line, what gives none.

    Args:
      where: who refuses.
      num_arms: K.
      rate: "anytime", eta / sqrt(t) at round t, or "fixed", eta in every round.
      horizon: T, which the default of a fixed eta is made for.
      eta: None: sqrt(log K / K) anytime, sqrt(2 log K / (T K)) fixed.
    """
    checks.choice(where, "rate", rate, ("anytime", "fixed"))
    if horizon is not None:
        horizon = checks.integer(where, "horizon", horizon, 1)
    if eta is not None:
        checks.number(where, "eta", eta, low=0.0, open_low=True)
    elif rate == "anytime":
        eta = math.sqrt(math.log(num_arms) / num_arms)
    elif horizon is None:
        raise ValueError(f'{where}: horizon = None, must be given for rate = "fixed", or eta in its place')
    else:
        eta = math.sqrt(2 * math.log(num_arms) / (horizon * num_arms))
    chosen = eta

    def at(round: Array) -> Array:
        return as_float(chosen) / jnp.sqrt(round) if rate == "anytime" else as_float(chosen)

    return at


def exponential_weights(excess: Array, eta: Array) -> Array:
    """Return the probabilities proportional to exp(-eta excess), float[num_arms]; the least excess is 0."""
    weights = jnp.exp(-eta * excess)
    return weights / jnp.sum(weights)
