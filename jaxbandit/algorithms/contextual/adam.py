"""Adam (Kingma and Ba 2015, Algorithm 1) with the paper's constants.

Optax's promotes dtypes implicitly, which is refused here, and the bytes of a run would depend on one more package.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, PyTree, Scalar

FIRST, SECOND, LEAST = 0.9, 0.999, 1e-8  # beta_1, beta_2 and epsilon


class Adam(NamedTuple):
    """Moments of the gradients so far."""

    steps: Array  # int32[]
    first: PyTree  # like the weights
    second: PyTree


def init(weights: PyTree) -> Adam:
    """Return the state before the first step."""
    zeros = jax.tree.map(jnp.zeros_like, weights)
    return Adam(jnp.zeros((), jnp.int32), zeros, zeros)


def update(weights: PyTree, state: Adam, gradient: PyTree, learning_rate: Scalar) -> tuple[PyTree, Adam]:
    """Return the weights and the state after a step against the gradient."""
    steps = state.steps + 1
    first = jax.tree.map(lambda m, g: FIRST * m + (1 - FIRST) * g, state.first, gradient)
    second = jax.tree.map(lambda v, g: SECOND * v + (1 - SECOND) * g * g, state.second, gradient)
    t = as_float(steps)
    rate, scale = as_float(learning_rate) / (1 - FIRST**t), 1 - SECOND**t
    weights = jax.tree.map(lambda w, m, v: w - rate * m / (jnp.sqrt(v / scale) + LEAST), weights, first, second)
    return weights, Adam(steps, first, second)
