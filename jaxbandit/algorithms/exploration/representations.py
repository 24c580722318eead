"""The table of w* used by the optimized rule: Xu, Honda and Sugiyama (2017), equation 11, for every pair of arms."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.numerics import as_float
from jaxbandit.base.types import Array
from jaxbandit.theory.solvers.l1 import l1_representation, l1_table


def pair_weights(features: Array) -> Array:
    """Return the absolute weights w* of x_i - x_j in row i num_arms + j, float[num_arms^2, num_arms].

    They have the smallest l1 norm for each pair. They are computed by HiGHS for concrete features, float[num_arms,
    dim], and by an interior-point method for traced ones.
    """
    num_arms = features.shape[0]
    if isinstance(features, np.ndarray):
        return jnp.asarray(_by_highs(features.tobytes(), features.shape), jnp.result_type(float))
    x = as_float(features)
    first, second = np.triu_indices(num_arms, 1)
    pairs = jnp.abs(jax.vmap(lambda target: l1_representation(x, target).weights)(x[first] - x[second]))
    table = jnp.zeros((num_arms, num_arms, num_arms), pairs.dtype)
    return table.at[first, second].set(pairs).at[second, first].set(pairs).reshape(-1, num_arms)


@functools.lru_cache(maxsize=64)
def _by_highs(data: bytes, shape: tuple[int, int]) -> np.ndarray:
    """Solve once per set of features, however often a factory is traced."""
    return np.abs(l1_table(np.frombuffer(data).reshape(shape))).reshape(-1, shape[0])
