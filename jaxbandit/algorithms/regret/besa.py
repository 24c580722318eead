"""BESA: Baransi, Maillard and Mannor (2014), Algorithms 1 and 2, for rewards 0 and 1.

For rewards 0 and 1 the sum of a duel is hypergeometric, so that no rewards are stored.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandit.base.arguments import NumArms
from jaxbandit.base.contract import Algorithm, Arms, Choice, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import argmax, as_float, get_at, set_at, unit_of_words
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import counts as estimator
from jaxbandit.theory.estimators.counts import Successes
from jaxbandit.theory.solvers.discrete import hypergeometric_quantile


class BesaNoise(NamedTuple):
    """The random numbers of a round, uniform in (0, 1)."""

    order: Array  # float[num_arms], whose order is that of the arms in the tournament
    duels: Array  # float[num_arms - 1]
    coin: Array  # float[], for the Bernoulli draw of the reward


@declare(question="regret", rewards="in [0, 1]", cost="O(K^2) comparisons, a hypergeometric draw a duel", memory="O(K)")
def besa(num_arms: NumArms) -> Algorithm:
    """Best empirical sampled average, Baransi et al. 2014.

    Return BESA: in each round the arms fight a tournament in random order, and its winner is pulled. A duel draws as
    many rewards of the arm with more pulls as the other one has, without replacement; the larger sum wins, a tie the
    arm with fewer pulls, and then the first. A reward strictly between 0 and 1 is replaced by a Bernoulli draw with
    that success probability. Each arm is pulled once first.

    Guarantee: For two arms, logarithmic regret under a condition on the balance of their laws, which Bernoulli laws
    fulfill (Baransi, Maillard and Mannor 2014, Theorem 1); none for more arms.

    Source:
      Baransi, Maillard and Mannor (2014), Sub-sampling for multi-armed bandits, ECML PKDD, Algorithms 1 and 2.
    """
    left, right = (jnp.asarray(places, jnp.int32) for places in tournament(num_arms))

    def noise(key: Key) -> BesaNoise:
        numbers = unit_of_words(jax.random.bits(key, (2 * num_arms,), jnp.uint32))
        return BesaNoise(numbers[:num_arms], numbers[num_arms:-1], numbers[-1])

    def winner(noise: BesaNoise, state: Successes) -> Array:
        n, good = as_float(state.counts), as_float(state.successes)
        arms = jnp.arange(num_arms, dtype=jnp.int32)
        if num_arms == 1:
            return arms[0]
        # Not argsort, which an accelerator or a CPU performs comparison by comparison.
        earlier = noise.order[None] < noise.order[:, None]
        tied = (noise.order[None] == noise.order[:, None]) & (arms[None] < arms[:, None])
        places = jnp.zeros(num_arms, jnp.int32).at[jnp.sum(earlier | tied, 1, dtype=jnp.int32)].set(arms)
        places = jnp.concatenate([places, jnp.zeros(num_arms - 1, jnp.int32)])

        # A loop over the duels and not over the levels of the tournament, because it is compiled once, and its operands
        # are then computed once.
        def duel(i: Array, places: Array) -> Array:
            a, b = get_at(places, get_at(left, i)), get_at(places, get_at(right, i))
            of_a, of_b, good_a, good_b = (get_at(x, arm) for x in (n, good) for arm in (a, b))
            more, drawn = jnp.maximum(of_a, of_b), jnp.minimum(of_a, of_b)
            good_more = jnp.where(of_a > of_b, good_a, good_b)
            sampled = hypergeometric_quantile(get_at(noise.duels, i), good_more, more - good_more, drawn)
            sum_a, sum_b = jnp.where(of_a > of_b, sampled, good_a), jnp.where(of_a < of_b, sampled, good_b)
            wins = (sum_a > sum_b) | ((sum_a == sum_b) & (of_a <= of_b))
            return set_at(places, num_arms + i, jnp.where(wins, a, b))

        return lax.fori_loop(0, num_arms - 1, duel, places)[-1]

    def select(noise: BesaNoise, state: Successes, context: None) -> Choice:
        fresh = state.counts == 0
        return Choice(jnp.where(jnp.any(fresh), argmax(fresh), winner(noise, state)), noise.coin)

    def update(state: Successes, context: None, choice: Choice, reward: Array) -> Successes:
        return estimator.toss(state, *choice, reward)

    return Algorithm(
        init=lambda key: estimator.no_successes(num_arms),
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        noise=noise,
        arms=Arms(num_arms),
        rewards=Rewards(0.0, 1.0),
    )


def tournament(num_arms: int) -> tuple[list[int], list[int]]:
    """Return the places that fight in each duel of a knock-out by halves, of which the left one has floor(n / 2).

    Place i < num_arms is arm i of the order, and place num_arms + i the winner of duel i.
    """
    left, right = [], []

    def fight(first: int, size: int) -> int:
        """Return the place of the winner among `size` arms."""
        if size == 1:
            return first
        half = size // 2
        sides = fight(first, half), fight(first + half, size - half)
        left.append(sides[0])
        right.append(sides[1])
        return num_arms + len(left) - 1

    fight(0, num_arms)
    return left, right
