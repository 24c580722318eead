"""Bernoulli arms: the reward of arm a is 1 with probability means[a] and 0 otherwise."""

import jax

from jaxbandit.base.arguments import Permute, UnitVector
from jaxbandit.base.batches import BatchRewards
from jaxbandit.base.contract import Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.environments.means import MeansState, bernoulli_arms, means_of_run, stationary_arms
from jaxbandit.environments.stationary.binomial import binomial
from jaxbandit.support.numerics import as_float, get_at
from jaxbandit.support.types import Array, Key


@declare(settings=({"means": (0.2, 0.5, 0.6)},))
def bernoulli(means: UnitVector, *, permute: Permute = False) -> Environment:
    """Rewards 0 or 1.

    Its noise is one uniform number per round, shared by all arms. Batches of pulls are answered with exact binomial
    draws.

    Args:
      means: float[num_arms], the success probabilities.
      permute: whether each run has the arms in a random order of its own. With the best arm always first or last,
        algorithms would also be compared by how they break ties.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] in {0, 1}.
    """

    def reward(state: MeansState, context: None, action: Array, noise: Array) -> Array:
        return as_float(noise < get_at(state.means, action))

    def sums(state: MeansState, pulls: Array, noise: Key) -> Array:
        return binomial(noise, pulls, state.means)

    def squares(state: MeansState, pulls: Array, noise: Key, sums: Array) -> Array:
        return sums

    return stationary_arms(
        len(means),
        lambda key: means_of_run(key, means, permute),
        reward,
        noise=jax.random.uniform,
        batch=BatchRewards(lambda key: key, sums, squares),
        rewards=Rewards(0.0, 1.0, sigma=0.5, family="bernoulli"),
        truth=bernoulli_arms(means),
    )
