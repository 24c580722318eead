"""Poisson arms: the reward of arm a is a whole number with the Poisson distribution of mean means[a]."""

import jax

from jaxbandit.base.arguments import NonNegativeVector, Permute
from jaxbandit.base.batches import BatchRewards
from jaxbandit.base.contract import Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.environments.means import MeansState, means_of_run, poisson_arms, stationary_arms
from jaxbandit.environments.stationary.poisson_law import poisson_draw, poisson_inverse
from jaxbandit.support.numerics import as_float, get_at
from jaxbandit.support.types import Array, Key


@declare(settings=({"means": (0.0, 2.5, 60.0)},))
def poisson(means: NonNegativeVector, *, permute: Permute = False) -> Environment:
    """Poisson rewards.

    Return the K-armed Poisson bandit: the reward of arm a is Poisson with mean means[a].

    Args:
      means: float[num_arms]. The time of a round grows with the square root of the largest mean.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[], whole numbers >= 0. Its noise is one
      uniform number per round, shared by all arms; the noise of a batch is a key, its sums are independent, and it
      provides no sums of squares.
    """

    def reward(state: MeansState, context: None, action: Array, noise: Array) -> Array:
        return poisson_inverse(noise, get_at(state.means, action))

    def sums(state: MeansState, pulls: Array, noise: Key) -> Array:
        return poisson_draw(noise, as_float(pulls) * state.means)

    return stationary_arms(
        len(means),
        lambda key: means_of_run(key, means, permute),
        reward,
        noise=jax.random.uniform,
        batch=BatchRewards(lambda key: key, sums),
        rewards=Rewards(low=0.0, family="poisson"),
        truth=poisson_arms(means),
    )
