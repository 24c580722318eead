"""Bayes-UCB: Kaufmann, Cappe and Garivier (2012), Algorithm 1 with c = 0 and Beta posteriors; other families too.

Differences from the paper: rewards strictly between 0 and 1 count as fractional successes, without a Bernoulli draw; in
round 1 the level 1/2 is used in place of 0. There is no forced initial pull of each arm; the other families have
improper priors and pull each arm once first.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from jaxbandit.algorithms.regret.index_policy import IndexState, index_policy
from jaxbandit.base.arguments import Family, FamilySigma, NumArms, PriorAlpha, PriorBeta
from jaxbandit.base.contract import Algorithm, Arms, Offer, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.offers import best_available
from jaxbandit.support.numerics import as_float, get_at, normal_quantile
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import counts as estimator
from jaxbandit.theory.estimators.counts import Counts
from jaxbandit.theory.solvers.beta import with_arm
from jaxbandit.theory.solvers.beta_quantile import QuantileShape, logit_quantile, quantile_shape
from jaxbandit.theory.solvers.families import family as family_of


class BayesUcbState(NamedTuple):
    """The posterior of each arm with what its quantile needs. A round changes the entries of the pulled arm only."""

    round: Array  # int32[], the round about to be played, from 1
    arms: Counts
    law: QuantileShape  # of float[num_arms] each


@declare(
    question="regret",
    rewards="in [0, 1], or of another known one-parameter family",
    cost="O(K), one Beta quantile an arm",
    memory="O(K), 18 K numbers",
    settings=({}, {"family": "gaussian"}, {"family": "poisson"}, {"family": "exponential"}),
)
def bayes_ucb(
    num_arms: NumArms,
    *,
    prior_alpha: PriorAlpha = 1.0,
    prior_beta: PriorBeta = 1.0,
    family: Family = "bernoulli",
    sigma: FamilySigma = 1.0,
) -> Algorithm:
    """The posterior quantile 1 - 1/t as index, Kaufmann et al. 2012.

    The mean of each arm has an independent Beta(prior_alpha, prior_beta) prior. In round t the index of arm a is the
    quantile of level 1 - 1/t of Beta(prior_alpha + S_a, prior_beta + N_a - S_a), where S_a is the sum of the N_a
    rewards of the arm. Ties go to the lowest-numbered arm. The other families have the posteriors of `thompson`.

    Guarantee: None for the level 1 - 1 / t that is used, the paper's experimental choice; with a uniform prior and the
    level 1 - 1 / (t log^5 T), asymptotically optimal for Bernoulli rewards (Kaufmann, Cappe and Garivier 2012).

    Source:
      Kaufmann, Cappe and Garivier (2012), On Bayesian upper confidence bounds for bandit problems, AISTATS, Algorithm
      1.
    """
    law = family_of(family, sigma)

    def tail_of(round: Array) -> Array:
        return 1 / jnp.maximum(as_float(round), 2.0)

    def index(state: IndexState) -> Array:
        normals = jnp.full(num_arms, normal_quantile(tail_of(state.round)))
        return law.posterior(normals, state.counts, state.means)

    if family != "bernoulli":
        return index_policy("bayes_ucb", num_arms, index, invariant=law.invariant, rewards=law.rewards)

    def posterior(counts: Array, successes: Array) -> QuantileShape:
        failures = jnp.maximum(as_float(counts) - successes, 0.0)
        return quantile_shape(as_float(prior_alpha) + successes, as_float(prior_beta) + failures)

    def init(key: Key) -> BayesUcbState:
        arms = estimator.init(num_arms)
        return BayesUcbState(jnp.ones((), jnp.int32), arms, posterior(arms.counts, arms.sums))

    def select(noise: None, state: BayesUcbState, context: Offer | None) -> Array:
        return best_available(context, logit_quantile(tail_of(state.round), state.law))

    def update(state: BayesUcbState, context: Offer | None, action: Array, reward: Array) -> BayesUcbState:
        arms, _ = estimator.update(state.arms, action, reward)
        changed = lax.optimization_barrier(posterior(get_at(arms.counts, action), get_at(arms.sums, action)))
        return BayesUcbState(state.round + 1, arms, with_arm(state.law, action, changed))

    return Algorithm(
        init, select, update, pulls=lambda state: state.arms.counts, arms=Arms(num_arms), rewards=Rewards(0.0, 1.0)
    )
