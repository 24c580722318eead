"""PrimalDualBwK for bandits with knapsacks: Badanidiyuru, Kleinberg and Slivkins (2018), Algorithm 2.

Time is the last resource, of which every round costs budget / horizon. The dual weights are kept as logarithms.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.base.arguments import AtLeastOne, Count, NumArms, Positive
from jaxbandit.base.contract import Algorithm, Arms, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import argmax, as_float, get_at, kahan_pair
from jaxbandit.support.types import Array, Key


class BwkState(NamedTuple):
    """Pull counts, sums of rewards and costs, and the logarithms of the dual weights."""

    round: Array  # int32[], the round about to be played, from 1
    counts: Array  # int32[num_arms]
    rewards: Array  # float[2, num_arms], sums and their rounding errors
    costs: Array  # float[2, num_arms, num_resources], sums and their rounding errors
    weights: Array  # float[2, num_resources + 1], logarithms and their rounding errors; the last is that of time


@declare(
    question="regret",
    setting="knapsack",
    rewards="rewards and costs in [0, 1]",
    cost="O(K m), m resources",
    memory="O(K m)",
    tries={"c": (1.0, 8.0), "budget": (20.0, 15.0), "horizon": (60, 90)},
)
def primal_dual_bwk(
    num_arms: NumArms, *, budget: AtLeastOne, horizon: AtLeastOne, num_resources: Count = 1, c: Positive = 1.0
) -> Algorithm:
    """Knapsacks, the best reward per price of its costs, Badanidiyuru et al. 2018.

    Each round pulls the arm with the largest ratio of an optimistic reward to an optimistic price, the sum of its costs
    times the dual weights, which are scaled to sum to 1. A resource becomes dear as it is spent: its weight is
    multiplied by (1 + eps)^cost, with the lower confidence bound of the cost. The bounds of a mean are mean +- (sqrt(c
    mean / N) + c / N) after N pulls. Every arm is pulled once first.

    Guarantee: With c of order log(K T), total reward within O(sqrt(log(K T)) (sqrt(K OPT) + OPT sqrt(K / B))) of that
    of the best dynamic plan, up to logarithms.

    In detail, c = log(2 K T) is the constant of the proof, T being the horizon and B the budget; the default c = 1 has
    no proof.

    Args:
      budget: units of every resource, at least 1. An experiment from a file takes it from the instance.
      horizon: number of rounds.
      num_resources: number of resources besides time.
      c: constant of the confidence bounds.

    Returns:
      An Algorithm with actions int32[] and feedback (reward, costs), float[] and float[num_resources], all in [0, 1].

    Source:
      Badanidiyuru, Kleinberg and Slivkins (2018), Bandits with knapsacks, Journal of the ACM 65, Algorithm 2.
    """
    resources = num_resources

    def init(key: Key) -> BwkState:
        rewards, costs, weights = (jnp.zeros((2, *n)) for n in ((num_arms,), (num_arms, resources), (resources + 1,)))
        return BwkState(jnp.ones((), jnp.int32), jnp.zeros(num_arms, jnp.int32), rewards, costs, weights)

    def radius(means: Array, counts: Array) -> Array:
        n = as_float(jnp.maximum(counts, 1))
        return jnp.sqrt(as_float(c) * means / n) + as_float(c) / n

    def cheapest(costs: Array, counts: Array) -> Array:
        return jnp.maximum(costs - radius(costs, counts), 0.0)

    def a_round() -> Array:
        """What a round costs of the time."""
        return as_float(budget) / as_float(horizon)

    def select(noise: None, state: BwkState, context: None) -> Array:
        prices, n = jax.nn.softmax(state.weights[0]), as_float(jnp.maximum(state.counts, 1))
        paid = jnp.sum(cheapest(state.costs[0] / n[:, None], state.counts[:, None]) * prices[None, :resources], axis=1)
        rewards = state.rewards[0] / n
        ratio = jnp.minimum(rewards + radius(rewards, state.counts), 1.0)
        ratio /= paid + prices[resources] * a_round()
        return argmax(jnp.where(state.counts > 0, ratio, jnp.inf))

    def update(state: BwkState, context: None, action: Array, feedback: tuple[Array, Array]) -> BwkState:
        reward, costs = feedback
        own = jax.lax.dynamic_index_in_dim(state.costs[0], action, 0, keepdims=False)
        count = get_at(state.counts, action)
        spent = jnp.append(cheapest(own / as_float(jnp.maximum(count, 1)), count), a_round())
        eps = jnp.sqrt(jnp.log(as_float(resources + 1)) / as_float(budget))
        known = state.round > num_arms
        pulled = jnp.arange(num_arms, dtype=jnp.int32) == action
        return BwkState(
            round=state.round + 1,
            counts=state.counts + pulled.astype(jnp.int32),
            rewards=kahan_pair(state.rewards, jnp.where(pulled, reward, 0.0)),
            costs=kahan_pair(state.costs, jnp.where(pulled[:, None], costs[None], 0.0)),
            weights=kahan_pair(state.weights, jnp.where(known, jnp.log1p(eps) * spent, 0.0)),
        )

    return Algorithm(
        init, select, update, pulls=lambda state: state.counts, arms=Arms(num_arms), rewards=Rewards(0.0, 1.0)
    )
