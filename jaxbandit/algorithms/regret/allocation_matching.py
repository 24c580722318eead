"""What oam and ossb share: estimated gaps, the allocation that the pulls follow, and when it is solved again.

Vectors over all arms of all contexts are flat, as in action_sets.py. Arms with equal features share their pulls.
"""

from typing import Any

import jax.numpy as jnp

from jaxbandit.algorithms.regret import action_sets
from jaxbandit.algorithms.regret.action_sets import TIE, ActionSets, Start
from jaxbandit.base import Choice
from jaxbandit.estimators import recursive_least_squares as estimator
from jaxbandit.numerics import as_float, get_at, set_at
from jaxbandit.solvers.allocation import BEST, allocation
from jaxbandit.types import Array, Scalar

SHARE_LEAST = 1e-8  # an arm with a smaller share of the cost is not part of the allocation


def tie() -> float:
    """What counts as equal, relatively: 1e-9, or in float32 some roundings.

    T of the runner-up equals the cap of the targets exactly where two dimensions meet one best arm.
    """
    return max(TIE, 16 * float(jnp.finfo(jnp.result_type(float)).eps))


def real_in_set(sets: ActionSets, context: Array | None) -> Array:
    """Which arms of the round's set are not padding, bool[num_arms]."""
    if sets.mask is None:
        return jnp.ones(sets.features.shape[1], bool)
    return action_sets.in_set(sets, context, jnp.asarray(sets.mask))


def init_fields(sets: ActionSets, num_kinds: int) -> dict[str, Any]:
    """What the states of both algorithms begin with."""
    zero = jnp.zeros((), jnp.int32)
    return {
        "round": zero + 1,
        "estimate": estimator.init(sets.dim),
        "counts": jnp.zeros(sets.size, jnp.int32),
        "start": action_sets.init_start(sets),
        # Pulls per feature vector; the start of several sets counts them already.
        "shared": action_sets.init_vector_pulls(sets) if sets.features.shape[0] == 1 else None,
        "kinds": jnp.zeros(num_kinds, jnp.int32),
        "targets": jnp.zeros(sets.size),
        "solved": zero,
        "logdet": jnp.zeros(()),
    }


def updated(sets: ActionSets, state: Any, context: Array | None, choice: Choice, reward: Array) -> Any:
    """The state after a round; the choice tells its kind."""
    action, kind = choice
    index = action_sets.flat_index(sets, context, action)
    return state._replace(
        round=state.round + 1,
        estimate=estimator.update(state.estimate, action_sets.row(sets, context, action), as_float(reward)),
        counts=set_at(state.counts, index, get_at(state.counts, index) + 1),
        start=action_sets.count_start(state.start, index),
        shared=None if state.shared is None else action_sets.count_start(state.shared, index),
        kinds=set_at(state.kinds, kind, get_at(state.kinds, kind) + 1),
    )


def is_due(state: Any, zeta: Scalar) -> Array:
    """Whether the allocation must be solved before this round: det G has grown by 1 + zeta since, or never was it.

    Up to tie(): at integer counts the determinant often is exactly 1 + zeta times what it was.
    """
    full = state.estimate.rank == state.estimate.theta.shape[0]
    grown = state.estimate.logdet >= state.logdet + jnp.log1p(as_float(zeta)) - tie()
    return full & (state.solved < state.round) & ((state.solved == 0) | grown)


def solved(state: Any, targets: Array) -> Any:
    """The state with the targets of its round."""
    return state._replace(targets=targets, solved=state.round, logdet=state.estimate.logdet)


def vector_pulls(state: Any) -> Start:
    """Pulls per feature vector, flat, and its owners."""
    return state.start if state.shared is None else state.shared


def gaps(sets: ActionSets, means: Array) -> Array:
    """How far each arm is below the best of its context, flat; 0 up to BEST and for padding."""
    table = means.reshape(sets.features.shape[:2])
    real = table if sets.mask is None else jnp.where(sets.mask, table, -jnp.inf)
    below = jnp.max(real, 1, keepdims=True) - table
    below = below if sets.mask is None else jnp.where(sets.mask, below, 0.0)
    return jnp.where(below > BEST, below, 0.0).reshape(-1)


def targets(sets: ActionSets, gaps: Array, level: Array) -> Array:
    """The least costly pulls that tell the best arms at this level, flat; 0 for arms of gap 0."""
    mask = None if sets.mask is None else jnp.asarray(sets.mask).reshape(-1)
    found = allocation(action_sets.all_rows(sets), gaps, level, mask=mask)
    pulls = jnp.where(gaps > 0, found.pulls, 0.0)
    return jnp.where(pulls * gaps > SHARE_LEAST * found.cost, pulls, 0.0)


def lag(pulls: Array, target: Array) -> Array:
    """Pulls over their target; inf where the target is 0."""
    return jnp.where(target > 0, pulls / jnp.where(target > 0, target, 1.0), jnp.inf)
