"""RUCB for dueling bandits: Zoghi, Whiteson, Munos and de Rijke (2014), Algorithm 1.

Differences: the bound of a pair without duels is inf and not 2, so that every opponent is met once; of two opponents
with equal bounds the lowest-numbered is chosen.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.algorithms.dueling import duels
from jaxbandit.base.arguments import Positive, SeveralArms
from jaxbandit.base.contract import Algorithm, Choice
from jaxbandit.base.declaration import declare
from jaxbandit.base.offers import uniform_arm
from jaxbandit.support.numerics import argmax
from jaxbandit.support.types import Array, Key


class RucbState(NamedTuple):
    """The wins so far, and the arm that is believed to be the Condorcet winner."""

    round: Array  # int32[], the round about to be played, from 1
    wins: Array  # int32[num_arms, num_arms], of the row against the column
    champion: Array  # int32[], -1 if there is none


@declare(
    question="regret",
    setting="dueling",
    rewards="0 or 1, whether the first arm wins",
    cost="O(K^2)",
    memory="O(K^2)",
    tries={"alpha": (0.51, 1.0)},
)
def rucb(num_arms: SeveralArms, *, alpha: Positive = 0.51) -> Algorithm:
    """Duels, an arm that may be the best against its strongest opponent, Zoghi et al. 2014.

    The bound of a pair is its share of wins plus sqrt(alpha log t / duels). The first arm of a duel is one that may win
    against every other, by its bounds; the champion, the last one that was alone in that, is preferred. The second is
    the arm with the largest bound against the first.

    Guarantee: Expected regret O(K^2 + K log T) where a Condorcet winner exists, for alpha above 1.

    In detail, a bound with high probability holds for alpha > 1/2; 0.51 is the value of the paper's experiments.

    Args:
      alpha: factor of log t.

    Returns:
      An Algorithm with actions int32[2] and feedback float[], 1 if the first arm wins and 0 otherwise. It recommends
      the arm that has won the majority of its duels against the most others.

    Source:
      Zoghi, Whiteson, Munos and de Rijke (2014), Relative upper confidence bound for the K-armed dueling bandit
      problem, ICML, Algorithm 1.
    """
    arms = jnp.arange(num_arms, dtype=jnp.int32)

    def init(key: Key) -> RucbState:
        return RucbState(jnp.ones((), jnp.int32), jnp.zeros((num_arms, num_arms), jnp.int32), jnp.int32(-1))

    def noise(key: Key) -> Array:
        """A coin for the champion, and a uniform number for the choice among the other candidates."""
        return jax.random.uniform(key, (2,))

    def select(noise: Array, state: RucbState, context: None) -> Choice:
        shares, widths, met = duels.shares_and_widths(state.wins, state.round, alpha)
        upper = jnp.where(met, shares + widths, jnp.inf)
        upper = jnp.where(arms[:, None] == arms[None], 0.5, upper)
        candidates = jnp.all(upper >= 0.5, axis=1)
        number = jnp.sum(candidates, dtype=jnp.int32)
        known = jnp.any(candidates & (arms == state.champion))
        champion = jnp.where(number == 1, argmax(candidates), jnp.where(known, state.champion, -1))

        rest = jnp.where(number == 0, True, candidates & (arms != champion))
        stays = (number == 1) | (known & (noise[0] < 0.5))
        first = jnp.where(stays, champion, uniform_arm(rest, noise[1], num_arms))
        against = jnp.where(arms == first, -jnp.inf, duels.column(upper, first))
        second = jnp.where(jnp.max(against) >= 0.5, argmax(against), first)
        return Choice(jnp.stack([first, second]), champion)

    def update(state: RucbState, context: None, choice: Choice, feedback: Array) -> RucbState:
        return RucbState(state.round + 1, duels.after(state.wins, choice.action, feedback), choice.info)

    return duels.duel_policy(num_arms, init, select, update, noise)
