"""Bayes-UCB: Kaufmann, Cappe and Garivier (2012), Algorithm 1 with c = 0 and Beta posteriors.

Pulls the arm whose posterior has the largest quantile of level 1 - 1/t. Rewards strictly between 0 and 1 count as
fractional successes: no coin, so that it stays deterministic (the paper's guarantee is for Bernoulli rewards). No
forced first pulls: as in the paper, the prior explores. At t = 1 level 1/2 stands for level 0: all arms tie anyway.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from jaxbandit import checks
from jaxbandit.base import Algorithm, Arms, Rewards
from jaxbandit.numerics import argmax, as_float, get_at, set_at
from jaxbandit.solvers.beta import with_arm
from jaxbandit.solvers.beta_quantile import QuantileShape, logit_quantile, quantile_shape
from jaxbandit.types import Array, Key, Scalar


class BayesUcbState(NamedTuple):
    """The posterior of each arm, with what its quantile needs; only the pulled arm's changes."""

    round: Array  # int32[], the round about to be played, from 1
    counts: Array  # int32[num_arms]
    successes: Array  # float[num_arms], sum of rewards
    law: QuantileShape  # of float[num_arms] each


def bayes_ucb(num_arms: int, *, prior_alpha: Scalar = 1.0, prior_beta: Scalar = 1.0) -> Algorithm:
    """Return Bayes-UCB with independent Beta(prior_alpha, prior_beta) priors on the means.

    Args:
      num_arms: number of arms, >= 1, static.
      prior_alpha: prior successes, in [0.5, 1e6], traced.
      prior_beta: prior failures, in [0.5, 1e6], traced.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[] in [0, 1].

    Raises:
      ValueError: num_arms is not a positive integer, or a prior parameter is not a number in [0.5, 1e6].

    Source: Kaufmann, Cappe and Garivier (2012), On Bayesian upper confidence bounds for bandit problems, AISTATS.
    """
    num_arms = checks.integer("bayes_ucb", "num_arms", num_arms, 1)
    prior_alpha = checks.number("bayes_ucb", "prior_alpha", prior_alpha, low=0.5, high=1e6)
    prior_beta = checks.number("bayes_ucb", "prior_beta", prior_beta, low=0.5, high=1e6)

    def posterior(counts: Array, successes: Array) -> QuantileShape:
        failures = jnp.maximum(as_float(counts) - successes, 0.0)
        return quantile_shape(as_float(prior_alpha) + successes, as_float(prior_beta) + failures)

    def init(key: Key) -> BayesUcbState:
        counts, successes = jnp.zeros(num_arms, jnp.int32), jnp.zeros(num_arms)
        return BayesUcbState(jnp.ones((), jnp.int32), counts, successes, posterior(counts, successes))

    def select(noise: None, state: BayesUcbState, context: None) -> Array:
        tail = 1 / jnp.maximum(as_float(state.round), 2.0)
        return argmax(logit_quantile(tail, state.law))

    def update(state: BayesUcbState, context: None, action: Array, reward: Array) -> BayesUcbState:
        count = get_at(state.counts, action) + 1
        successes = get_at(state.successes, action) + reward
        changed = lax.optimization_barrier(posterior(count, successes))
        return BayesUcbState(
            round=state.round + 1,
            counts=set_at(state.counts, action, count),
            successes=set_at(state.successes, action, successes),
            law=with_arm(state.law, action, changed),
        )

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        arms=Arms(num_arms),
        rewards=Rewards(0.0, 1.0),
        name="bayes_ucb",
    )
