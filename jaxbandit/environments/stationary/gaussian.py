"""Gaussian arms: the reward of arm a is normal with mean means[a] and a common or individual standard deviation."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.arguments import Deviations, Permute, Vector
from jaxbandit.base.batches import BatchRewards
from jaxbandit.base.contract import Arms, Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.environments.means import arm_order, gaussian_arms, regret_by_gaps, simple_regret
from jaxbandit.support import checks
from jaxbandit.support.numerics import as_float, get_at, standard_normal
from jaxbandit.support.types import Array, Key, PyTree, Scalar


class GaussianState(NamedTuple):
    """The true means of one run."""

    means: Array  # float[num_arms]
    gaps: Array  # float[num_arms], max(means) - means
    sigmas: PyTree = None  # float[num_arms]; None if one sigma, which is not part of the state, holds for all arms


@declare(settings=({"means": (0.2, 0.5, 0.6)}, {"means": (0.2, 0.5, 0.6), "sigma": (1.0, 0.2, 0.5), "permute": True}))
def gaussian(means: Vector, *, sigma: Deviations = 1.0, permute: Permute = False) -> Environment:
    """Normal rewards, with one standard deviation for all arms or one for each.

    Return the K-armed Gaussian bandit: the reward of arm a is normal with mean means[a].

    Args:
      means: float[num_arms]. Rewards are not confined to [0, 1] even if the means are.
      sigma: standard deviation of the rewards. An algorithm that takes a single sigma may
        know the largest one, because the noise of every arm is sub-Gaussian with that scale.
      permute: whether each run has the arms, with their sigmas, in a random order of its own.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] on the real line. Its noise is one
      standard normal per round, shared by all arms; the noise of a batch is one normal per arm, and a key for sums of
      squares.

    Raises:
      ValueError: means is empty, not a vector or not finite, or sigma is neither a finite number above 0 nor a vector
        of such numbers with one per arm.
    """
    own = np.ndim(sigma) == 1

    def init(key: Key) -> GaussianState:
        mu, sigmas = as_float(means), as_float(sigma) if own else None
        if permute:
            order = arm_order(key, len(means))
            mu, sigmas = get_at(mu, order), None if sigmas is None else get_at(sigmas, order)
        return GaussianState(mu, jnp.max(mu) - mu, sigmas)

    def known() -> dict[str, Scalar]:
        return {"sigma": jnp.max(jnp.asarray(sigma)) if checks.is_traced(sigma) else float(np.max(sigma))}

    def scale(state: GaussianState) -> Array:
        return state.sigmas if own else as_float(sigma)

    def reward(state: GaussianState, context: None, action: Array, noise: Array) -> Array:
        deviation = get_at(state.sigmas, action) if own else as_float(sigma)
        return get_at(state.means, action) + deviation * noise

    def batch_noise(key: Key) -> tuple[Array, Key]:
        # The last counter of the key, because the normals use the first ones, one per arm.
        return jax.random.normal(key, means.shape), jax.random.fold_in(key, 2**32 - 1)

    def sums(state: GaussianState, pulls: Array, noise: tuple[Array, Key]) -> Array:
        n = as_float(pulls)
        return n * state.means + scale(state) * jnp.sqrt(n) * noise[0]

    def squares(state: GaussianState, pulls: Array, noise: tuple[Array, Key], sums: Array) -> Array:
        n = as_float(pulls)
        freedom = jnp.maximum(n - 1, 0.0)
        apart = 2 * jax.random.gamma(noise[1], jnp.maximum(freedom / 2, 0.5))  # chi squared, n - 1 degrees of freedom
        return sums * sums / jnp.maximum(n, 1.0) + scale(state) ** 2 * jnp.where(freedom > 0, apart, 0.0)

    return Environment(
        init=init,
        noise=standard_normal,
        reward=reward,
        regret=regret_by_gaps,
        simple_regret=simple_regret,
        batch=BatchRewards(batch_noise, sums, squares),
        arms=Arms(len(means)),
        rewards=Rewards(sigma=sigma, family="gaussian"),
        known=known,
        truth=gaussian_arms(means, sigma),
    )
