"""Type aliases that the package shares. They are not checked at run time."""

from collections.abc import Mapping
from typing import Any, Literal

import jax
import numpy as np

Array = jax.Array
ArrayLike = jax.Array | Any  # a traced array; callers may also pass NumPy arrays or lists of numbers
Key = jax.Array  # a typed PRNG key, as returned by jax.random.key
Scalar = float | jax.Array  # a traced hyperparameter: a Python number or a 0-d array
Numbers = float | jax.Array | np.ndarray | Any  # traced: one number for all arms, or an array with one per arm
PyTree = Any  # arrays in nested tuples, lists and dictionaries
Device = Any  # a jax.Device
Json = dict[str, Any]  # an object of a JSON file, or a table of a TOML file
Table = Mapping[str, Any]  # the same, where it is only read
Distance = Literal["sq", "bq", "h", "lb", "t", "kl"]
FamilyName = Literal["bernoulli", "gaussian", "poisson", "exponential"]
