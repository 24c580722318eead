"""Which of several arms is the best if only pairs of them can be judged: a rule whose pulls are the pairs.

Pair number p is an arm of the rule, and its rewards are 1 if the first arm of the pair wins, 0 if the second one does,
and 1/2 for a draw; so sessions, their directories and corrections are those of any rule.
"""

from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxbandit.base.arguments import Delta, SeveralArms
from jaxbandit.base.batches import Batch
from jaxbandit.base.calls import checked
from jaxbandit.base.contract import Algorithm, Arms, Rewards
from jaxbandit.base.parameters import Arg
from jaxbandit.support.domains import number
from jaxbandit.support.numerics import argmax, as_float
from jaxbandit.support.types import Array, Key, Scalar
from jaxbandit.theory.normal_mixture import mixture_radius

NAME = "duel_race"
TYPICAL = 50  # duels of a pair at which its interval is as narrow as it can be
PAIRS_SHARE = 0.8  # of delta, for the bounds of pairs; the rest is for differences of Borda scores, needed in a cycle


Indifference = Annotated[
    Scalar,
    Arg(
        number(0, 0.5, open_high=True),
        "difference of two probabilities of winning up to which arms are alike",
        (0.0, 0.1),
    ),
]


class DuelState(NamedTuple):
    """The duels so far, and the bounds that follow. A pair is (first, second), the smaller arm first."""

    wins: Array  # float[pairs], of the first arm; a draw is half of one
    duels: Array  # int[pairs]
    low: Array  # float[pairs], the largest lower bound so far of the probability with which the first arm wins
    high: Array  # float[pairs]
    level: Array  # float[], probability with which the bounds of a pair are wrong at some time
    cycle_wins: Array  # float[pairs], wins and duels since every arm is known to be beaten
    cycle_duels: Array  # int[pairs]
    lead_low: Array  # float[pairs], bounds of the Borda score of the first arm less that of the second one
    lead_high: Array  # float[pairs]
    lead_level: Array  # float[], probability with which the bounds of a difference are wrong at some time
    epsilon: Array  # float[], by how much a best arm may be worse


class Order(NamedTuple):
    """What the bounds say of the arms; of matrices, the row plays against the column."""

    low: Any  # float[num_arms, num_arms], bounds of the probability with which the row wins; 1/2 on the diagonal
    high: Any
    beats: Any  # bool[num_arms, num_arms], the row wins with a probability above 1/2
    candidates: Any  # bool[num_arms], arms that none beats
    weak_winners: Any  # bool[num_arms], arms that win against each other one with a probability above 1/2 - epsilon
    lead: Any  # float[num_arms, num_arms], lower bound of the Borda score of the row less that of the column
    leaders: Any  # bool[num_arms], arms that may have the largest Borda score
    largest: Any  # bool[num_arms], arms whose Borda score is above the largest one less epsilon
    open_pairs: Any  # bool[pairs], pairs that may still decide


@checked
def duel_pairs(num_arms: SeveralArms) -> np.ndarray:
    """Return the pairs of arms by their numbers, int32[num_arms (num_arms - 1) / 2, 2], the smaller arm first."""
    return np.stack(np.triu_indices(num_arms, 1), axis=1).astype(np.int32)


def order_of(state: Any, num_arms: int, xp: Any = np) -> Order:
    """Return what the bounds of a `DuelState` say; `xp` is numpy or jax.numpy."""
    first, second = duel_pairs(num_arms).T
    diagonal, epsilon = np.eye(num_arms, dtype=bool), state.epsilon
    lows = _matrix(state.low, 1 - state.high, 0.5, num_arms, xp)
    highs = _matrix(state.high, 1 - state.low, 0.5, num_arms, xp)
    lead = _matrix(state.lead_low, -state.lead_high, 0.0, num_arms, xp)
    beats, ahead = lows > 0.5, lead > 0
    candidates, leaders = ~beats.any(axis=0), ~ahead.any(axis=0)
    weak_winners = (diagonal | (lows > 0.5 - epsilon)).all(axis=1)
    largest = (~leaders[None] | diagonal | (lead > -epsilon)).all(axis=1)  # the best is one of the leaders
    even = (state.low > 0.5 - epsilon) & (state.high < 0.5 + epsilon)
    undecided = (state.low <= 0.5) & (state.high >= 0.5) & ~even
    each, both = candidates[first] | candidates[second], candidates[first] & candidates[second] & undecided
    condorcet = xp.where(both.any(), both, each & undecided) & ~weak_winners.any()
    borda = (leaders[first] | leaders[second]) & ~largest.any()
    open_pairs = xp.where(candidates.any() | weak_winners.any(), condorcet, borda)
    return Order(lows, highs, beats, candidates, weak_winners, lead, leaders, largest, open_pairs)


