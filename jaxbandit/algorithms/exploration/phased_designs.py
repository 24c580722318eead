"""The common frame of XY-adaptive and RAGE: phases with a design for the arms still active, and new estimates in each.

Pulls of a phase are requested as one batch; at its end, replanning eliminates arms and solves for the next design. Arms
whose features equal those of an earlier arm are never active, because no sample can distinguish them. Where one of the
candidates is recommended in place of an arm, they are what is active or eliminated.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxbandit.algorithms.exploration import tracking
from jaxbandit.base.batches import Batch
from jaxbandit.base.contract import Algorithm, Arms, Promise, Replan, Rewards
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, Key, Scalar
from jaxbandit.theory.estimators import counts as estimator
from jaxbandit.theory.estimators.counts import Counts


class PhasedState(NamedTuple):
    """The current phase, with its design and its observations."""

    counts: Array  # int[num_arms], pulls in all phases
    phase: Array  # int32[], from 1
    active: Array  # bool[num_arms], or of candidates, what is not yet eliminated; the run is over when one is left
    leader: Array  # int32[], the empirically best of them at the end of the last phase
    precision: Array  # float[], the largest y' A^-1 y over active differences y at the end of the last phase
    weights: Array  # float[num_arms], the design, on the simplex
    length: Array  # int[], number of pulls of the phase
    arms: Counts  # of the phase so far; counts are int[num_arms]

    @property
    def phase_counts(self) -> Array:
        """Pulls in the phase so far, int[num_arms]."""
        return self.arms.counts

    @property
    def means(self) -> Array:
        """Mean rewards in the phase, float[num_arms], 0 where never pulled."""
        return self.arms.means


Plan = Callable[[Array, Array, Array], tuple[Array, Array]]
Eliminate = Callable[[PhasedState], tuple[Array, Array, Array]]


def phased_design(
    features: Array,
    precision: float,
    plan: Plan,
    eliminate: Eliminate,
    *,
    delta: Scalar,
    sigma: Scalar,
    candidates: Array | None = None,
) -> Algorithm:
    """Return the algorithm with these parts.

    Args:
      plan: function from active, phase and precision to the weights and the length >= 1 of a phase, after which its
        least-squares estimate exists.
      eliminate: function from the state at the end of a phase to the arms active next, the leader and the precision.
      candidates: float[num_candidates, dim], which are active in place of the arms; None for the arms.
    """
    num_arms = features.shape[0]
    items = features if candidates is None else candidates

    def begin(counts: Array, phase: Array, active: Array, leader: Array, precision: Array) -> PhasedState:
        weights, length = plan(active, phase, precision)
        arms = estimator.init(num_arms, dtype=int)
        return PhasedState(counts, phase, active, leader, precision, weights, length, arms)

    def init(key: Key) -> PhasedState:
        one, zero = jnp.ones((), jnp.int32), jnp.zeros((), jnp.int32)
        return begin(jnp.zeros(num_arms, int), one, ~repeats(items), zero, as_float(precision))

    def due(state: PhasedState) -> Array:
        return jnp.sum(state.phase_counts, dtype=state.length.dtype) >= state.length

    def replan(state: PhasedState) -> PhasedState:
        active, leader, precision = eliminate(state)
        return begin(state.counts, state.phase + 1, active, leader, precision)

    def select(noise: None, state: PhasedState, context: None) -> Array:
        return tracking.next_arm(state.weights, state.phase_counts)

    def update(state: PhasedState, context: None, action: Array, reward: Array) -> PhasedState:
        arms, _ = estimator.update(state.arms, action, reward)
        return state._replace(counts=state.counts + (arms.counts - state.phase_counts), arms=arms)

    def rest(state: PhasedState) -> Array:
        return tracking.followed(state.weights, state.phase_counts, state.length) - state.phase_counts

    def absorb(state: PhasedState, pulls: Array, sums: Array) -> PhasedState:
        return state._replace(counts=state.counts + pulls, arms=estimator.add(state.arms, pulls, sums))

    def stop(state: PhasedState) -> Array:
        return jnp.sum(state.active, dtype=jnp.int32) <= 1

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        recommend=lambda state: state.leader[None],
        stop=stop,
        replan=Replan(due, replan),
        batch=Batch(rest, absorb),
        survivors=None if candidates is not None else lambda state: state.active,
        promise=Promise(delta),
        arms=Arms(num_arms, num_candidates=None if candidates is None else candidates.shape[0]),
        rewards=Rewards(sigma=sigma),
        assumptions=("the means are linear in the features",),
    )


def same_features(features: Array) -> Array:
    """Return which pairs of arms have equal features, bool[num_arms, num_arms]."""
    x = as_float(features)
    return jnp.all(x[:, None] == x[None], -1)


def repeats(features: Array) -> Array:
    """Return which arms have the same features as an earlier arm, bool[num_arms]."""
    earlier = np.tri(features.shape[0], k=-1, dtype=bool)
    return jnp.any(same_features(features) & earlier, 1)


def active_pairs(active: Array) -> Array:
    """Return which rows of `pair_differences` are between two active arms, bool[pairs]."""
    first, second = np.triu_indices(active.shape[0], 1)
    return active[first] & active[second]


def whole(length: Array) -> Array:
    """Return a number of pulls, float[] >= 0, rounded up to int[]."""
    return jnp.minimum(jnp.ceil(length), tracking.longest()).astype(int)
