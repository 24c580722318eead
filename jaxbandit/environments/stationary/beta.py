"""Beta arms: the reward of arm a is Beta(alpha[a], beta[a]), namely its quantile at a level that all arms share.

The quantile functions are tabulated as cubics on cells that shrink geometrically toward both ends; the distribution
function is accurate to 5e-8. Parameters that are traced or below 1/2 are drawn by `jax.random.beta`, a hundred times
slower.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.arguments import PositiveVector
from jaxbandit.base.contract import Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.truth import Truth
from jaxbandit.environments.means import MeansState, equal_if_rounded, means_of_state, stationary_arms
from jaxbandit.support import special
from jaxbandit.support.numerics import as_float, get_at
from jaxbandit.support.types import Array, Key

_CELL_BITS = 4  # 2^4 cells per octave; each further bit reduces the error of the cubics 16-fold
_OCTAVES = 32  # levels are odd multiples of 2^-33 in (0, 1/2), scaled to half-integers from 2^-1 to 2^31
_SIDE = (_OCTAVES << _CELL_BITS) + 1  # the last cell is the single point 2^31, which rounding to float32 can reach
_MIN_SHAPE = 0.5  # below it the quantile function curves too much within an octave for 2^4 cubics


def quantile_table(alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Return the coefficients of the cubics, lowest power first, float64[4, num_arms * 2 * _SIDE].

    Of the cells of an arm, the first _SIDE are for levels u < 1/2, and the others for u > 1/2 as functions of 1 - u.
    """
    starts = 2.0 ** (np.arange(_OCTAVES)[:, None] - 1) * (1 + np.arange(1 << _CELL_BITS) / (1 << _CELL_BITS))
    widths = np.repeat(2.0 ** (np.arange(_OCTAVES) - 1 - _CELL_BITS), 1 << _CELL_BITS)
    nodes = np.array([0.0, 0.25, 0.75, 1.0])  # Chebyshev-Lobatto points: the cubics of adjacent cells meet
    tails = np.append(starts.reshape(-1, 1) + widths[:, None] * nodes, np.full((1, 4), 2.0**31), axis=0) / 2**32
    a, b = alpha[:, None, None], beta[:, None, None]
    values = np.stack([special.betaincinv(a, b, tails), special.betainccinv(a, b, tails)], axis=1)
    cubics = np.matmul(values, np.linalg.inv(np.vander(nodes, increasing=True)).T)
    return np.ascontiguousarray(np.moveaxis(cubics, -1, 0).reshape(4, -1))


def quantile(table: Array, arm: Array, bits: Array) -> Array:
    """Return the quantile of the arm's distribution at level (bits + 1/2) / 2^32 from the table, with bits uint32[]."""
    upper = bits >> 31
    tail = jnp.where(upper == 1, ~bits, bits).astype(jnp.int32).astype(jnp.float32) + jnp.float32(0.5)
    pattern = jax.lax.bitcast_convert_type(tail, jnp.int32)  # exponent and leading mantissa bits number the cell
    low = 23 - _CELL_BITS
    cell = (pattern >> low) - (126 << _CELL_BITS)
    x = as_float(pattern & ((1 << low) - 1)) * 2.0**-low
    cell = cell + (2 * arm + upper.astype(jnp.int32)) * _SIDE
    c0, c1, c2, c3 = (get_at(table[power], cell) for power in range(4))
    return jnp.clip(c0 + x * (c1 + x * (c2 + x * c3)), 0.0, 1.0)


@declare(
    concrete=("alpha", "beta"),
    settings=({"alpha": (1.0, 2.0), "beta": (2.0, 2.0)}, {"alpha": (0.1, 2.0), "beta": (2.0, 2.0)}),
)
def beta(alpha: PositiveVector, beta: PositiveVector) -> Environment:
    """Beta rewards.

    Return the K-armed bandit with Beta rewards: the reward of arm a is Beta(alpha[a], beta[a]).

    Args:
      alpha: float[num_arms]. Concrete values >= 1/2 use the fast table; traced values are allowed.
      beta: float[num_arms], likewise.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] in [0, 1]. Its noise is 32 random bits
      shared by all arms, or a key if any parameter is traced or below 1/2; the rewards then differ but have the same
      distribution.

    Raises:
      ValueError: a parameter is not a vector, is empty or not positive, or the two differ in length.
    """
    a: Any = alpha
    b: Any = beta
    if a.shape != b.shape:
        raise ValueError(f"beta has shape {b.shape}, must have alpha's shape {a.shape}")
    tabulated = all(isinstance(x, np.ndarray) and x.min() >= _MIN_SHAPE for x in (a, b))
    table = quantile_table(a, b) if tabulated else None

    def means(key: Key) -> Array:
        mu = as_float(a) / (as_float(a) + as_float(b))
        return equal_if_rounded(mu, 2 * jnp.finfo(mu.dtype).eps * mu)  # a sum and a quotient of rounded parameters

    def noise(key: Key) -> Array:
        return key if table is None else jax.random.bits(key, dtype=jnp.uint32)

    def reward(state: MeansState, context: None, action: Array, noise: Array) -> Array:
        if table is None:
            return jax.random.beta(noise, get_at(as_float(a), action), get_at(as_float(b), action))
        return quantile(as_float(jnp.asarray(table)), action, noise)

    return stationary_arms(
        len(a),
        means,
        reward,
        noise=noise,
        rewards=Rewards(0.0, 1.0, sigma=0.5, family="beta"),
        truth=Truth(means=means_of_state),
    )
