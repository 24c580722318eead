"""Names for what passes between the parts. Nothing here is checked at run time."""

from typing import Any, Literal

import jax
import numpy as np

Array = jax.Array
ArrayLike = jax.Array | Any  # a traced array as a caller may give it: NumPy's, or lists of numbers, too
Key = jax.Array  # a typed PRNG key, as jax.random.key returns it
Scalar = float | jax.Array  # a traced hyperparameter: a Python number or a 0-d array
Numbers = float | jax.Array | np.ndarray | Any  # traced: a number for all arms, or an array with one an arm
PyTree = Any
Device = Any  # a jax.Device
Distance = Literal["sq", "bq", "h", "lb", "t", "kl"]
