"""Names for what passes between the parts. Nothing here is checked at run time."""

from typing import Any, Literal

import jax

Array = jax.Array
ArrayLike = jax.Array | Any  # a traced array as a caller may give it: NumPy's, or lists of numbers, too
Key = jax.Array  # a typed PRNG key, as jax.random.key returns it
Scalar = float | jax.Array  # a traced hyperparameter: a Python number or a 0-d array
PyTree = Any
Device = Any  # a jax.Device
Distance = Literal["sq", "bq", "h", "lb", "t", "kl"]
