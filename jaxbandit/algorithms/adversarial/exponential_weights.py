"""Exponential weights on estimated losses: the distribution and the learning rates of EXP3 and EXP3-IX."""

import math
from collections.abc import Callable
from typing import Literal

import jax.numpy as jnp

from jaxbandit.support import checks
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, Scalar

Rate = Literal["anytime", "fixed"]


def learning_rate(
    where: str, num_arms: int, rate: Rate, horizon: int | None, eta: Scalar | None
) -> Callable[[Array], Array]:
    """Return the learning rate as a function of the round, float[] -> float[].

    Args:
      where: name of the calling function, for error messages.
      num_arms: number of arms K.
      rate: "anytime" for eta / sqrt(t) in round t, or "fixed" for eta in every round.
      horizon: number of rounds T that the default of a fixed eta is made for.
      eta: constant of the rate; None means sqrt(log K / K) for "anytime" and sqrt(2 log K / (T K)) for "fixed".

    Raises:
      ValueError: an argument is out of range, or the fixed rate has neither horizon nor eta.
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
    """Return the probabilities proportional to exp(-eta excess), float[num_arms]; the smallest excess is 0."""
    weights = jnp.exp(-eta * excess)
    return weights / jnp.sum(weights)
