"""KL-LUCB (Kaufmann, Kalyanakrishnan 2013, Algorithm 2): the weakest of the m best means against its best rival.

With J the m arms of largest mean, each turn takes the arm of J with the lowest lower bound and the arm outside with the
highest upper bound, stops if the two bounds are apart, and else pulls both arms. Bounds are those of the family's
divergence. A turn is two pulls: stopping is looked at between turns only.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.algorithms.best_arm.levels import LevelName, arm_level
from jaxbandit.algorithms.best_arm.thresholds import rewards_of
from jaxbandit.algorithms.exploration import gap_indices
from jaxbandit.base import Algorithm, Arms, Choice, Promise
from jaxbandit.estimators import counts as statistics
from jaxbandit.numerics import argmax, as_float, get_at, log
from jaxbandit.solvers.families import FamilyName
from jaxbandit.solvers.families import family as family_of
from jaxbandit.types import Array, Key, Scalar

EXPONENT = 1.1  # alpha of the paper's level, as in its experiments
FACTOR = 405.5  # k_1 of the paper's level, above 2 e + 1 + e / (alpha - 1) + (e + 1) / (alpha - 1)^2


class KLLUCBState(NamedTuple):
    """Sufficient statistics, and the second pull of a turn."""

    pulls: Array  # int32[], of all arms together
    counts: Array  # int32[num_arms]
    means: Array  # float[num_arms]
    pending: Array  # int32[], the arm still to pull in this turn, -1 if none


class Turn(NamedTuple):
    """What the bounds say."""

    weakest: Array  # int32[], the arm of J with the lowest lower bound
    rival: Array  # int32[], the arm outside J with the highest upper bound
    apart: Array  # bool[], whether the stopping rule says so


def kl_lucb(
    num_arms: int,
    *,
    m: int = 1,
    family: FamilyName = "bernoulli",
    threshold: LevelName = "kt",
    delta: Scalar = 0.05,
    epsilon: Scalar = 0.0,
    sigma: Scalar = 1.0,
) -> Algorithm:
    """Return KL-LUCB, which finds the m best arms of a one-parameter family.

    Proved, for all thresholds but "heuristic": with probability 1 - delta the m arms that it names are at most epsilon
    short of the m-th best, at epsilon = 0 the m best ones. While every arm's mean is in its interval, no arm outside J
    exceeds one of J by epsilon or more once the stopping rule says so.

    Args:
      num_arms: number of arms, >= 2, static.
      m: number of arms to find, in [1, num_arms - 1], static.
      family: of the rewards, "bernoulli", "gaussian", "poisson" or "exponential"; static. Rewards in [0, 1] may be
        played as "bernoulli" ones, sub-Gaussian ones as "gaussian".
      threshold: the level of the bounds: "heuristic" (of the paper's experiments, not proved), "theory" (the paper's
        log x + log log x with x = 405.5 K t^1.1 / delta), "kk", "gauss" (of gaussian rewards) or "kt" (of bernoulli
        ones), see `arm_level`; static.
      delta: allowed error rate, in (0, 1), traced.
      epsilon: tolerated shortfall of a mean, >= 0, traced.
      sigma: scale of gaussian rewards, > 0, traced; the other families do not read it.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[m], the best first.

    Raises:
      ValueError: an argument is out of range, or the threshold is not one of the family.

    Source: Kaufmann, Kalyanakrishnan (2013), Information complexity in bandit subset selection, COLT, Algorithm 2 and
    Theorem 1.
    """
    where = "kl_lucb"
    num_arms = checks.integer(where, "num_arms", num_arms, 2)
    m = checks.integer(where, "m", m, 1, num_arms - 1)
    checks.number(where, "epsilon", epsilon, low=0.0)
    law = family_of(family, sigma, where=where)

    def theory(log_union: Array, n: Array, t: Array) -> Array:
        x = math.log(FACTOR) + log_union + EXPONENT * log(as_float(t))
        return x + log(x)

    level = arm_level(threshold, num_arms, delta, law, theory, where=where)

    def init(key: Key) -> KLLUCBState:
        counts, means = statistics.init(num_arms)
        return KLLUCBState(jnp.zeros((), jnp.int32), counts, means, jnp.full((), -1, jnp.int32))

    def turn(state: KLLUCBState) -> Turn:
        n = jnp.maximum(state.counts, 1)
        allowed = level.level(n, jnp.maximum(state.pulls, 1)) / as_float(n)
        if m == 1:
            weakest = argmax(state.means)
            inside = jnp.arange(num_arms, dtype=jnp.int32) == weakest
            low = law.lower(get_at(state.means, weakest), get_at(allowed, weakest))
        else:
            inside = gap_indices.ranks(state.means, None) < m
            lower = law.lower(state.means, allowed)
            weakest = argmax(jnp.where(inside, -lower, -jnp.inf))
            low = get_at(lower, weakest)
        upper = jnp.where(inside, -jnp.inf, law.upper(state.means, allowed))
        return Turn(weakest, argmax(upper), jnp.max(upper) - low < as_float(epsilon))

    def starting(state: KLLUCBState) -> Array:
        return state.pulls < num_arms

    def select(noise: None, state: KLLUCBState, context: None) -> Choice:
        """The arm to pull, and its rival of the turn."""
        now = turn(state)
        arm = jnp.where(state.pending >= 0, state.pending, now.weakest)
        return Choice(jnp.where(starting(state), state.pulls, arm), now.rival)

    def update(state: KLLUCBState, context: None, choice: Choice, reward: Array) -> KLLUCBState:
        action, rival = choice
        counts, means, _ = statistics.update(state.counts, state.means, action, reward)
        pending = jnp.where((state.pending < 0) & ~starting(state), rival, -1)
        return KLLUCBState(state.pulls + 1, counts, means, pending)

    def recommend(state: KLLUCBState) -> Array:
        if m == 1:
            return argmax(state.means)[None]
        arms, places = jnp.arange(num_arms, dtype=jnp.int32), jnp.arange(m, dtype=jnp.int32)
        order = gap_indices.ranks(state.means, None)
        return jnp.sum(jnp.where(order[None] == places[:, None], arms[None], 0), 1, dtype=jnp.int32)

    def stop(state: KLLUCBState) -> Array:
        return ~starting(state) & (state.pending < 0) & turn(state).apart

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        recommend=recommend,
        stop=stop,
        promise=Promise(delta, epsilon, m, level.proved),
        arms=Arms(num_arms),
        rewards=rewards_of(law),
        name=where,
    )
