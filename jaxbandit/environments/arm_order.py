"""The arms of an instance in a random order of each run, so that no rule gains by how it breaks ties."""

import jax
import jax.numpy as jnp

from jaxbandit.types import Array, Key


def arm_order(key: Key, num_arms: int) -> Array:
    """Return a uniformly random permutation, int32[num_arms]: the place of each arm in the instance as given."""
    return jax.random.permutation(key, jnp.arange(num_arms, dtype=jnp.int32))
