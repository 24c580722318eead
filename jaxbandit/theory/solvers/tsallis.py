"""The distribution of follow-the-regularized-leader with the Tsallis entropy of order 1/2, by Newton's method.

Zimmert and Seldin (2021), equation (2): p_i = 4 / (eta (L_i - x))^2, with the number x for which they sum to 1.
"""

import jax.numpy as jnp

from jaxbandit.support.types import Array

FEW_ARMS, STEPS_OF_FEW, STEPS_OF_MANY = 100, 4, 6


def tsallis_probabilities(distances: Array) -> Array:
    """Return p_i = (u + d_i)^-2, with u in [1, sqrt(num_arms)] such that they sum to 1, within 3e-7 in float32.

    Newton's method increases from u = 1 to the root. Of the distances, eta (L_i - min L) / 2, one is 0; inf gives
    probability 0.
    """
    few = distances.shape[0] <= FEW_ARMS
    inverse = 1 / (newton_root(distances, STEPS_OF_FEW if few else STEPS_OF_MANY) + distances)
    weights = inverse * inverse
    return weights / jnp.sum(weights)


def newton_root(distances: Array, steps: int) -> Array:
    """Return u after this number of steps from u = 1, float[]."""
    u = jnp.ones((), distances.dtype)
    for _ in range(steps):
        inverse = 1 / (u + distances)
        square = inverse * inverse
        g = jnp.sum(square)
        u = jnp.maximum(u + (g * jnp.sqrt(g) - g) / jnp.sum(square * inverse), 1.0)
    return u
