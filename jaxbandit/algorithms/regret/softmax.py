"""Boltzmann exploration: the largest empirical mean after Gumbel noise is added."""

import math
from typing import Literal

import jax.numpy as jnp

from jaxbandit.algorithms.regret.index_policy import IndexState, index_policy
from jaxbandit.base.arguments import NumArms, Positive
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float, gumbel_noise
from jaxbandit.support.types import Array


@declare(
    question="regret",
    cost="O(K), a Gumbel draw an arm",
    memory="O(K)",
    tries={"temperature": (0.1, 1.0)},
    settings=({}, {"schedule": "decreasing"}),
)
def softmax(
    num_arms: NumArms, *, temperature: Positive | None = None, schedule: Literal["constant", "decreasing"] = "constant"
) -> Algorithm:
    """An arm with probability proportional to exp(mean / temperature), of a constant or decreasing temperature.

    Return softmax, or Boltzmann exploration, on the empirical means. Each arm is pulled once first.

    Guarantee: None: for every temperature that never increases there are instances of linear regret (Cesa-Bianchi,
    Gentile, Lugosi and Neu 2017, Section 3).

    Args:
      temperature: temperature, in units of the rewards; None means 0.1 for "constant" and sqrt(log K / K) for
        "decreasing".
      schedule: "constant" has the same temperature in every round, "decreasing" divides it by sqrt(t).

    Returns:
      Its noise is float[num_arms], standard Gumbel draws.

    Source:
      Sutton and Barto (2018), Reinforcement Learning: An Introduction, MIT Press, exercise 2.6 and equation (2.11), on
      means.
    """
    if temperature is None:
        temperature = 0.1 if schedule == "constant" else math.sqrt(math.log(max(num_arms, 2)) / num_arms)

    def index(state: IndexState, gumbels: Array) -> Array:
        scale = as_float(temperature)
        if schedule == "decreasing":
            scale = scale / jnp.sqrt(as_float(state.round))
        return state.means + scale * gumbels

    return index_policy("softmax", num_arms, index, invariant=True, noise=gumbel_noise(num_arms))


@declare(
    question="regret",
    rewards="sub-Gaussian, scale given",
    cost="O(K), a Gumbel draw an arm",
    memory="O(K)",
    tries={"c": (0.5, 1.0)},
)
def boltzmann_gumbel(num_arms: NumArms, *, c: Positive = 0.5) -> Algorithm:
    """Boltzmann-Gumbel exploration, Cesa-Bianchi et al. 2017.

    Return Boltzmann-Gumbel exploration: pull the arm with the largest mean + c G / sqrt(N_a), G standard Gumbel draws.
    Each arm is pulled once first.

    Guarantee: With c equal to the sub-Gaussian scale of the rewards, regret O(log(T)^2) times the sum of 1 / gap, and
    O(sqrt(K T) log K) whatever the gaps (Cesa-Bianchi, Gentile, Lugosi and Neu 2017).

    Args:
      c: scale of the noise, the sub-Gaussian scale of the rewards (1/2 for rewards in [0, 1]).

    Returns:
      Its noise is float[num_arms], standard Gumbel draws.

    Source:
      Cesa-Bianchi, Gentile, Lugosi and Neu (2017), Boltzmann exploration done right, NeurIPS, Algorithm 1.
    """

    def index(state: IndexState, gumbels: Array) -> Array:
        return state.means + as_float(c) * gumbels * state.inverse_sqrt_counts

    noise = gumbel_noise(num_arms)
    return index_policy("boltzmann_gumbel", num_arms, index, invariant=True, noise=noise, rewards=Rewards(sigma=c))
