"""Track-and-Stop (Garivier and Kaufmann 2016): pulls track the proportions that are optimal for the empirical means.

Difference from the paper: the proportions are solved again when the number of pulls has grown by a factor, and not in
every round.
"""

from typing import Literal, NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.best_arm import comparison as compare
from jaxbandit.algorithms.best_arm.comparison import ArmStatistics
from jaxbandit.algorithms.best_arm.unknown_variance import LawName, LawThreshold, comparison
from jaxbandit.base.arguments import AtLeastOne, Delta, FamilySigma, SeveralArms
from jaxbandit.base.contract import Algorithm, Replan
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import argmax, as_float, kahan_pair
from jaxbandit.support.types import Array, Key


class TrackAndStopState(NamedTuple):
    """What is known about the arms, and the current plan."""

    pulls: Array  # int32[], of all arms together
    arms: ArmStatistics
    weights: Array  # float[num_arms], the proportions that the pulls track
    next: Array  # int32[], number of pulls at which they are solved again
    # float[2, num_arms], 1 / num_arms plus the proportions of all rounds, and the rounding error; None with D-tracking
    targets: Array | None


@declare(
    question="confidence",
    rewards="of a known one-parameter family, or Gaussian with unknown variances",
    cost="O(K), and the optimal shares when pulls have grown by 1 %",
    memory="O(K)",
    tries={"growth": (1.0, 1.1)},
)
def track_and_stop(
    num_arms: SeveralArms,
    *,
    tracking: Literal["D", "C"] = "D",
    growth: AtLeastOne = 1.01,
    family: LawName = "bernoulli",
    threshold: LawThreshold | None = None,
    delta: Delta = 0.05,
    sigma: FamilySigma = 1.0,
) -> Algorithm:
    """Tracks the optimal proportions of pulls, Garivier and Kaufmann 2016.

    An arm with at most sqrt(t) - K/2 pulls is pulled if there is one. Otherwise let w be the proportions that are
    optimal for the empirical means: D-tracking pulls the arm with the largest t w_a - n_a, and C-tracking the one with
    the largest c_a - n_a, where c is the sum of the proportions of all rounds so far. The run stops when the
    generalized likelihood ratio statistic Z_bj of the arm b with the best empirical mean exceeds its threshold for all
    other arms j.

    Guarantee: The error rate is at most delta; for 0 or 1 rewards or the named family, with growth = 1, the expected
    number of pulls is asymptotically optimal as delta tends to 0 (Garivier and Kaufmann 2016).

    In detail, the error rate holds with a proved threshold, and the optimal number is to first order the characteristic
    time (see `optimal_weights`) times log(1/delta).

    Args:
      tracking: "D", or "C", which needs more pulls.
      growth: factor by which the number of pulls grows before the proportions are solved again. 1 solves in every
        round, as the paper does, at a higher cost.
      family: family of the reward distributions, "bernoulli", "gaussian", "poisson", "exponential", or "student" for
        Gaussian rewards with an unknown variance per arm; static. "bernoulli" is also valid for any rewards in [0, 1],
        and "gaussian" for sub-Gaussian rewards. "student" runs in float64 only.
      threshold: static. None is the smallest proved one: "kt" for Bernoulli rewards (only), "gauss" for Gaussian
        rewards (only), otherwise "kk", see `pair_threshold`; and "interval" for student rewards, whose others are
        "tbox" and "evbox", see `unknown_variance`. "heuristic" has no proof.

    Returns:
      It replans when the proportions are due to be solved again.

    Raises:
      ValueError: the threshold is not available for the family.

    Source:
      Garivier and Kaufmann (2016), Optimal best arm identification with fixed confidence, COLT.
    """
    law = comparison(family, threshold, num_arms, delta, sigma)
    start = law.first * num_arms

    def init(key: Key) -> TrackAndStopState:
        uniform = jnp.ones(num_arms) / num_arms
        return TrackAndStopState(
            pulls=jnp.zeros((), jnp.int32),
            arms=compare.nothing_seen(law, num_arms),
            weights=uniform,
            next=jnp.full((), start, jnp.int32),
            targets=jnp.stack([uniform, jnp.zeros(num_arms)]) if tracking == "C" else None,
        )

    def due(state: TrackAndStopState) -> Array:
        return state.pulls >= state.next

    def replan(state: TrackAndStopState) -> TrackAndStopState:
        later = jnp.minimum(as_float(state.pulls) * as_float(growth), 2.0**30).astype(jnp.int32)
        return state._replace(weights=law.weights(state.arms), next=jnp.maximum(state.pulls + 1, later))

    def select(noise: None, state: TrackAndStopState, context: None) -> Array:
        counts, t = as_float(state.arms.counts), as_float(state.pulls)
        wanted = t * state.weights if state.targets is None else state.targets[0] + state.weights
        starved = jnp.min(counts) <= jnp.maximum(jnp.sqrt(t) - num_arms / 2, 0.0)
        tracked = argmax(jnp.where(starved, 0.0, wanted) - counts)
        return jnp.where(state.pulls < start, state.pulls % num_arms, tracked)

    def update(state: TrackAndStopState, context: None, action: Array, reward: Array) -> TrackAndStopState:
        targets = state.targets
        if targets is not None:
            targets = jnp.where(state.pulls < start, targets, kahan_pair(targets, state.weights))
        return state._replace(
            pulls=state.pulls + 1, arms=compare.seen(law, state.arms, action, reward), targets=targets
        )

    return compare.identification(
        law, num_arms, delta, init=init, select=select, update=update, replan=Replan(due, replan)
    )
