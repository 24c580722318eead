"""Variants of kl-UCB with less exploration: kl-UCB+, kl-UCB-H+ and kl-UCB++.

For rewards in [0, 1] that are not 0 or 1, the Bernoulli kl is a lower bound of the papers' divergence: the index is
wider, and no optimality is proved.
"""

import math

import jax.numpy as jnp

from jaxbandit.algorithms.regret.index_policy import IndexState, index_policy
from jaxbandit.base.arguments import Family, FamilySigma, Horizon, LogLogWeight, NumArms
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float, exploration_level
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers.families import family as family_of


@declare(
    question="regret",
    rewards="in [0, 1], or of another known one-parameter family",
    cost="O(K), one numerical inversion of kl an arm",
    memory="O(K)",
    tries={"c": (0.0, 7.0)},
    settings=({}, {"horizon": 30}, {"family": "gaussian"}, {"family": "poisson"}, {"family": "exponential"}),
)
def kl_ucb_plus(
    num_arms: NumArms,
    *,
    c: LogLogWeight = 0.0,
    horizon: Horizon | None = None,
    family: Family = "bernoulli",
    sigma: FamilySigma = 1.0,
) -> Algorithm:
    """kl-UCB+, which explores an arm less the more often it was pulled; kl-UCB-H+ with a horizon.

    Return kl-UCB+: the index is the largest q with d(mean_a, q) <= max(0, log(t / N_a) + c log log t) / N_a, where d(x,
    y) is the divergence between the distributions of the family with means x and y. With a horizon T the rule is
    kl-UCB-H+, which has T in place of t. Each arm is pulled once first, and ties go to the lowest-numbered arm.

    Guarantee: With c >= 7, asymptotically optimal for rewards of the family (Kaufmann 2018); with the default c = 0 for
    Bernoulli rewards and without a horizon (Honda 2019).

    Args:
      horizon: number of rounds T, or None for kl-UCB+.

    Source:
      Kaufmann (2018), On Bayesian index policies for sequential resource allocation, Annals of Statistics 46, Section
      4; Honda (2019), A note on KL-UCB+ policy for the stochastic bandit, arXiv:1903.07839.
    """
    law = family_of(family, sigma)

    def index(state: IndexState) -> Array:
        n = as_float(state.counts)
        level = exploration_level(state.round if horizon is None else jnp.int32(horizon), c)
        return law.upper(state.means, jnp.maximum(level - jnp.log(n), 0.0) / n)

    return index_policy("kl_ucb_plus", num_arms, index, invariant=law.invariant, rewards=law.rewards)


@declare(
    question="regret",
    rewards="in [0, 1], or of another known one-parameter family",
    cost="O(K), one numerical inversion of kl an arm",
    memory="O(K)",
    settings=({"horizon": 30}, {"horizon": 30, "family": "gaussian"}, {"horizon": 30, "family": "poisson"}),
)
def kl_ucb_plus_plus(
    num_arms: NumArms, *, horizon: Horizon, family: Family = "bernoulli", sigma: FamilySigma = 1.0
) -> Algorithm:
    """kl-UCB++, minimax and asymptotically optimal, Menard and Garivier 2017.

    Return kl-UCB++: the index is the largest q with d(mean_a, q) <= g(N_a) / N_a, where d(x, y) is the divergence
    between the distributions of the family with means x and y, and g(n) = max(0, log(y (1 + max(0, log y)^2))) with y =
    T / (K n). Each arm is pulled once first, and ties go to the lowest-numbered arm.

    Guarantee: Regret of at most 38 sqrt(K T) + K for rewards in [0, 1], and asymptotically optimal for rewards of the
    family if its variances are bounded (Menard and Garivier 2017, Theorems 1 and 2).

    Source:
      Menard and Garivier (2017), A minimax and asymptotically optimal algorithm for stochastic bandits, ALT, equation
      (2).
    """
    law = family_of(family, sigma)

    def index(state: IndexState) -> Array:
        n = as_float(state.counts)
        return law.upper(state.means, doubly_logarithmic(math.log(horizon / num_arms) - jnp.log(n)) / n)

    return index_policy("kl_ucb_plus_plus", num_arms, index, invariant=law.invariant, rewards=law.rewards)


def doubly_logarithmic(log_x: Array) -> Array:
    """Return max(0, log(x (1 + max(0, log x)^2))), which is phi of Garivier et al. (2022), from log x."""
    return jnp.maximum(log_x + jnp.log1p(jnp.maximum(log_x, 0.0) ** 2), 0.0)
