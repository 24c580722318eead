"""What environments with one mean per arm share: the order of the arms in a run, simple regret, and the truth."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from jaxbandit.base.numerics import as_float, get_at
from jaxbandit.base.truth import Truth
from jaxbandit.base.types import Array, ArrayLike, Key, Numbers, PyTree
from jaxbandit.theory import bounds  # its names are imported when they are called

if TYPE_CHECKING:
    from jaxbandit.theory.solvers.families import FamilyName


def arm_order(key: Key, num_arms: int) -> Array:
    """Return a uniformly random permutation, int32[num_arms]: the index of each arm in the instance as given.

    Each run draws its own order, so that no algorithm benefits from how it breaks ties.
    """
    return jax.random.permutation(key, jnp.arange(num_arms, dtype=jnp.int32))


def means_of_run(key: Key, means: ArrayLike, permute: bool) -> Array:
    """Return the means of a run, float[num_arms], as given, or in a random order if `permute`."""
    mu = as_float(means)
    return get_at(mu, arm_order(key, len(mu))) if permute else mu


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


def means_of_state(state: PyTree) -> Array:
    """Return the true means of a run, float[num_arms], for states with a field `means`."""
    return state.means


def bernoulli_arms(means: ArrayLike) -> Truth:
    """Return the truth of Bernoulli arms with these means, in any order that a run may draw."""
    return _family_arms(means, "bernoulli", lambda: bounds.bernoulli_regret_constant(means))


def gaussian_arms(means: ArrayLike, sigma: Numbers) -> Truth:
    """Return the truth of Gaussian arms with these means and one sigma, or one for each arm."""
    return Truth(
        means=means_of_state,
        regret_constant=lambda: bounds.gaussian_regret_constant(means, sigma),
        characteristic_time=lambda: bounds.characteristic_time(means, family="gaussian", sigma=sigma),
    )


def poisson_arms(means: ArrayLike) -> Truth:
    """Return the truth of Poisson arms with these means."""
    return _family_arms(means, "poisson", lambda: bounds.poisson_regret_constant(means))


def exponential_arms(means: ArrayLike) -> Truth:
    """Return the truth of exponential arms with these means."""
    return _family_arms(means, "exponential", lambda: bounds.exponential_regret_constant(means))


def _family_arms(means: ArrayLike, family: "FamilyName", regret_constant: Callable[[], float]) -> Truth:
    """Return the truth of arms of a family in which the mean determines the distribution."""
    return Truth(
        means=means_of_state,
        regret_constant=regret_constant,
        characteristic_time=lambda: bounds.characteristic_time(means, family=family),
    )
