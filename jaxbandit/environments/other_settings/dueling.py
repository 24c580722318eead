"""Dueling bandits: a round compares two arms, and only the winner is observed; Yue, Broder, Kleinberg, Joachims (2012).

Only the probability with which an arm wins against each other one is defined, and no reward.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.arguments import UnitMatrix
from jaxbandit.base.contract import Arms, Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.truth import Truth
from jaxbandit.support import checks
from jaxbandit.support.numerics import argmax, as_float, get_at
from jaxbandit.support.types import Array, Key

TIE = 1e-6  # p_ij + p_ji may differ from 1, and p_ij from 1/2, by rounding errors of float32


class DuelingState(NamedTuple):
    """The true preferences of one run."""

    preferences: Array  # float[num_arms, num_arms], probability that the row wins against the column
    gaps: Array  # float[num_arms], probability that the Condorcet winner wins against the arm, minus 1/2


@declare(settings=({"preferences": ((0.5, 0.6, 0.7), (0.4, 0.5, 0.6), (0.3, 0.4, 0.5))},))
def dueling(preferences: UnitMatrix) -> Environment:
    """Duels of two arms, of which only the winner is observed.

    An action is a pair of arms, which may be the same arm. The regret of a round is (D_1 + D_2)/2, where D_i is the
    probability with which the Condorcet winner beats the i-th arm of the pair, minus 1/2: the strong regret.
    `weak_regret` is a metric for min(D_1, D_2).

    Args:
      preferences: float[num_arms, num_arms], probability that the row wins against the column, with preferences[i, j] +
        preferences[j, i] = 1. Some arm must win against every other one with probability at least 1/2.

    Returns:
      An Environment with actions int32[2] and feedback float[] in {0, 1}. The simple regret of an arm is D.

    Raises:
      ValueError: the preferences are not a square matrix of probabilities that sum to 1 with their transpose, or there
        is no Condorcet winner.

    Source:
      Yue, Broder, Kleinberg and Joachims (2012), The K-armed dueling bandits problem, Journal of Computer and System
      Sciences 78.
    """
    num_arms = preferences.shape[0]
    if preferences.shape != (num_arms, num_arms) or num_arms < 2:
        raise ValueError(f"preferences has shape {preferences.shape}, must be square with at least 2 rows")
    if not checks.is_traced(preferences):
        _check(np.asarray(preferences, np.float64))

    def init(key: Key) -> DuelingState:
        p = as_float(preferences)
        winner = argmax(jnp.min(p, axis=1))
        return DuelingState(p, jnp.maximum(p[winner] - 0.5, 0.0))

    def reward(state: DuelingState, context: None, action: Array, noise: Array) -> Array:
        return as_float(noise < state.preferences[action[0], action[1]])

    def regret(state: DuelingState, context: None, action: Array) -> Array:
        return (get_at(state.gaps, action[0]) + get_at(state.gaps, action[1])) / 2

    return Environment(
        init=init,
        noise=jax.random.uniform,
        reward=reward,
        regret=regret,
        simple_regret=lambda state, arm: get_at(state.gaps, arm),
        arms=Arms(num_arms, action=jax.ShapeDtypeStruct((2,), jnp.int32)),
        rewards=Rewards(0.0, 1.0, sigma=0.5, family="bernoulli"),
        truth=Truth(rates=lambda: preferences),
    )


def weak_regret(r: Any) -> Array:
    """Return the weak regret of a round of `dueling`, the smaller of the two gaps: a metric, float[] >= 0."""
    return jnp.minimum(get_at(r.world.gaps, r.action[0]), get_at(r.world.gaps, r.action[1]))


def _check(p: np.ndarray) -> None:
    apart = np.abs(p + p.T - 1)
    if apart.max() > TIE:
        i, j = np.unravel_index(apart.argmax(), p.shape)
        raise ValueError(f"preferences[{i}, {j}] = {p[i, j]:g} and preferences[{j}, {i}] = {p[j, i]:g}, must sum to 1")
    if p.min(1).max() < 0.5 - TIE:
        raise ValueError(
            "no arm wins against every other one with probability 1/2, must have such a Condorcet winner, "
            "because the regret is measured against it"
        )
