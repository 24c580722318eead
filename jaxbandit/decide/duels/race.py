"""Which of several arms is the best if only pairs of them can be judged: a rule whose pulls are the pairs.

Pair number p is an arm of the rule, and its rewards are 1 if the first arm of the pair wins, 0 if the second one does,
and 1/2 for a draw; so sessions, their directories and corrections are those of any rule.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxbandit.base.arguments import Delta, SeveralArms
from jaxbandit.base.batches import Batch
from jaxbandit.base.calls import checked
from jaxbandit.base.contract import Algorithm, Arms, Rewards
from jaxbandit.support.numerics import argmax, as_float
from jaxbandit.support.types import Array, Key

NAME = "duel_race"
TYPICAL = 50  # duels of a pair at which its interval is as narrow as it can be


class DuelState(NamedTuple):
    """The duels so far, and bounds of the probability with which the first arm of each pair wins."""

    wins: Array  # float[pairs], of the first arm; a draw is half of one
    duels: Array  # int[pairs]
    low: Array  # float[pairs], the largest lower bound so far
    high: Array  # float[pairs]
    level: Array  # float[], probability with which the bounds of a pair are wrong at some time


class Order(NamedTuple):
    """What bounds of pairs say of the arms; of matrices, the row plays against the column."""

    low: Any  # float[num_arms, num_arms], bounds of the probability with which the row wins; 1/2 on the diagonal
    high: Any
    beats: Any  # bool[num_arms, num_arms], the row wins with a probability above 1/2
    candidates: Any  # bool[num_arms], arms that none beats
    borda_low: Any  # float[num_arms], bounds of the mean of these probabilities over the other arms
    borda_high: Any
    leaders: Any  # bool[num_arms], arms that may have the largest such mean
    open_pairs: Any  # bool[pairs], pairs that may still decide


@checked
def duel_pairs(num_arms: SeveralArms) -> np.ndarray:
    """Return the pairs of arms by their numbers, int32[num_arms (num_arms - 1) / 2, 2], the smaller arm first."""
    return np.stack(np.triu_indices(num_arms, 1), axis=1).astype(np.int32)


def order_of(low: Any, high: Any, num_arms: int, xp: Any = np) -> Order:
    """Return what the bounds of all pairs say; `xp` is numpy or jax.numpy."""
    pairs, number = duel_pairs(num_arms), np.zeros((num_arms, num_arms), np.int32)
    first, second = pairs.T
    number[first, second] = number[second, first] = np.arange(len(pairs))
    above, diagonal = np.triu(np.ones((num_arms, num_arms), bool), 1), np.eye(num_arms, dtype=bool)
    one, two = (xp.where(above, x[number], 1 - y[number]) for x, y in ((low, high), (high, low)))
    lows, highs = (xp.where(diagonal, 0.5, x) for x in (one, two))
    beats = lows > 0.5
    candidates = ~beats.any(axis=0)
    borda_low, borda_high = ((x.sum(axis=1) - 0.5) / (num_arms - 1) for x in (lows, highs))
    leaders = borda_high >= borda_low.max()
    each, both = candidates[first] | candidates[second], candidates[first] & candidates[second]
    condorcet = xp.where(candidates.sum() > 1, both, each) & (low <= 0.5) & (high >= 0.5)
    borda = (leaders[first] | leaders[second]) & (leaders.sum() > 1)
    open_pairs = xp.where(candidates.any(), condorcet, borda)
    return Order(lows, highs, beats, candidates, borda_low, borda_high, leaders, open_pairs)


@checked
def duel_race(num_arms: SeveralArms, *, delta: Delta = 0.05) -> Algorithm:
    """Return a rule for sessions that finds the best of several arms by judged pairs, with a certificate.

    An `ask` returns numbers of pairs, `duel_pairs(num_arms)[pulls.arm]` are the two arms of each, and `tell` reports 1
    if the first one has won, 0 if the second one has, and 1/2 for a draw. `duel_certificate` says at any time what is
    known. One arm beats another if it wins more than half of their duels, a draw being half a win.

    Each batch has one duel of every pair that may still decide: of those arms that none beats, until one is left, and
    then of this one with the others, until it beats all of them, the Condorcet winner. If every arm is beaten, there is
    a cycle; then all arms that may have the largest mean probability of a win over the others are judged further, until
    one has it for sure, the Borda winner. Two arms that win equally often are judged for ever: give the loop a budget.

    Everything that is claimed at any time is right with probability at least 1 - delta, if the duels of a pair are
    independent of each other and alike.

    Args:
      num_arms: number of arms K, of which K (K - 1) / 2 pairs are judged.
      delta: probability with which something that is claimed may be wrong.

    Source:
      The bounds are the normal mixture of Robbins (1970) for numbers in [0, 1], at level delta divided by the pairs;
      the rule is original to this library. Condorcet and Borda winners are those of Busa-Fekete and Huellermeier
      (2014), A survey of preference-based online learning with bandit algorithms, ALT.
    """
    count = num_arms * (num_arms - 1) // 2

    def init(key: Key) -> DuelState:
        nothing = jnp.zeros(count)
        return DuelState(nothing, jnp.zeros(count, int), nothing, jnp.ones(count), as_float(delta) / count)

    def open_pairs(state: DuelState) -> Array:
        return order_of(state.low, state.high, num_arms, jnp).open_pairs

    def absorb(state: DuelState, duels: Array, sums: Array) -> DuelState:
        wins, duels = state.wins + sums, state.duels + duels
        n, twice = as_float(jnp.maximum(duels, 1)), -2 * jnp.log(state.level)
        c = TYPICAL / (twice + jnp.log1p(twice))
        radius = jnp.where(duels > 0, jnp.sqrt((n + c) * (twice + jnp.log1p(n / c))) / (2 * n), 1.0)
        low, high = jnp.maximum(state.low, wins / n - radius), jnp.minimum(state.high, wins / n + radius)
        return DuelState(wins, duels, low, high, state.level)

    def select(noise: None, state: DuelState, context: None) -> Array:
        return argmax(jnp.where(open_pairs(state), -as_float(state.duels), -jnp.inf))

    def update(state: DuelState, context: None, pair: Array, reward: Array) -> DuelState:
        here = jnp.arange(count, dtype=jnp.int32) == pair
        return absorb(state, here.astype(state.duels.dtype), jnp.where(here, reward, 0.0))

    return Algorithm(
        init=init,
        select=select,
        update=update,
        stop=lambda state: ~jnp.any(open_pairs(state)),
        batch=Batch(lambda state: open_pairs(state).astype(state.duels.dtype), absorb),
        arms=Arms(count),
        rewards=Rewards(0.0, 1.0),
        name=NAME,
    )
