"""Empirical KL-UCB (Cappe, Garivier, Maillard, Munos and Stoltz 2013, Algorithm 1; Liu et al. 2018, Appendix D).

The support is a fixed grid instead of the values observed so far. This is exact when the rewards lie on the grid, as
Bernoulli rewards do with two atoms. Other rewards are rounded up to the grid, which keeps the index an upper bound.
"""

from typing import Annotated, NamedTuple

import jax.numpy as jnp

from jaxbandit.base.arguments import LogLogWeight, NumArms
from jaxbandit.base.contract import Algorithm, Arms, Offer, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.offers import best_available
from jaxbandit.base.parameters import Arg
from jaxbandit.support.domains import integer
from jaxbandit.support.numerics import as_float, exploration_level
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.solvers.empirical_kl import empirical_upper
from jaxbandit.theory.solvers.kl import kl_upper


class EmpiricalState(NamedTuple):
    """How often each arm returned each atom."""

    round: Array  # int32[], the round about to be played, from 1
    counts: Array  # int32[num_arms]
    seen: Array  # int32[num_arms, num_atoms]


@declare(question="regret", rewards="in [0, 1]", cost="O(K L), for L atoms", memory="O(K L)")
def kl_ucb_empirical(
    num_arms: NumArms, *, num_atoms: Annotated[int, Arg(integer(2))] = 2, c: LogLogWeight = 0.0
) -> Algorithm:
    """kl-UCB for the empirical distribution, Cappe et al. 2013.

    The grid is i / (num_atoms - 1), i = 0, ..., num_atoms - 1. The index of arm a is the largest mean of a distribution
    on it whose KL divergence from the arm's empirical distribution is at most (log t + c log log t) / N_a. With two
    atoms this is kl-UCB. Each arm is pulled once first, and ties go to the lowest-numbered arm.

    Guarantee: With c = 1, means above 0 and a best mean below 1, asymptotically optimal for rewards that lie on the
    atoms (Cappe et al. 2013); neither other rewards nor the default c = 0 are covered.

    Args:
      num_atoms: number of atoms, an integer >= 2; the first atom is 0 and the last is 1; static.
      c: weight of log log t (the theorem uses 1, the experiments of Liu et al. 0).

    Source:
      Cappe, Garivier, Maillard, Munos and Stoltz (2013), Kullback-Leibler upper confidence bounds for optimal
      sequential allocation, Annals of Statistics 41, Algorithm 1; Liu, Wang, Buccapatnam and Shroff (2018), UCBoost: a
      boosting approach to tame complexity and optimality for stochastic bandits, IJCAI, Appendix D, Lemma 10.
    """

    def init(key: Key) -> EmpiricalState:
        counts = jnp.zeros(num_arms, jnp.int32)
        return EmpiricalState(jnp.ones((), jnp.int32), counts, jnp.zeros((num_arms, num_atoms), jnp.int32))

    def select(noise: None, state: EmpiricalState, context: Offer | None) -> Array:
        pulls = as_float(jnp.maximum(state.counts, 1))
        delta = exploration_level(state.round, c) / pulls
        if num_atoms == 2:  # laws on 0 and 1 are Bernoulli's, and their divergence is kl
            index = kl_upper(as_float(state.seen[:, 1]) / pulls, delta)
        else:
            weights = as_float(state.seen) / jnp.expand_dims(pulls, -1)
            atoms = as_float(jnp.arange(num_atoms, dtype=jnp.int32)) / (num_atoms - 1)
            index = empirical_upper(jnp.expand_dims(atoms, 0), weights, delta)
        return best_available(context, jnp.where(state.counts > 0, index, jnp.inf))  # an arm without a reward first

    def update(state: EmpiricalState, context: Offer | None, action: Array, reward: Array) -> EmpiricalState:
        # The slack keeps a reward that equals an atom up to rounding error from being moved to the next atom.
        slack = 4 * num_atoms * float(jnp.finfo(reward.dtype).eps)
        atom = jnp.ceil(reward * (num_atoms - 1) - slack).astype(jnp.int32)
        arm = jnp.arange(num_arms, dtype=jnp.int32) == action
        hit = jnp.expand_dims(arm, 1) & jnp.expand_dims(jnp.arange(num_atoms, dtype=jnp.int32) == atom, 0)
        return EmpiricalState(state.round + 1, state.counts + arm.astype(jnp.int32), state.seen + hit.astype(jnp.int32))

    return Algorithm(
        init, select, update, pulls=lambda state: state.counts, arms=Arms(num_arms), rewards=Rewards(0.0, 1.0)
    )