def _matrix(first: Any, second: Any, same: Any, num_arms: int, xp: Any) -> Any:
    """Return the matrix of numbers of the first and the second arm of each pair, with `same` on the diagonal."""
    number = np.zeros((num_arms, num_arms), np.int32)
    one, other = duel_pairs(num_arms).T
    number[one, other] = number[other, one] = np.arange(len(one))
    above, diagonal = np.triu(np.ones((num_arms, num_arms), bool), 1), np.eye(num_arms, dtype=bool)
    return xp.where(diagonal, same, xp.where(above, first[number], second[number]))


@checked
def duel_race(num_arms: SeveralArms, *, delta: Delta = 0.05, epsilon: Indifference = 0.0) -> Algorithm:
    """Return a rule for sessions that finds the best of several arms by judged pairs, with a certificate.

    An `ask` returns numbers of pairs, `duel_pairs(num_arms)[pulls.arm]` are the two arms of each, and `tell` reports 1
    if the first one has won, 0 if the second one has, and 1/2 for a draw. `duel_certificate` says at any time what is
    known. One arm beats another if it wins more than half of their duels, a draw being half a win.

    Each batch has one duel of every pair that may still decide: of those arms that none beats, until one is left, and
    then of this one with the others, until it beats all of them, the Condorcet winner. If every arm is beaten, there is
    a cycle; then all arms that may have the largest Borda score, the mean probability of a win over the others, are
    judged against everybody, until one has it for sure, the Borda winner.

    With epsilon = 0, two arms that win equally often are judged for ever: give the loop a budget. With epsilon > 0 it
    suffices that an arm wins against each other one with a probability above 1/2 - epsilon, or, in a cycle, that its
    Borda score is above the largest one less epsilon.

    Everything that is claimed at any time is right with probability at least 1 - delta, if the duels of a pair are
    independent of each other and alike.

    Args:
      num_arms: number of arms K, of which K (K - 1) / 2 pairs are judged.
      delta: probability with which something that is claimed may be wrong.

    Source:
      The bounds are the normal mixture of Robbins (1970): for pairs, of numbers in [0, 1], at level .8 delta divided by
      the pairs; for two Borda scores, of the difference of the wins of both arms over a round of all their duels, which
      is sqrt(K / 2)-sub-Gaussian, with .2 delta divided by the pairs. The rule is original to this library. Condorcet
      and Borda winners are those of Busa-Fekete and Huellermeier (2014), A survey of preference-based online learning
      with bandit algorithms, ALT.
    """
    first, second = duel_pairs(num_arms).T
    count = len(first)

    def init(key: Key) -> DuelState:
        none, one, level = jnp.zeros(count), jnp.ones(count), as_float(delta) / count
        zero, share = jnp.zeros(count, int), PAIRS_SHARE
        return DuelState(
            none, zero, none, one, share * level, none, zero, -one, one, (1 - share) * level, as_float(epsilon)
        )

    def open_pairs(state: DuelState) -> Array:
        return order_of(state, num_arms, jnp).open_pairs

    def absorb(state: DuelState, duels: Array, sums: Array) -> DuelState:
        cycle = ~jnp.any(order_of(state, num_arms, jnp).candidates)
        wins, judged = state.wins + sums, state.duels + duels
        n = as_float(jnp.maximum(judged, 1))
        radius = jnp.where(judged > 0, mixture_radius(n, 0.5, state.level, TYPICAL, jnp), 1.0)
        after = state._replace(
            wins=wins,
            duels=judged,
            low=jnp.maximum(state.low, wins / n - radius),
            high=jnp.minimum(state.high, wins / n + radius),
            cycle_wins=state.cycle_wins + jnp.where(cycle, sums, 0.0),
            cycle_duels=state.cycle_duels + jnp.where(cycle, duels, 0),
        )
        return with_leads(after)

    def with_leads(state: DuelState) -> DuelState:
        """The state with new bounds of the differences of arms of which each opponent was met equally often."""
        wins, duels = state.cycle_wins, as_float(state.cycle_duels)
        won = _matrix(wins, duels - wins, 0.0, num_arms, jnp).sum(axis=1)
        met = _matrix(duels, duels, jnp.inf, num_arms, jnp).min(axis=1)
        whole = met == _matrix(duels, duels, 0.0, num_arms, jnp).max(axis=1)
        rounds = met[first]
        known = whole[first] & whole[second] & (met[second] == rounds) & (rounds > 0)
        n = jnp.maximum(rounds, 1.0)
        lead = (won[first] - won[second]) / (n * (num_arms - 1))
        radius = mixture_radius(n, (num_arms / 2) ** 0.5, state.lead_level, TYPICAL, jnp) / (num_arms - 1)
        radius = jnp.where(known, radius, jnp.inf)
        return state._replace(
            lead_low=jnp.maximum(state.lead_low, lead - radius), lead_high=jnp.minimum(state.lead_high, lead + radius)
        )

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
