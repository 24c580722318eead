"""Double Thompson sampling for dueling bandits: Wu and Liu (2016), Algorithm 1.

Of the first draws, theta_ij ~ Beta(W_ij + 1, W_ji + 1) for all pairs, only the signs of theta_ij - 1/2 are used, so a
coin of that probability is thrown for each pair. With a = W_ij + 1 and b = W_ji + 1, a win adds s = binomial(a + b - 1,
a) / 2^(a + b) to it, and a loss subtracts s a / b. The draws for the second arm have the right distribution up to 1e-6
in total variation.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandit.algorithms.dueling import duels
from jaxbandit.base.arguments import Positive, SeveralArms
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.base.offers import uniform_arm
from jaxbandit.support.numerics import argmax, as_float, numbered_key
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.solvers.beta import beta_shape, draw_logits, draw_pairs, words_of_pairs


class DoubleThompsonState(NamedTuple):
    """The wins so far, and what follows from them for each pair; `chances` and `steps` are used above the diagonal."""

    round: Array  # int32[], the round about to be played, from 1
    wins: Array  # int32[num_arms, num_arms], of the row against the column
    chances: Array  # float[num_arms, num_arms], posterior probability that the row is better than the column
    steps: Array  # float[num_arms, num_arms], by how much a win of the row would increase it


@declare(
    question="regret",
    setting="dueling",
    rewards="0 or 1, whether the first arm wins",
    cost="O(K^2), one Beta draw an arm",
    memory="O(K^2)",
    tries={"alpha": (0.51, 1.0)},
)
def double_thompson(num_arms: SeveralArms, *, alpha: Positive = 0.51) -> Algorithm:
    """Duels, both arms by Thompson sampling, Wu and Liu 2016.

    The first arm beats the most others by a draw from the posteriors, among those that beat the most by their upper
    confidence bounds. The second is drawn anew to be the strongest against it, among those not shown to lose against
    it.

    Guarantee: Regret O(K log T + K^2 log log T) where a Condorcet winner exists, for alpha above 1/2, and O(K^2 log T)
    otherwise, against the Copeland winners.

    Args:
      alpha: factor of log t in the confidence bounds.

    Returns:
      An Algorithm with actions int32[2] and feedback float[], 1 if the first arm wins and 0 otherwise. It recommends
      the arm that has won the majority of its duels against the most others.

    Source:
      Wu and Liu (2016), Double Thompson sampling for dueling bandits, NeurIPS, Algorithm 1.
    """
    arms = jnp.arange(num_arms, dtype=jnp.int32)
    above, diagonal = arms[:, None] < arms[None], arms[:, None] == arms[None]
    shape = (num_arms, num_arms)

    def init(key: Key) -> DoubleThompsonState:
        half = jnp.zeros(shape) + 0.5
        return DoubleThompsonState(jnp.ones((), jnp.int32), jnp.zeros(shape, jnp.int32), half, half / 2)

    def noise(key: Key) -> tuple[Array, Array, Array]:
        """Coins for the pairs, a uniform number for ties, and random words for the draws of the second arm."""
        # No split: from words of a chain of keys, XLA's CPU compiler computes the chain again for every word.
        coins, tie, words = (numbered_key(key, part) for part in (1, 2, 3))
        return jax.random.uniform(coins, shape), jax.random.uniform(tie), draw_pairs(words, num_arms)

    def select(noise: tuple[Array, Array, Array], state: DoubleThompsonState, context: None) -> Array:
        coins, tie, words = noise
        shares, widths, met = duels.shares_and_widths(state.wins, state.round, alpha)
        may_win = ~diagonal & (~met | (shares + widths > 0.5))
        able = jnp.sum(may_win, axis=1, dtype=jnp.int32)
        better = coins < state.chances
        won = jnp.sum(above & better, axis=1, dtype=jnp.int32) + jnp.sum(above & ~better, axis=0, dtype=jnp.int32)
        score = jnp.where(able == jnp.max(able), won, -1)
        first = uniform_arm(score == jnp.max(score), tie, num_arms)

        wins, losses = (duels.column(as_float(x), first) for x in (state.wins, state.wins.T))
        posterior = lax.optimization_barrier(beta_shape(wins + 1, losses + 1))
        drawn = lax.optimization_barrier(draw_logits(words_of_pairs(words)[:num_arms], posterior))
        against = jnp.where(arms == first, 0.0, drawn)  # the logit of 1/2
        lower = duels.column(jnp.where(met & ~diagonal, shares - widths, -jnp.inf), first)
        return jnp.stack([first, argmax(jnp.where(lower <= 0.5, against, -jnp.inf))])

    def update(state: DoubleThompsonState, context: None, pair: Array, feedback: Array) -> DoubleThompsonState:
        wins = duels.after(state.wins, pair, feedback)
        won, lost = wins > state.wins, wins.T > state.wins.T
        a, b = as_float(state.wins) + 1, as_float(state.wins.T) + 1
        s = state.steps
        change = jnp.where(won, s, 0.0) - jnp.where(lost, s * a / b, 0.0)
        steps = jnp.where(won, s * (a + b) / (2 * (a + 1)), jnp.where(lost, s * (a + b) / (2 * b), s))
        return DoubleThompsonState(state.round + 1, wins, state.chances + change, steps)

    return duels.duel_policy(num_arms, init, select, update, noise)
