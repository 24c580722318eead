"""What oam and ossb share: estimated gaps, the allocation that the pulls follow, and when it is solved again.

Vectors over all arms of all contexts are flat, as in action_sets.py. Arms with equal features share their pulls.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit.algorithms.regret.action_sets import TIE, ActionSets, Start
from jaxbandit.estimators.recursive_least_squares import RecursiveLeastSquares
from jaxbandit.numerics import as_float
from jaxbandit.solvers.allocation import allocation
from jaxbandit.types import Array, Scalar

GAP_LEAST = 1e-12  # an arm whose gap is not above counts as a best one
SHARE_LEAST = 1e-8  # an arm with a smaller share of the cost is not part of the allocation


def rows_of(sets: ActionSets) -> Array:
    """Features of all arms, float[size, dim]."""
    return as_float(sets.features).reshape(sets.size, sets.dim)


def in_set(sets: ActionSets, context: Array | None, flat: Array) -> Array:
    """The entries of a flat vector that belong to the round's set, [num_arms]."""
    table = flat.reshape(sets.features.shape[:2])
    if context is None or table.shape[0] == 1:
        return table[0]
    return lax.dynamic_index_in_dim(table, context, 0, keepdims=False)


def real_in_set(sets: ActionSets, context: Array | None) -> Array:
    """Which arms of the round's set are not padding, bool[num_arms]."""
    if sets.mask is None:
        return jnp.ones(sets.features.shape[1], bool)
    return in_set(sets, context, jnp.asarray(sets.mask))


def init_shared(sets: ActionSets) -> Start | None:
    """Pulls per feature vector of one set; None if counts or, of several sets, the start tell them already."""
    rows = sets.features.reshape(sets.size, sets.dim)
    distinct = isinstance(rows, np.ndarray) and len(np.unique(rows, axis=0)) == sets.size
    if sets.features.shape[0] > 1 or distinct:
        return None
    owners = jnp.argmax(jnp.all(rows[:, None] == rows[None], axis=2), axis=1).astype(jnp.int32)
    return Start(None, owners, jnp.zeros(sets.size, jnp.int32))


def vector_pulls(state: Any) -> Start:
    """Pulls per feature vector, flat, of a state with counts, start and shared; owners is None where none is shared."""
    if state.shared is not None:
        return state.shared
    return state.start if state.start.pulls is not None else Start(None, None, state.counts)


def gaps(sets: ActionSets, means: Array) -> Array:
    """How far each arm is below the best of its context, flat; 0 up to GAP_LEAST and for padding."""
    table = means.reshape(sets.features.shape[:2])
    real = table if sets.mask is None else jnp.where(sets.mask, table, -jnp.inf)
    below = jnp.max(real, 1, keepdims=True) - table
    below = below if sets.mask is None else jnp.where(sets.mask, below, 0.0)
    return jnp.where(below > GAP_LEAST, below, 0.0).reshape(-1)


def targets(sets: ActionSets, gaps: Array, level: Array) -> Array:
    """The least costly pulls that tell the best arms at this level, flat; 0 for arms of gap 0."""
    mask = None if sets.mask is None else jnp.asarray(sets.mask).reshape(-1)
    found = allocation(rows_of(sets), gaps, level, mask=mask)
    pulls = jnp.where(gaps > 0, found.pulls, 0.0)
    return jnp.where(pulls * gaps > SHARE_LEAST * found.cost, pulls, 0.0)


def is_due(estimate: RecursiveLeastSquares, round: Array, solved: Array, logdet: Array, zeta: Scalar) -> Array:
    """Whether the allocation, last solved in round `solved` (0: never) at `logdet`, must be solved before this round.

    Up to TIE: at integer counts the determinant often is exactly 1 + zeta times what it was.
    """
    dim = estimate.theta.shape[0]
    grown = estimate.logdet >= logdet + jnp.log1p(as_float(zeta)) - TIE
    return (estimate.rank == dim) & (solved < round) & ((solved == 0) | grown)


def lag(pulls: Array, target: Array) -> Array:
    """Pulls over their target; inf where the target is 0."""
    return jnp.where(target > 0, pulls / jnp.where(target > 0, target, 1.0), jnp.inf)
