"""Track-and-Stop (Garivier, Kaufmann 2016): pulls that follow the shares that are optimal for the means seen so far.

Every arm is pulled at least about sqrt(t) times. The shares are solved for when the number of pulls has grown by a
factor, and not every round as in the paper: the means move by less than their own error in between.
"""

from typing import Literal, NamedTuple

import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.algorithms.best_arm import comparison as compare
from jaxbandit.algorithms.best_arm.comparison import ArmStatistics
from jaxbandit.algorithms.best_arm.unknown_variance import LawName, LawThreshold, comparison
from jaxbandit.base import Algorithm, Arms, Promise, Replan
from jaxbandit.numerics import argmax, as_float
from jaxbandit.types import Array, Key, Scalar


class TrackAndStopState(NamedTuple):
    """What is known of the arms, and the plan."""

    pulls: Array  # int32[], of all arms together
    arms: ArmStatistics
    weights: Array  # float[num_arms], the shares that are followed
    next: Array  # int32[], pulls at which they are solved for next
    targets: Array | None  # float[num_arms], 1 / num_arms and the shares of all rounds so far; None in D-tracking


def track_and_stop(
    num_arms: int,
    *,
    tracking: Literal["D", "C"] = "D",
    growth: Scalar = 1.01,
    family: LawName = "bernoulli",
    threshold: LawThreshold = "kt",
    delta: Scalar = 0.05,
    sigma: Scalar = 1.0,
) -> Algorithm:
    """Return Track-and-Stop, which finds the best arm of a one-parameter family with asymptotically fewest pulls.

    As delta tends to 0 its expected number of pulls is T* log(1/delta) to first order, T* that of `optimal_weights`,
    the least of any rule that errs with probability delta at most. The run stops when Z_bj exceeds its threshold for
    all arms j but the best empirical mean b, Z_bj the generalised likelihood ratio of the pair. With a proved threshold
    P(the answer is wrong) <= delta, whatever the pulls.

    An arm with at most sqrt(t) - K/2 pulls is pulled, if there is one. Else with w the shares that are optimal for the
    empirical means D-tracking pulls argmax (t w_a - n_a), and C-tracking argmax (c_a - n_a), c the sum of the shares of
    all rounds so far.

    Args:
      num_arms: number of arms, >= 2, static.
      tracking: "D" or "C", which takes more pulls; static.
      growth: by which factor pulls have grown when shares are solved for again, >= 1, traced; 1 solves every round, as
        the paper does, and costs more time. Five Bernoulli arms (0.3, 0.21, 0.2, 0.19, 0.18) took the same number
        of pulls with 1.01 up to 2 %, with 1.05 8 % more.
      family: of the rewards, "bernoulli", "gaussian", "poisson", "exponential", or "student": Gaussian rewards of
        unknown variances, one for each arm; static. Rewards in [0, 1] may be played as "bernoulli" ones, sub-Gaussian
        ones as "gaussian". "student" plays in float64 only.
      threshold: "heuristic" (not proved), "kk", "gauss" (of gaussian rewards) or "kt" (of bernoulli ones), see
        `pair_threshold`; of student ones "heuristic", "interval" (the best of the proved ones), "tbox" or "evbox", see
        `unknown_variance`; static.
      delta: allowed error rate, in (0, 1), traced.
      sigma: scale of gaussian rewards, > 0, traced; the other families do not read it.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[1]. It replans when
      the shares are due.

    Raises:
      ValueError: an argument is out of range, or the threshold is not one of the family.

    Source: Garivier, Kaufmann (2016), Optimal best arm identification with fixed confidence, COLT.
    """
    where = "track_and_stop"
    num_arms = checks.integer(where, "num_arms", num_arms, 2)
    checks.choice(where, "tracking", tracking, ("D", "C"))
    checks.number(where, "growth", growth, low=1.0)
    law = comparison(family, threshold, num_arms, delta, sigma, where=where)
    start = law.first * num_arms

    def init(key: Key) -> TrackAndStopState:
        uniform = jnp.ones(num_arms) / num_arms
        return TrackAndStopState(
            pulls=jnp.zeros((), jnp.int32),
            arms=compare.nothing_seen(law, num_arms),
            weights=uniform,
            next=jnp.full((), start, jnp.int32),
            targets=uniform if tracking == "C" else None,
        )

    def due(state: TrackAndStopState) -> Array:
        return state.pulls >= state.next

    def replan(state: TrackAndStopState) -> TrackAndStopState:
        later = jnp.minimum(as_float(state.pulls) * as_float(growth), 2.0**30).astype(jnp.int32)
        return state._replace(weights=law.weights(state.arms), next=jnp.maximum(state.pulls + 1, later))

    def select(noise: None, state: TrackAndStopState, context: None) -> Array:
        counts, t = as_float(state.arms.counts), as_float(state.pulls)
        wanted = t * state.weights if state.targets is None else state.targets + state.weights
        starved = jnp.min(counts) <= jnp.maximum(jnp.sqrt(t) - num_arms / 2, 0.0)
        tracked = argmax(jnp.where(starved, 0.0, wanted) - counts)
        return jnp.where(state.pulls < start, state.pulls % num_arms, tracked)

    def update(state: TrackAndStopState, context: None, action: Array, reward: Array) -> TrackAndStopState:
        targets = state.targets
        if targets is not None:
            targets = jnp.where(state.pulls < start, targets, targets + state.weights)
        return state._replace(
            pulls=state.pulls + 1, arms=compare.seen(law, state.arms, action, reward), targets=targets
        )

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.arms.counts,
        recommend=lambda state: argmax(state.arms.means)[None],
        stop=lambda state: compare.separated(law, state.arms, state.pulls),
        replan=Replan(due, replan),
        verify=None if law.squares else lambda state: compare.verified(law, state.arms, state.pulls),
        promise=Promise(delta, proved=law.proved),
        arms=Arms(num_arms),
        rewards=law.rewards,
        name=where,
    )
