"""What semi-bandit algorithms share: the k largest of a vector, and means of arms from pulls that show k rewards."""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.base.contract import Algorithm, Arms, Rewards
from jaxbandit.support.numerics import argmax, as_float, set_at, short_loop
from jaxbandit.support.types import Array
from jaxbandit.theory.estimators import counts as estimator
from jaxbandit.theory.estimators.counts import Counts


class TeamState(NamedTuple):
    """Pull counts and means of the single arms."""

    round: Array  # int32[], the round about to be played, from 1
    arms: Counts

    @property
    def counts(self) -> Array:
        """Number of teams pulled with each arm as a member, int32[num_arms]."""
        return self.arms.counts

    @property
    def means(self) -> Array:
        """Empirical means, float[num_arms], 0 where never pulled."""
        return self.arms.means


def init(num_arms: int) -> TeamState:
    """Return the state before the first pull."""
    return TeamState(jnp.ones((), jnp.int32), estimator.init(num_arms))


def update(state: TeamState, team: Array, rewards: Array) -> TeamState:
    """Return the state after one more team, bool[num_arms], with the members' rewards, float[num_arms]."""
    arms = estimator.add(state.arms, team.astype(jnp.int32), jnp.where(team, rewards, 0.0))
    return TeamState(state.round + 1, arms)


def unseen_first(state: TeamState, index: Array) -> Array:
    """Return the index, float[num_arms], with inf for arms without a reward."""
    return jnp.where(state.counts > 0, index, jnp.inf)


def largest(values: Array, k: int) -> Array:
    """Return the mask of the k largest values (above -inf), bool[num_arms]; ties go to the lowest-numbered arm."""

    def take(_: int | Array, chosen: Array) -> Array:
        return set_at(chosen, argmax(jnp.where(chosen, -jnp.inf, values)), jnp.ones((), bool))

    return short_loop(0, k, take, jnp.zeros(values.shape, bool))


def ranked(values: Array, k: int) -> Array:
    """Return the k arms with the largest values, int32[k], in descending order; ties go to the lowest-numbered arm."""

    def take(place: int | Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        chosen, arms = carry
        arm = argmax(jnp.where(chosen, -jnp.inf, values))
        return set_at(chosen, arm, jnp.ones((), bool)), arms.at[place].set(arm)

    return short_loop(0, k, take, (jnp.zeros(values.shape, bool), jnp.zeros(k, jnp.int32)))[1]


def team_policy(num_arms: int, k: int, select: Callable[[None, TeamState, None], Array]) -> Algorithm:
    """Return the algorithm that `select` defines on a TeamState; it recommends the k arms pulled most."""
    return Algorithm(
        init=lambda key: init(num_arms),
        select=select,
        update=lambda state, context, team, rewards: update(state, team, rewards),
        pulls=lambda state: state.counts,
        recommend=lambda state: ranked(as_float(state.counts), k),
        arms=Arms(num_arms, k, members=True),
        rewards=Rewards(0.0, 1.0),
    )
