"""Exponential weights on estimated losses: the distribution and the learning rates of EXP3 and EXP3-IX."""

import math
from collections.abc import Callable
from typing import Literal

import jax.numpy as jnp

from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, Scalar

Rate = Literal["anytime", "fixed"]


def learning_rate(num_arms: int, rate: Rate, horizon: int | None, eta: Scalar | None) -> Callable[[Array], Array]:
    """Return the learning rate as a function of the round, float[] -> float[]; a fixed rate needs horizon or eta."""
    chosen = eta
    if eta is None and rate == "anytime":
        chosen = math.sqrt(math.log(num_arms) / num_arms)
    elif eta is None and horizon is not None:
        chosen = math.sqrt(2 * math.log(num_arms) / (horizon * num_arms))
    elif eta is None:
        raise ValueError('horizon = None, must be given for rate = "fixed", or eta in its place')

    def at(round: Array) -> Array:
        return as_float(chosen) / jnp.sqrt(round) if rate == "anytime" else as_float(chosen)

    return at


def exponential_weights(excess: Array, eta: Array) -> Array:
    """Return the probabilities proportional to exp(-eta excess), float[num_arms]; the smallest excess is 0."""
    weights = jnp.exp(-eta * excess)
    return weights / jnp.sum(weights)
