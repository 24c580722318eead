"""A random order of the arms in each run, so that no algorithm benefits from how it breaks ties."""

import jax
import jax.numpy as jnp

from jaxbandit.base.numerics import as_float, get_at
from jaxbandit.base.types import Array, ArrayLike, Key


def arm_order(key: Key, num_arms: int) -> Array:
    """Return a uniformly random permutation, int32[num_arms]: the index of each arm in the instance as given."""
    return jax.random.permutation(key, jnp.arange(num_arms, dtype=jnp.int32))


def means_of_run(key: Key, means: ArrayLike, permute: bool) -> Array:
    """Return the means of a run, float[num_arms], as given, or in a random order if `permute`."""
    mu = as_float(means)
    return get_at(mu, arm_order(key, len(mu))) if permute else mu
