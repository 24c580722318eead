"""Maillard sampling: MS (Bian and Jun 2022, Algorithm 1) and KL-MS (Qin, Jun and Zhang 2023, Algorithm 1).

MS is KL-MS with the divergence of Gaussian rewards. The other families are ours: the papers do not treat them.
"""

import jax.numpy as jnp

from jaxbandit.algorithms.adversarial.drawing import draw, draw_noise
from jaxbandit.base.arguments import Family, FamilySigma, NumArms
from jaxbandit.base.contract import Algorithm, Arms, Choice, Chosen, Offer, action_of
from jaxbandit.base.declaration import declare
from jaxbandit.base.offers import available_of
from jaxbandit.support.numerics import argmax, as_float, get_at
from jaxbandit.support.types import Array
from jaxbandit.theory.estimators import counts as estimator
from jaxbandit.theory.estimators.counts import Counts
from jaxbandit.theory.solvers.families import family as family_of


@declare(
    question="regret",
    rewards="in [0, 1], or of another known one-parameter family",
    cost="O(K), one uniform number",
    memory="O(K)",
    settings=({}, {"family": "gaussian"}, {"family": "poisson"}, {"family": "exponential"}),
)
def maillard(num_arms: NumArms, *, family: Family = "bernoulli", sigma: FamilySigma = 1.0) -> Algorithm:
    """Maillard sampling, KL-MS and MS, whose probabilities are known, Qin et al. 2023.

    Draw arm a with probability proportional to exp(-N_a d(mean_a, best mean)), where d(x, y) is the divergence between
    the distributions of the family with means x and y. "bernoulli" is KL-MS, and "gaussian" is MS, for which d(x, y) is
    (x - y)^2 / (2 sigma^2). Each arm is pulled once first. While the best empirical mean of Bernoulli rewards is 1,
    every arm with a mean below 1 has probability 0.

    Guarantee: KL-MS: for rewards in [0, 1], asymptotically optimal if they are 0 or 1, and sqrt(v K T log K) up to
    lower order terms, with the variance v of the best arm (Qin, Jun and Zhang 2023). MS: for sub-Gaussian rewards,
    asymptotically optimal if they are Gaussian, and sqrt(K T log K) up to constants (Bian and Jun 2022). None for the
    other families.

    Returns:
      An Algorithm whose action is a `Choice` of an arm, int32[] in [0, num_arms), whose info is `Chosen`, with the
      probability of the arm.

    Source:
      Qin, Jun and Zhang (2023), Kullback-Leibler Maillard sampling for multi-armed bandits with bounded rewards,
      NeurIPS, Algorithm 1; Bian and Jun (2022), Maillard sampling: Boltzmann exploration done optimally, AISTATS,
      Algorithm 1.
    """
    law = family_of(family, sigma)

    def select(noise: Array, state: Counts, context: Offer | None) -> Choice:
        available = available_of(context)
        allowed = jnp.ones(num_arms, bool) if available is None else available
        known = allowed & (state.counts > 0)
        best = jnp.where(jnp.any(known), jnp.max(jnp.where(known, state.means, -jnp.inf)), 0.0)
        weights = jnp.where(known, jnp.exp(-as_float(state.counts) * law.kl(state.means, best)), 0.0)
        missing = allowed & ~known
        first = as_float(jnp.arange(num_arms, dtype=jnp.int32) == argmax(as_float(missing)))
        chances = jnp.where(jnp.any(missing), first, weights / jnp.maximum(jnp.sum(weights), 1.0))
        arm = draw(noise, chances)
        return Choice(arm, Chosen(get_at(chances, arm)))

    def update(state: Counts, context: Offer | None, choice: Choice, reward: Array) -> Counts:
        return estimator.update(state, action_of(choice), reward)[0]

    return Algorithm(
        init=lambda key: estimator.init(num_arms, from_first=law.invariant),
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        noise=draw_noise,
        arms=Arms(num_arms),
        rewards=law.rewards,
    )
