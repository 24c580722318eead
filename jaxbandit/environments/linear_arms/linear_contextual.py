"""Linear contextual bandit: each round has a context with its own action set, means x' theta and Gaussian noise.

Hao, Lattimore and Szepesvari (2020, OAM), Section 2. `linear` is the case of one context.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.arguments import ContextSets, Deviation, Mask, NonNegativeVector, Vector
from jaxbandit.base.contract import Arms, Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.truth import Truth
from jaxbandit.environments.linear_arms.linear_truth import linear_known, linear_truth
from jaxbandit.environments.means import means_of_state
from jaxbandit.support import checks
from jaxbandit.support.numerics import as_float, get_at, standard_normal
from jaxbandit.support.types import Array, ArrayLike, Key, PyTree, Scalar

_SUM = 1e-9  # by how much the sum of probabilities may differ from 1, because they are given as decimals


class LinearContextualState(NamedTuple):
    """The true means of one run."""

    means: Array  # float[num_contexts, num_arms], -inf for padding
    gaps: Array  # float[num_contexts, num_arms], best mean of the context minus means, 0 for padding


@declare(
    settings=(
        {
            "action_sets": (((1.0, 0.1), (-0.5, 0.9), (0.7, 0.5)), ((0.35, 0.25), (-0.25, 0.45), (0.5, 0.05))),
            "probabilities": (0.25, 0.75),
            "theta": (1.0, 0.2),
        },
    )
)
def linear_contextual(
    action_sets: ContextSets,
    probabilities: NonNegativeVector,
    theta: Vector,
    *,
    mask: Mask | None = None,
    sigma: Deviation = 1.0,
) -> Environment:
    """An action set with linear means for each context.

    Return the linear contextual bandit, which draws one of several known action sets in each round.

    Args:
      probabilities: float[num_contexts], the probabilities of the contexts, of sum 1. They are hidden
        from algorithms.
      theta: float[dim]. It is hidden from algorithms.

    Returns:
      An Environment with contexts int32[] in [0, num_contexts), actions int32[] in [0, num_arms) and rewards float[].
      Its noise is a uniform number for the context and a standard normal shared by all arms; with one context only the
      normal, as in `linear`. The regret of a padded action is NaN, so that a run that chooses one ends as NONFINITE.

    Raises:
      ValueError: probabilities are negative or do not sum to 1, the mask leaves a set empty, or every set has one arm.

    Source:
      Hao, Lattimore and Szepesvari (2020), Adaptive exploration in linear contextual bandit, AISTATS, Section 2.
    """
    padding = masked(mask)
    action_sets, mask = checked(action_sets, probabilities, mask)
    if theta.shape[0] != action_sets.shape[2]:
        wanted = f"must have {action_sets.shape[2]}, as rows of action_sets"
        raise ValueError(f"theta has {theta.shape[0]} entries, {wanted}")
    # In float64 NumPy if all arguments are concrete, so that ties are kept.
    concrete = isinstance(action_sets, np.ndarray) and isinstance(theta, np.ndarray)
    products = (action_sets * theta).sum(axis=2) if concrete else None

    def means(key: Key) -> Array:
        if products is not None:
            return as_float(products)
        return jnp.sum(as_float(action_sets) * as_float(theta)[None, None], axis=2)

    environment = from_means(means, action_sets.shape[1], probabilities, mask, sigma)
    return environment._replace(
        known=lambda: linear_known(action_sets, theta, sigma) | padding,
        truth=linear_truth(action_sets, theta, sigma, mask=mask)._replace(
            parameters=lambda: {"theta": theta, "probabilities": probabilities}
        ),
    )


def checked(action_sets: Array, probabilities: Array, mask: np.ndarray | None) -> tuple[ArrayLike, np.ndarray | None]:
    """Validate the arguments and return the action sets and the mask, which is None if nothing is padded."""
    sets, mask = checks.action_sets("action_sets", action_sets, mask)
    weights = probabilities
    if weights.shape[0] != sets.shape[0]:
        wanted = f"must have {sets.shape[0]}, one per set"
        raise ValueError(f"probabilities has {weights.shape[0]} entries, {wanted}")
    if isinstance(weights, np.ndarray) and abs(weights.sum() - 1) > _SUM:
        raise ValueError(f"probabilities sum to {float(weights.sum())!r}, must sum to 1")
    return sets, mask


def masked(mask: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return the mask, which an algorithm may know, if it is given."""
    return {} if mask is None else {"mask": np.asarray(mask)}


def from_means(
    means: Callable[[Key], Array], num_arms: int, probabilities: Array, mask: np.ndarray | None, sigma: Scalar
) -> Environment:
    """Return the environment whose means, float[num_contexts, num_arms], are drawn by `means` in each run."""
    weights = probabilities
    num_contexts = weights.shape[0]

    def init(key: Key) -> LinearContextualState:
        mu = means(key)
        if mask is None:
            return LinearContextualState(mu, jnp.max(mu, 1, keepdims=True) - mu)
        mu = jnp.where(mask, mu, -jnp.inf)
        return LinearContextualState(mu, jnp.where(mask, jnp.max(mu, 1, keepdims=True) - mu, 0.0))

    def noise(key: Key) -> PyTree:
        if num_contexts == 1:
            return standard_normal(key)
        return jax.random.uniform(jax.random.fold_in(key, 0)), standard_normal(jax.random.fold_in(key, 1))

    def observe(state: LinearContextualState, noise: PyTree) -> Array:
        if num_contexts == 1:
            return jnp.zeros((), jnp.int32)
        cumulative = weights.cumsum()
        # Normalized, so that a last context of probability 0 is never drawn, whatever the rounding of the sum.
        passed = as_float(noise[0]) >= as_float((cumulative / cumulative[-1])[:-1])
        return jnp.sum(passed.astype(jnp.int32), dtype=jnp.int32)

    def at(table: Array, context: Array, action: Array) -> Array:
        return get_at(table.reshape(-1), context * table.shape[1] + action)

    def reward(state: LinearContextualState, context: Array, action: Array, noise: PyTree) -> Array:
        normal = noise if num_contexts == 1 else noise[1]
        return at(state.means, context, action) + as_float(sigma) * normal

    def regret(state: LinearContextualState, context: Array, action: Array) -> Array:
        gap = at(state.gaps, context, action)
        return gap if mask is None else jnp.where(at(state.means, context, action) == -jnp.inf, jnp.nan, gap)

    return Environment(
        init=init,
        observe=observe,
        noise=noise,
        reward=reward,
        regret=regret,
        arms=Arms(num_arms, num_contexts=num_contexts if num_contexts > 1 else None),  # no context with one set
        rewards=Rewards(sigma=sigma, family="gaussian"),
        truth=Truth(means=means_of_state),
    )
