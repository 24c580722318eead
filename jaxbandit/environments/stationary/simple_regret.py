"""Simple regret: how far the true means of recommended arms are below the best, for environments of num_arms arms."""

import jax
import jax.numpy as jnp

from jaxbandit.base.numerics import get_at
from jaxbandit.base.types import Array, PyTree


def simple_regret(state: PyTree, recommendation: Array) -> Array:
    """Return max(0, mu_(m) - smallest mean of the m recommended arms), float[], exactly 0 for ties.

    Means are compared, never sets of arms. Means that are mathematically equal differ by rounding errors if they are
    inner products, so a difference within 1e-12 of the largest absolute mean is a tie (2e-6 in float32, which is 16
    rounding errors).

    Args:
      state: state of an environment, with a field `means`, float[num_arms].
      recommendation: int32[m] or int32[], different arms; its shape determines m.
    """
    mu = state.means
    arms = recommendation.reshape(-1)
    missing = jax.lax.top_k(mu, arms.size)[0][-1] - jnp.min(get_at(mu, arms))
    tie = (1e-12 if mu.dtype == jnp.float64 else 2e-6) * jnp.max(jnp.abs(mu))
    return jnp.where(missing <= tie, 0.0, missing)


def sum_simple_regret(state: PyTree, recommendation: Array, *, best: Array | None = None) -> Array:
    """Return max(0, best - sum of the means of the m recommended arms), float[].

    This is for a set of arms that is evaluated as a whole. Ties are as in `simple_regret`, within 1e-12 of m times the
    largest absolute mean.

    Args:
      state: state of an environment, with a field `means`, float[num_arms].
      recommendation: int32[m], different arms; its shape determines m.
      best: float[], the largest sum that is allowed; None means the sum of the m largest means.
    """
    mu = state.means
    most = jnp.sum(jax.lax.top_k(mu, recommendation.size)[0]) if best is None else best
    missing = most - jnp.sum(get_at(mu, recommendation))
    tie = (1e-12 if mu.dtype == jnp.float64 else 2e-6) * recommendation.size * jnp.max(jnp.abs(mu))
    return jnp.where(missing <= tie, 0.0, missing)
