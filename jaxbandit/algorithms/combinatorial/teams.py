"""What semi-bandit algorithms share: the k largest of some values, and each arm's mean where a pull shows k rewards."""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.base import Algorithm, Arms, Rewards
from jaxbandit.numerics import argmax, as_float, set_at, short_loop
from jaxbandit.types import Array


class TeamState(NamedTuple):
    """Pulls and means of the single arms."""

    round: Array  # int32[], the round about to be played, from 1
    counts: Array  # int32[num_arms], in how many teams each arm was
    means: Array  # float[num_arms], 0 where never pulled


def init(num_arms: int) -> TeamState:
    """No pulls yet."""
    return TeamState(jnp.ones((), jnp.int32), jnp.zeros(num_arms, jnp.int32), jnp.zeros(num_arms))


def update(state: TeamState, team: Array, rewards: Array) -> TeamState:
    """After one more team, bool[num_arms], whose members paid `rewards`, float[num_arms]."""
    counts = state.counts + team.astype(jnp.int32)
    step = (rewards - state.means) / as_float(jnp.maximum(counts, 1))
    return TeamState(state.round + 1, counts, state.means + jnp.where(team, step, 0.0))


def unseen_first(state: TeamState, index: Array) -> Array:
    """The index, float[num_arms], and inf for arms without a reward, whatever theirs is."""
    return jnp.where(state.counts > 0, index, jnp.inf)


def largest(values: Array, k: int) -> Array:
    """The k largest of some values above -inf, bool[num_arms]; of equal ones the lowest."""

    def take(_: int | Array, chosen: Array) -> Array:
        return set_at(chosen, argmax(jnp.where(chosen, -jnp.inf, values)), jnp.ones((), bool))

    return short_loop(0, k, take, jnp.zeros(values.shape, bool))


def ranked(values: Array, k: int) -> Array:
    """The k arms of largest value, int32[k], the largest first; of equal ones the lowest."""

    def take(place: int | Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        chosen, arms = carry
        arm = argmax(jnp.where(chosen, -jnp.inf, values))
        return set_at(chosen, arm, jnp.ones((), bool)), arms.at[place].set(arm)

    return short_loop(0, k, take, (jnp.zeros(values.shape, bool), jnp.zeros(k, jnp.int32)))[1]


def team_policy(name: str, num_arms: int, k: int, select: Callable[[None, TeamState, None], Array]) -> Algorithm:
    """The algorithm for a horizon that `select` makes of TeamState; it recommends the k arms pulled most."""
    return Algorithm(
        init=lambda key: init(num_arms),
        select=select,
        update=lambda state, context, team, rewards: update(state, team, rewards),
        pulls=lambda state: state.counts,
        recommend=lambda state: ranked(as_float(state.counts), k),
        arms=Arms(num_arms, k, members=True),
        rewards=Rewards(0.0, 1.0),
        name=name,
    )
