"""Epsilon-greedy: Sutton and Barto (2018), Reinforcement Learning, section 2.4; Auer et al. (2002), Fig. 3.

Epsilon is constant as in the former, so that regret is linear (Auer's epsilon_n = min(1, c K / (d^2 n)) needs the gap).
Differs: every arm is pulled once first, and ties of the greedy arm go to the lowest instead of a random one.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.algorithms.regret.uniform import arm_of
from jaxbandit.base import Algorithm, Arms
from jaxbandit.estimators import counts as estimator
from jaxbandit.numerics import argmax, as_float
from jaxbandit.types import Array, Key, Scalar


class EpsilonGreedyState(NamedTuple):
    """Empirical means."""

    counts: Array  # int32[num_arms]
    means: Array  # float[num_arms]


def epsilon_greedy(num_arms: int, *, epsilon: Scalar = 0.1) -> Algorithm:
    """Return the policy that pulls a uniformly random arm with probability epsilon, else the best empirical mean.

    Args:
      num_arms: number of arms, >= 1, static.
      epsilon: probability of exploring, in [0, 1], traced. An exploring round may draw the greedy arm too.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[].

    Raises:
      ValueError: num_arms or a concrete epsilon is out of range.

    Source: Sutton and Barto (2018), equation (2.2) and the boxed algorithm of section 2.4.
    """
    num_arms = checks.integer("epsilon_greedy", "num_arms", num_arms, 1)
    epsilon = checks.number("epsilon_greedy", "epsilon", epsilon, low=0.0, high=1.0)

    def init(key: Key) -> EpsilonGreedyState:
        start = estimator.init(num_arms)
        return EpsilonGreedyState(start.counts, start.means)

    def noise(key: Key) -> Array:
        """The arm to explore, int32[], or -1 in a round that exploits.

        One uniform in [0, 1) serves for both, as a word of 32 bits: near 0 finer than jax.random.uniform. Below epsilon
        it is uniform once more when divided by it. What is drawn here is stored; in `select` XLA would compute it anew
        for each entry of the state that it updates.
        """
        below_one = 1 - 2.0**-24
        u = jnp.minimum(as_float(jax.random.bits(key, (), jnp.uint32)) * 2.0**-32, below_one)
        bound = as_float(epsilon)
        drawn = arm_of(jnp.minimum(u / jnp.maximum(bound, 2.0**-32), below_one), num_arms)
        return jnp.where(u < bound, drawn, -1)

    def select(noise: Array, state: EpsilonGreedyState, context: None) -> Array:
        score = jnp.where(state.counts > 0, state.means, jnp.inf)  # an arm without a reward comes first
        explored = (jnp.arange(num_arms, dtype=jnp.int32) == noise) & (score < jnp.inf)
        return argmax(jnp.where(explored, jnp.finfo(score.dtype).max, score))

    def update(state: EpsilonGreedyState, context: None, action: Array, reward: Array) -> EpsilonGreedyState:
        counts, means, _ = estimator.update(state.counts, state.means, action, reward)
        return EpsilonGreedyState(counts, means)

    def recommend(state: EpsilonGreedyState) -> Array:
        return argmax(jnp.where(state.counts > 0, state.means, -jnp.inf))

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        recommend=recommend,
        noise=noise,
        arms=Arms(num_arms),
        name="epsilon_greedy",
    )
