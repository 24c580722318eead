"""What OAM and OSSB share: estimated gaps, the optimal allocation that the pulls track, and when to solve for it again.

Vectors over all arms of all contexts are flattened as in action_sets.py. Arms with equal features share their pulls.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from jaxbandit.algorithms.regret import action_sets
from jaxbandit.algorithms.regret.action_sets import TIE, ActionSets, Start
from jaxbandit.base.contract import Algorithm, Choice, Context, Phases, Replan, Rewards
from jaxbandit.support.numerics import add_at, as_float
from jaxbandit.support.types import Array, Key, Scalar
from jaxbandit.theory.estimators import recursive_least_squares as estimator
from jaxbandit.theory.solvers.allocation import BEST, allocation

SHARE_LEAST = 1e-8  # an arm that accounts for less than this share of the cost is left out of the allocation


def tie() -> float:
    """Return the relative tolerance within which two values count as equal: 1e-9, or more in float32."""
    return max(TIE, 16 * float(jnp.finfo(jnp.result_type(float)).eps))


def real_in_set(sets: ActionSets, context: Array | None) -> Array:
    """Return which arms of the round's set are not padding, bool[num_arms]."""
    if sets.mask is None:
        return jnp.ones(sets.features.shape[1], bool)
    return action_sets.in_set(sets, context, jnp.asarray(sets.mask))


def init_fields(sets: ActionSets, num_kinds: int) -> dict[str, Any]:
    """Return the initial values of the state fields that both algorithms have."""
    zero = jnp.zeros((), jnp.int32)
    return {
        "round": zero + 1,
        "estimate": estimator.init(sets.dim),
        "counts": jnp.zeros(sets.size, jnp.int32),
        "start": action_sets.init_start(sets),
        # Pulls per feature vector. With several sets, `start` counts them already.
        "shared": action_sets.init_vector_pulls(sets) if sets.features.shape[0] == 1 else None,
        "kinds": jnp.zeros(num_kinds, jnp.int32),
        "targets": jnp.zeros(sets.size),
        "solved": zero,
        "logdet": jnp.zeros(()),
    }


def matching_policy(
    sets: ActionSets,
    kinds: tuple[str, ...],
    init: Callable[[Key], Any],
    goal: Callable[[Any], Array],
    select: Callable[[None, Any, Context], Choice],
    update: Callable[[Any, Context, Choice, Array], Any],
    *,
    zeta: Scalar,
    sigma: Scalar,
) -> Algorithm:
    """Return the policy whose rounds are of these kinds, and whose targets `goal` solves from the state when due."""

    def replan(state: Any) -> Any:
        return state._replace(targets=goal(state), solved=state.round, logdet=state.estimate.logdet)

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        phases=Phases(kinds, lambda state: state.kinds),
        replan=Replan(lambda state: is_due(state, zeta), replan),
        arms=sets.arms,
        rewards=Rewards(sigma=sigma),
    )


def updated(sets: ActionSets, state: Any, context: Array | None, choice: Choice, reward: Array) -> Any:
    """Return the state after a round. The choice carries the kind of the round."""
    action, kind = choice
    index = action_sets.flat_index(sets, context, action)
    return state._replace(
        round=state.round + 1,
        estimate=estimator.update(state.estimate, action_sets.row(sets, context, action), as_float(reward)),
        counts=add_at(state.counts, index, 1),
        start=action_sets.count_start(state.start, index),
        shared=None if state.shared is None else action_sets.count_start(state.shared, index),
        kinds=add_at(state.kinds, kind, 1),
    )


def is_due(state: Any, zeta: Scalar) -> Array:
    """Return whether the allocation must be solved before this round.

    It must if it has never been solved, or if det G has grown by the factor 1 + zeta since, up to tie().
    """
    full = state.estimate.rank == state.estimate.theta.shape[0]
    grown = state.estimate.logdet >= state.logdet + jnp.log1p(as_float(zeta)) - tie()
    return full & (state.solved < state.round) & ((state.solved == 0) | grown)


def vector_pulls(state: Any) -> Start:
    """Return the pulls per feature vector, flattened, together with the index that owns each vector."""
    return state.start if state.shared is None else state.shared


def gaps(sets: ActionSets, means: Array) -> Array:
    """Return each arm's gap to the best arm of its context, flattened; 0 for gaps of at most BEST and for padding."""
    table = means.reshape(sets.features.shape[:2])
    real = table if sets.mask is None else jnp.where(sets.mask, table, -jnp.inf)
    below = jnp.max(real, 1, keepdims=True) - table
    below = below if sets.mask is None else jnp.where(sets.mask, below, 0.0)
    return jnp.where(below > BEST, below, 0.0).reshape(-1)


def targets(sets: ActionSets, gaps: Array, level: Array) -> Array:
    """Return the cheapest pulls that identify the best arms at this level, flattened; 0 for arms whose gap is 0."""
    mask = None if sets.mask is None else jnp.asarray(sets.mask).reshape(-1)
    cheapest = allocation(action_sets.all_rows(sets), gaps, level, mask=mask)
    pulls = jnp.where(gaps > 0, cheapest.pulls, 0.0)
    return jnp.where(pulls * gaps > SHARE_LEAST * cheapest.cost, pulls, 0.0)


def lag(pulls: Array, target: Array) -> Array:
    """Return pulls divided by their target, which is inf where the target is 0."""
    return jnp.where(target > 0, pulls / jnp.where(target > 0, target, 1.0), jnp.inf)
