"""Thompson sampling: Agrawal and Goyal (2012), Algorithms 1 and 2, with Beta posteriors; and for other families.

The draws have the right distribution up to 1e-6 in total variation (up to 6e-5 in the first rounds for a prior
parameter below 1).
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from jaxbandit.algorithms.regret.index_policy import index_policy
from jaxbandit.base.arguments import Family, FamilySigma, NumArms, PriorAlpha, PriorBeta
from jaxbandit.base.contract import Algorithm, Arms, Choice, Offer, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.offers import best_available
from jaxbandit.support.numerics import as_float, get_at, normal_noise
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.solvers.beta import BetaShape, beta_shape, draw_logits, draw_pairs, with_arm, words_of_pairs
from jaxbandit.theory.solvers.families import family as family_of

SIDE_BY_SIDE = 256  # up to about this number of arms, a CPU plays several runs at once


class ThompsonState(NamedTuple):
    """The posterior of each arm with what a draw from it needs. A round changes the entries of the pulled arm only."""

    counts: Array  # int32[num_arms]
    successes: Array  # int32[num_arms]
    shapes: BetaShape  # its leaves are float[num_arms] and float[terms, num_arms]


@declare(
    question="regret",
    rewards="in [0, 1], or of another known one-parameter family",
    cost="O(K), one Beta draw an arm",
    memory="O(K), 17 K numbers",
    settings=({}, {"family": "gaussian"}, {"family": "poisson"}, {"family": "exponential"}),
)
def thompson(
    num_arms: NumArms,
    *,
    prior_alpha: PriorAlpha = 1.0,
    prior_beta: PriorBeta = 1.0,
    family: Family = "bernoulli",
    sigma: FamilySigma = 1.0,
) -> Algorithm:
    """Thompson sampling with a Beta posterior, or with that of another family.

    Each round draws a mean for every arm from its posterior, Beta(prior_alpha + S_a, prior_beta + F_a) with S_a
    successes and F_a failures, and pulls the arm with the largest draw. A reward strictly between 0 and 1 is replaced
    by a Bernoulli draw with that success probability (Algorithm 2).

    The other families pull each arm once first. Their posteriors, after N_a rewards with sum S_a, are N(S_a / N_a,
    sigma^2 / N_a) of a flat prior for "gaussian", Gamma(1/2 + S_a) / N_a for "poisson" and S_a / Gamma(N_a) for
    "exponential", of Jeffreys' priors.

    Guarantee: With the uniform prior, asymptotically optimal for Bernoulli rewards with a unique best arm (Kaufmann,
    Korda and Munos 2012), and logarithmic regret for all rewards in [0, 1] (Agrawal and Goyal 2012); asymptotically
    optimal for the other families, whose priors are Jeffreys' (Korda, Kaufmann and Munos 2013).

    Source:
      Agrawal and Goyal (2012), Analysis of Thompson sampling for the multi-armed bandit problem, COLT, Algorithms 1 and
      2; Korda, Kaufmann and Munos (2013), Thompson sampling for 1-dimensional exponential family bandits, NeurIPS.
    """
    law = family_of(family, sigma)
    if family != "bernoulli":
        return index_policy(
            "thompson",
            num_arms,
            lambda state, normals: law.posterior(normals, state.counts, state.means),
            invariant=law.invariant,
            noise=normal_noise(num_arms),
            rewards=law.rewards,
        )

    def posterior(counts: Array, successes: Array) -> BetaShape:
        return beta_shape(
            as_float(prior_alpha) + as_float(successes), as_float(prior_beta) + as_float(counts - successes)
        )

    def init(key: Key) -> ThompsonState:
        zeros = jnp.zeros(num_arms, jnp.int32)
        return ThompsonState(zeros, zeros, posterior(zeros, zeros))

    def noise(key: Key) -> Array:
        """Random words for the arms and one more for the Bernoulli draw, two to a complex number."""
        return draw_pairs(key, num_arms + 1, one_by_one=SIDE_BY_SIDE)

    def select(noise: Array, state: ThompsonState, context: Offer | None) -> Choice:
        words = words_of_pairs(noise)
        # In [0, 1), so that rewards 1 and 0 are used as they are.
        coin = lax.shift_right_logical(words[num_arms], jnp.uint32(8)).astype(jnp.float32) * 2.0**-24
        return Choice(best_available(context, draw_logits(words[:num_arms], state.shapes)), as_float(coin))

    def update(state: ThompsonState, context: Offer | None, choice: Choice, reward: Array) -> ThompsonState:
        action, coin = choice
        count = get_at(state.counts, action)
        success = (coin < reward).astype(jnp.int32)
        successes = get_at(state.successes, action) + success
        changed = lax.optimization_barrier(posterior(count + 1, successes))
        return with_arm(state, action, ThompsonState(count + 1, successes, changed))

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        noise=noise,
        arms=Arms(num_arms),
        rewards=Rewards(0.0, 1.0),
    )
