"""Combinatorial Thompson sampling for teams of k arms: Wang and Chen (2018), Algorithm 1, Beta posteriors.

Each round draws a mean for every arm from its posterior; the k largest are the team. A member's reward strictly between
0 and 1 is replaced by a coin that shows 1 with that probability.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandit import checks
from jaxbandit.algorithms.combinatorial import teams
from jaxbandit.base import Algorithm, Arms, Choice, Rewards
from jaxbandit.numerics import as_float
from jaxbandit.solvers.beta import beta_shape, draw_logits, draw_noise
from jaxbandit.types import Array, Key, Scalar


class CombinatorialThompsonState(NamedTuple):
    """What the posteriors need."""

    counts: Array  # int32[num_arms], in how many teams each arm was
    successes: Array  # int32[num_arms]


def combinatorial_thompson(num_arms: int, *, k: int, prior_alpha: Scalar = 1.0, prior_beta: Scalar = 1.0) -> Algorithm:
    """Return Thompson sampling of teams with independent Beta(prior_alpha, prior_beta) priors on the arms' means.

    Args:
      num_arms: number of arms, >= 2, static.
      k: arms in a team, in [1, num_arms - 1], static.
      prior_alpha: prior successes, in [0.5, 1e6], traced.
      prior_beta: prior failures, in [0.5, 1e6], traced.

    Returns:
      An Algorithm with actions bool[num_arms], k of them True, and rewards float[num_arms], those of the members in
      [0, 1], the others 0. It recommends the k arms pulled most, int32[k].

    Raises:
      ValueError: an argument is out of range.

    Source: Wang, Chen (2018), Thompson sampling for combinatorial semi-bandits, ICML.
    """
    where = "combinatorial_thompson"
    num_arms = checks.integer(where, "num_arms", num_arms, 2)
    k = checks.integer(where, "k", k, 1, num_arms - 1)
    prior_alpha = checks.number(where, "prior_alpha", prior_alpha, low=0.5, high=1e6)
    prior_beta = checks.number(where, "prior_beta", prior_beta, low=0.5, high=1e6)

    def init(key: Key) -> CombinatorialThompsonState:
        return CombinatorialThompsonState(jnp.zeros(num_arms, jnp.int32), jnp.zeros(num_arms, jnp.int32))

    def noise(key: Key) -> tuple[Array, Array]:
        """Words for the arms, uint32[num_arms], and a coin an arm, uniform in [0, 1)."""
        coins = jax.random.uniform(jax.random.fold_in(key, num_arms), (num_arms,))  # the words' keys are below
        return draw_noise(key, num_arms), coins

    def select(noise: tuple[Array, Array], state: CombinatorialThompsonState, context: None) -> Choice:
        words, coins = noise
        failures = state.counts - state.successes
        shape = beta_shape(as_float(prior_alpha) + as_float(state.successes), as_float(prior_beta) + as_float(failures))
        draws = lax.optimization_barrier(draw_logits(words, lax.optimization_barrier(shape)))
        return Choice(teams.largest(draws, k), coins)

    def update(
        state: CombinatorialThompsonState, context: None, choice: Choice, reward: Array
    ) -> CombinatorialThompsonState:
        team, coins = choice
        success = (team & (coins < reward)).astype(jnp.int32)
        return CombinatorialThompsonState(state.counts + team.astype(jnp.int32), state.successes + success)

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        recommend=lambda state: teams.ranked(as_float(state.counts), k),
        noise=noise,
        arms=Arms(num_arms, k, members=True),
        rewards=Rewards(0.0, 1.0),
        name=where,
    )
