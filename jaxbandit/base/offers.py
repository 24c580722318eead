"""What a rule does with an `Offer`: it leaves out the arms that are not available, and is otherwise unchanged.

This is known while JAX traces the rule.
"""

import jax.numpy as jnp

from jaxbandit.base.contract import Context, Offer
from jaxbandit.support.numerics import argmax, as_float
from jaxbandit.support.types import Array


def available_of(context: Context) -> Array | None:
    """Return which arms are available, bool[num_arms]; None for all."""
    return context.available if isinstance(context, Offer) else None


def features_of(context: Context) -> Context:
    """Return the context without the statement which arms are available."""
    return context.features if isinstance(context, Offer) else context


def among_available(available: Array | None, scores: Array) -> Array:
    """Return scores of the arms, float[num_arms], that are -inf, below all others, for arms that are not available."""
    if available is None:
        return scores
    return jnp.where(available, jnp.maximum(scores, jnp.finfo(scores.dtype).min), -jnp.inf)


def best_available(context: Context, scores: Array) -> Array:
    """Return the available arm with the largest score, int32[]; ties go to the lowest-numbered."""
    return argmax(among_available(available_of(context), scores))


def uniform_arm(available: Array | None, u: Array, num_arms: int) -> Array:
    """Return the arm floor(u num_arms), int32[], for a uniform u in [0, 1 - eps], or that of the available arms.

    The bias of an arm is below num_arms 2^-23 in float32. If no arm is available, the result is the last one.
    """
    if available is None:
        return jnp.floor(u * num_arms).astype(jnp.int32)
    passed = jnp.cumsum(available, dtype=jnp.int32)  # of the arms up to each, how many are available
    rank = jnp.floor(u * as_float(passed[-1])).astype(jnp.int32)
    return jnp.minimum(jnp.sum(passed <= rank, dtype=jnp.int32), num_arms - 1)
