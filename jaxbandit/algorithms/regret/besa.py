"""BESA: Baransi, Maillard and Mannor (2014), Algorithms 1 and 2, for rewards 0 and 1.

A duel of two arms compares the sum of all rewards of the arm with fewer pulls with that of as many rewards of the
other, drawn without replacement. For rewards 0 and 1 that sum is hypergeometric, so that no rewards are stored.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import checks
from jaxbandit.base.contract import Algorithm, Arms, Choice, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.numerics import argmax, as_float, get_at, set_at, unit_of_words
from jaxbandit.base.types import Array, Key
from jaxbandit.theory.solvers.discrete import hypergeometric, quantile


class BesaState(NamedTuple):
    """Pull counts and numbers of successes."""

    counts: Array  # int32[num_arms]
    successes: Array  # int32[num_arms]


class BesaNoise(NamedTuple):
    """The random numbers of a round, uniform in (0, 1)."""

    order: Array  # float[num_arms], whose order is that of the arms in the tournament
    duels: Array  # float[num_arms - 1]
    coin: Array  # float[], for the Bernoulli draw of the reward


class Level(NamedTuple):
    """Duels that are fought at the same time; all arrays are int[duels], and places count arms and winners."""

    left: np.ndarray
    right: np.ndarray
    number: np.ndarray  # of each duel, in the order in which Algorithm 2 fights them
    place: np.ndarray  # of the winner


@declare(
    question="regret",
    setting="arms",
    rewards="in [0, 1]",
    cost="O(K^2) comparisons, a hypergeometric draw a duel",
    memory="O(K)",
)
def besa(num_arms: int) -> Algorithm:
    """Best empirical sampled average, Baransi et al. 2014.

    Return BESA: in each round the arms fight a tournament in random order, and its winner is pulled.

    A duel draws as many rewards of the arm with more pulls as the other one has, without replacement; the larger sum
    wins, a tie the arm with fewer pulls, and then the first. A reward strictly between 0 and 1 is replaced by a
    Bernoulli draw with that success probability. Each arm is pulled once first.

    Guarantee: For two arms, logarithmic regret under a condition on the balance of their laws, which Bernoulli laws
    fulfill (Baransi, Maillard and Mannor 2014, Theorem 1); none for more arms.

    Args:
      num_arms: number of arms, an integer >= 1; static.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[] in [0, 1].

    Raises:
      ValueError: num_arms is not a positive integer.

    Source:
      Baransi, Maillard and Mannor (2014), Sub-sampling for multi-armed bandits, ECML PKDD, Algorithms 1 and 2.
    """
    num_arms = checks.integer("besa", "num_arms", num_arms, 1)
    levels = tournament(num_arms)

    def init(key: Key) -> BesaState:
        return BesaState(jnp.zeros(num_arms, jnp.int32), jnp.zeros(num_arms, jnp.int32))

    def noise(key: Key) -> BesaNoise:
        numbers = unit_of_words(jax.random.bits(key, (2 * num_arms,), jnp.uint32))
        return BesaNoise(numbers[:num_arms], numbers[num_arms:-1], numbers[-1])

    def winner(noise: BesaNoise, state: BesaState) -> Array:
        n, good = as_float(state.counts), as_float(state.successes)
        # Not argsort, which an accelerator or a CPU performs comparison by comparison.
        earlier = noise.order[None] < noise.order[:, None]
        arms = jnp.arange(num_arms, dtype=jnp.int32)
        tied = (noise.order[None] == noise.order[:, None]) & (arms[None] < arms[:, None])
        places = jnp.zeros(num_arms, jnp.int32).at[jnp.sum(earlier | tied, 1, dtype=jnp.int32)].set(arms)
        for level in levels:
            a, b = places[level.left], places[level.right]
            drawn = jnp.minimum(n[a], n[b])

            def total(arm: Array, drawn: Array = drawn, level: Level = level) -> Array:
                return quantile(noise.duels[level.number], hypergeometric(good[arm], n[arm] - good[arm], drawn))

            more = jnp.where(n[a] > n[b], a, b)
            sampled = total(more)
            left = jnp.where(n[a] > n[b], sampled, good[a])
            right = jnp.where(n[a] > n[b], good[b], jnp.where(n[a] < n[b], sampled, good[b]))
            wins = (left > right) | ((left == right) & (n[a] <= n[b]))
            places = jnp.concatenate([places, jnp.where(wins, a, b)])
        return places[-1]

    def select(noise: BesaNoise, state: BesaState, context: None) -> Choice:
        fresh = state.counts == 0
        return Choice(jnp.where(jnp.any(fresh), argmax(fresh), winner(noise, state)), noise.coin)

    def update(state: BesaState, context: None, choice: Choice, reward: Array) -> BesaState:
        arm, coin = choice
        count = get_at(state.counts, arm) + 1
        successes = get_at(state.successes, arm) + (coin < reward).astype(jnp.int32)
        return BesaState(set_at(state.counts, arm, count), set_at(state.successes, arm, successes))

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        noise=noise,
        arms=Arms(num_arms),
        rewards=Rewards(0.0, 1.0),
        name="besa",
    )


def tournament(num_arms: int) -> list[Level]:
    """Return the duels of a knock-out by halves, of which the left one has floor(n / 2), by levels.

    Place i < num_arms is arm i of the order; the winners of the levels take the places that follow.
    """
    duels: list[tuple[int, int, int]] = []  # level, and the numbers of the two sides: arms, or num_arms + a duel's

    def fight(first: int, size: int) -> tuple[int, int]:
        """Return the number of the winner of a half, and on how many levels it fought."""
        if size == 1:
            return first, 0
        left, before = fight(first, size // 2)
        right, beside = fight(first + size // 2, size - size // 2)
        duels.append((max(before, beside), left, right))
        return num_arms + len(duels) - 1, max(before, beside) + 1

    fight(0, num_arms)
    order = sorted(range(len(duels)), key=lambda i: duels[i][0])
    place = {i: i for i in range(num_arms)} | {num_arms + duel: num_arms + at for at, duel in enumerate(order)}
    levels = []
    for depth in range(max((duel[0] for duel in duels), default=-1) + 1):
        own = [i for i in order if duels[i][0] == depth]
        left, right = ([place[duels[i][side]] for i in own] for side in (1, 2))
        levels.append(Level(*map(np.array, (left, right, own, [place[num_arms + i] for i in own]))))
    return levels
