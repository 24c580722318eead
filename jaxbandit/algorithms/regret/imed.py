"""IMED, indexed minimum empirical divergence: Honda and Takemura (2015), Algorithm 1, for one-parameter families.

For Bernoulli rewards the divergence is kl, to which the paper's D_min reduces for rewards in {0, 1}; for other rewards
in [0, 1] this is not the published IMED. The other families have their own divergence.
"""

import jax.numpy as jnp

from jaxbandit.algorithms.regret.index_policy import IndexState, index_policy
from jaxbandit.base.arguments import Family, FamilySigma, NumArms
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers.families import family as family_of


@declare(
    question="regret",
    rewards="0 or 1, or of another known one-parameter family",
    cost="O(K)",
    memory="O(K)",
    settings=({}, {"family": "gaussian"}, {"family": "poisson"}, {"family": "exponential"}),
)
def imed(num_arms: NumArms, *, family: Family = "bernoulli", sigma: FamilySigma = 1.0) -> Algorithm:
    """Indexed minimum empirical divergence, Honda and Takemura 2015.

    Return IMED: pull the arm with the smallest N_a d(mean_a, best mean) + log N_a, where d(x, y) is the divergence
    between the distributions of the family with means x and y. While the best empirical mean of Bernoulli rewards is 1,
    every arm with a mean below 1 has an infinite index and is not pulled. Each arm is pulled once first, and ties go to
    the lowest-numbered arm.

    Guarantee: Asymptotically optimal for Bernoulli rewards with a best mean below 1 (Honda and Takemura 2015); the
    other families are not covered by that theorem.

    Args:
      family: family of the rewards, "bernoulli", "gaussian", "poisson" or "exponential".

    Returns:
      For "bernoulli" other rewards in [0, 1] are accepted, but the guarantee does not cover them.

    Source:
      Honda and Takemura (2015), Non-asymptotic analysis of a new bandit algorithm for semi-bounded rewards, JMLR 16,
      Algorithm 1.
    """
    law = family_of(family, sigma)

    def index(state: IndexState) -> Array:
        n = as_float(state.counts)
        divergence = law.kl(state.means, jnp.max(state.means))
        return -(n * divergence + jnp.log(n))

    return index_policy("imed", num_arms, index, invariant=law.invariant, rewards=law.rewards)
