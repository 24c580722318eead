"""KL-LUCB (Kaufmann and Kalyanakrishnan 2013, Algorithm 2): compare the weakest of the m best arms with its best rival.

A turn consists of two pulls, and the stopping rule is evaluated between turns only.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.best_arm.levels import LevelName, arm_level
from jaxbandit.algorithms.exploration import gap_indices
from jaxbandit.base.arguments import Delta, Epsilon, Family, FamilySigma, M, SeveralArms
from jaxbandit.base.contract import Algorithm, Arms, Choice, Promise
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import argmax, as_float, get_at, log
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import counts as statistics
from jaxbandit.theory.estimators.counts import Counts
from jaxbandit.theory.solvers.families import family as family_of

EXPONENT = 1.1  # alpha of the paper's level, as in its experiments
FACTOR = 405.5  # k_1 of the paper's level, above 2 e + 1 + e / (alpha - 1) + (e + 1) / (alpha - 1)^2


class KLLUCBState(NamedTuple):
    """Sufficient statistics, and the second pull of a turn."""

    pulls: Array  # int32[], of all arms together
    arms: Counts
    pending: Array  # int32[], the arm that this turn still has to pull, -1 if there is none


class Turn(NamedTuple):
    """What the confidence bounds determine for a turn."""

    weakest: Array  # int32[], the arm of J with the lowest lower bound
    rival: Array  # int32[], the arm outside J with the highest upper bound
    apart: Array  # bool[], whether the two bounds are separated, which stops the run


@declare(
    question="confidence",
    rewards="of a known one-parameter family",
    cost="O(K) for m = 1, else O(K^2); one inversion of the divergence an arm",
    memory="O(K)",
)
def kl_lucb(
    num_arms: SeveralArms,
    *,
    m: M = 1,
    family: Family = "bernoulli",
    threshold: LevelName | None = None,
    delta: Delta = 0.05,
    epsilon: Epsilon = 0.0,
    sigma: FamilySigma = 1.0,
) -> Algorithm:
    """The m best arms of a one-parameter family, Kaufmann and Kalyanakrishnan 2013.

    Each turn pulls the weakest arm among the m empirically best (by lower bound) and its strongest rival (by upper
    bound). The run stops when the upper bound of the rival exceeds the lower bound of the weakest arm by less than
    epsilon. The bounds of arm a are the smallest and the largest y with n_a d(mean_a, y) <= level, where d is the
    family's divergence.

    Guarantee: The error rate is at most delta.

    In detail, for all thresholds except "heuristic", with probability at least 1 - delta the m recommended arms have
    means at most epsilon below the m-th best mean.

    Args:
      threshold: the level of the bounds, static. None is the smallest proved one: "kt" for Bernoulli rewards (only),
        "gauss" for Gaussian rewards (only), otherwise "kk"; see `arm_level`. "theory" is that of the paper, log x + log
        log x with x = 405.5 K t^1.1 / delta, and "heuristic" that of its experiments, without a proof.

    Raises:
      ValueError: the threshold is not available for the family.

    Source:
      Kaufmann and Kalyanakrishnan (2013), Information complexity in bandit subset selection, COLT, Algorithm 2 and
      Theorem 1.
    """
    law = family_of(family, sigma)

    def theory(log_union: Array, n: Array, t: Array) -> Array:
        x = math.log(FACTOR) + log_union + EXPONENT * log(as_float(t))
        return x + log(x)

    level = arm_level(threshold, num_arms, delta, law, theory)

    def init(key: Key) -> KLLUCBState:
        arms = statistics.init(num_arms, from_first=law.invariant)
        return KLLUCBState(jnp.zeros((), jnp.int32), arms, jnp.full((), -1, jnp.int32))

    def turn(state: KLLUCBState) -> Turn:
        n = jnp.maximum(state.arms.counts, 1)
        allowed = level.level(n, jnp.maximum(state.pulls, 1)) / as_float(n)
        if m == 1:
            weakest = argmax(state.arms.means)
            inside = jnp.arange(num_arms, dtype=jnp.int32) == weakest
            low = law.lower(get_at(state.arms.means, weakest), get_at(allowed, weakest))
        else:
            inside = gap_indices.ranks(state.arms.means, None) < m
            lower = law.lower(state.arms.means, allowed)
            weakest = argmax(jnp.where(inside, -lower, -jnp.inf))
            low = get_at(lower, weakest)
        upper = jnp.where(inside, -jnp.inf, law.upper(state.arms.means, allowed))
        return Turn(weakest, argmax(upper), jnp.max(upper) - low < as_float(epsilon))

    def starting(state: KLLUCBState) -> Array:
        return state.pulls < num_arms

    def select(noise: None, state: KLLUCBState, context: None) -> Choice:
        """Return the arm to pull, and its rival in the turn."""
        now = turn(state)
        arm = jnp.where(state.pending >= 0, state.pending, now.weakest)
        return Choice(jnp.where(starting(state), state.pulls, arm), now.rival)

    def update(state: KLLUCBState, context: None, choice: Choice, reward: Array) -> KLLUCBState:
        action, rival = choice
        arms, _ = statistics.update(state.arms, action, reward)
        pending = jnp.where((state.pending < 0) & ~starting(state), rival, -1)
        return KLLUCBState(state.pulls + 1, arms, pending)

    def recommend(state: KLLUCBState) -> Array:
        if m == 1:
            return argmax(state.arms.means)[None]
        return gap_indices.best_first(state.arms.means, m, None)

    def stop(state: KLLUCBState) -> Array:
        return ~starting(state) & (state.pending < 0) & turn(state).apart

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.arms.counts,
        recommend=recommend,
        stop=stop,
        promise=Promise(delta, epsilon, m, level.proved),
        arms=Arms(num_arms),
        rewards=law.rewards,
    )
