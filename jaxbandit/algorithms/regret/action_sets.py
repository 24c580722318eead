"""Known action sets of a linear problem: lookup by context, the initial spanning pulls, and the best arm of a set.

Features are float[num_arms, dim] for a single action set without contexts, or float[num_contexts, num_arms, dim] for
one set per context. Initial pulls follow Hao, Lattimore and Szepesvari (2020), OAM, item 1, except that dim rounds need
not suffice: as long as the pulled arms do not span R^dim, the lowest-numbered arm of the round's set outside their span
is pulled, and if there is none, the least pulled arm of the set.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit.base.contract import Arms
from jaxbandit.support import checks
from jaxbandit.support.numerics import argmax, as_float, get_at, weighted_sum
from jaxbandit.support.types import Array
from jaxbandit.theory.estimators import recursive_least_squares
from jaxbandit.theory.estimators.recursive_least_squares import RecursiveLeastSquares

TIE = 1e-9  # scores within this relative distance of the largest are tied, and the lowest-numbered arm wins


class ActionSets(NamedTuple):
    """The action sets. In flattened vectors, entry num_arms * m + a belongs to arm a of context m."""

    features: Any  # float[num_contexts, num_arms, dim], float64 NumPy if concrete
    mask: np.ndarray | None  # bool[num_contexts, num_arms], False for padding; None if there is no padding

    @property
    def size(self) -> int:
        """Total number of arms over all contexts, padding included."""
        return self.features.shape[0] * self.features.shape[1]

    @property
    def arms(self) -> Arms:
        """The action space as the engine needs it. With a single set there is no context number."""
        num_contexts, num_arms, _ = self.features.shape
        return Arms(num_arms, num_contexts=num_contexts if num_contexts > 1 else None)

    @property
    def dim(self) -> int:
        """Dimension of the features."""
        return self.features.shape[2]


class Start(NamedTuple):
    """The state of the initial spanning pulls: an order for a single set, else pulls per distinct feature vector."""

    order: Any  # int32[dim], arms of the first rounds
    owners: Any  # int32[size], lowest flat index with an equal vector
    pulls: Any  # int32[size], pulls of the arm's feature vector, through any arm of any context that has it


def action_sets(features: Array, mask: np.ndarray | None, *, spanning: bool) -> ActionSets:
    """Validate the features and the mask that an algorithm was given, and return its action sets.

    Args:
      mask: bool with the leading axes of features, concrete; False marks padding. None means that there is no padding.
      spanning: whether all arms together (without padding) must span R^dim.
    """
    features, mask = checks.action_sets("features", features, mask)
    if features.ndim == 2:
        features, mask = features[None], None if mask is None else mask[None]
    if spanning and isinstance(features, np.ndarray):
        rows = features.reshape(-1, features.shape[2]) if mask is None else features[mask]
        rank, dim = int(np.linalg.matrix_rank(rows)), features.shape[2]
        if rank < dim:
            raise ValueError(f"features span {rank} of {dim} dimensions, must together span all of them")
    return ActionSets(features, mask)


def round_rows(sets: ActionSets, context: Array | None) -> Array:
    """Return the features of the round's set, float[num_arms, dim]."""
    return as_float(sets.features[0]) if _single(sets) else _of_context(as_float(sets.features), context)


def all_rows(sets: ActionSets) -> Array:
    """Return the features of all arms, float[size, dim]."""
    return as_float(sets.features).reshape(sets.size, sets.dim)


def row(sets: ActionSets, context: Array | None, action: Array) -> Array:
    """Return the features of one arm of the round's set, float[dim]."""
    return lax.dynamic_index_in_dim(all_rows(sets), flat_index(sets, context, action), 0, keepdims=False)


def in_set(sets: ActionSets, context: Array | None, flat: Array) -> Array:
    """Return the entries of a flattened vector that belong to the round's set, [num_arms]."""
    table = flat.reshape(sets.features.shape[:2])
    return table[0] if _single(sets) else _of_context(table, context)


def flat_index(sets: ActionSets, context: Array | None, action: Array) -> Array:
    """Return the index, among all arms of all contexts, of an arm of the round's set, int32[]."""
    return action if _single(sets) else context * sets.features.shape[1] + action


def best_of_set(sets: ActionSets, context: Array | None, scores: Array, tie: float = TIE) -> Array:
    """Return the lowest-numbered arm of the round's set whose score is tied, relative to `tie`, with the largest."""
    real = _real(sets, context)
    scores = scores if real is None else jnp.where(real, scores, -jnp.inf)
    scores = lax.optimization_barrier(scores)  # computed once and stored; XLA would recompute them for the second pass
    largest = jnp.max(scores)
    arms = jnp.arange(scores.shape[0], dtype=jnp.int32)
    return jnp.min(jnp.where(scores >= largest - tie * jnp.abs(largest), arms, scores.shape[0] - 1))


def init_start(sets: ActionSets) -> Start:
    """Return the state before the first pull."""
    return Start(_spanning_order(sets), None, None) if _single(sets) else init_vector_pulls(sets)


def init_vector_pulls(sets: ActionSets) -> Start:
    """Return the pull counts per distinct feature vector before the first pull."""
    rows = all_rows(sets)
    owners = jnp.argmax(jnp.all(rows[:, None] == rows[None], axis=2), axis=1).astype(jnp.int32)
    return Start(None, owners, jnp.zeros(sets.size, jnp.int32))


def count_start(start: Start, index: Array) -> Start:
    """Return the state after one more pull of the arm with this flat index."""
    if start.pulls is None:
        return start
    same = start.owners == get_at(start.owners, index)
    return start._replace(pulls=start.pulls + same.astype(jnp.int32))


def with_start(
    sets: ActionSets, start: Start, estimate: RecursiveLeastSquares, context: Array | None, scores: Array
) -> Array:
    """Return the scores of the round's arms, float[num_arms], or scores that select the next initial pull.

    The initial pulls end when the arms pulled span R^dim; `estimate` is the least-squares estimate so far.
    """
    arms = jnp.arange(scores.shape[0], dtype=jnp.int32)
    if start.pulls is None:
        # Each arm of the order adds a dimension, so the rank is the position in it. The round number would not do:
        # with delayed feedback it runs ahead of the rewards.
        first = get_at(start.order, jnp.minimum(estimate.rank, sets.dim - 1))
        return jnp.where(estimate.rank < sets.dim, as_float(arms == first), scores)
    outside, real = recursive_least_squares.residuals(estimate, round_rows(sets, context)) > 0, _real(sets, context)
    outside = outside if real is None else outside & real
    begin = jnp.where(jnp.any(outside), as_float(outside), -as_float(in_set(sets, context, start.pulls)))
    return jnp.where(estimate.rank < sets.dim, begin, scores)


def _spanning_order(sets: ActionSets) -> Array:
    """Return the order of the initial pulls of a single set, int32[dim]; it depends on the features alone."""
    rows, real = round_rows(sets, None), _real(sets, None)
    arms = jnp.arange(rows.shape[0], dtype=jnp.int32)
    least = recursive_least_squares.tolerance() ** 2 * jnp.sum(rows * rows, 1)

    def outside(left: Array, candidates: Array) -> Array:
        return candidates & (jnp.sum(left * left, 1) > least)

    def searching(carry: tuple[RecursiveLeastSquares, Array, Array, Array]) -> Array:
        estimate, left, candidates, _ = carry
        return (estimate.rank < sets.dim) & jnp.any(outside(left, candidates))

    def pull(carry: tuple[RecursiveLeastSquares, Array, Array, Array]) -> Any:
        estimate, left, candidates, order = carry
        arm = argmax(outside(left, candidates))
        x = get_at(rows, arm)
        beyond, length = recursive_least_squares.direction(estimate, x)
        after = recursive_least_squares.update(estimate, x, jnp.zeros(()))
        along = weighted_sum(left, beyond / jnp.where(length > 0, length, 1.0), 1) * as_float(length > 0)
        left = left - along[:, None] * beyond[None]
        order = jnp.where(jnp.arange(sets.dim, dtype=jnp.int32) == estimate.rank, arm, order)
        return after, left, candidates & (arms != arm), order

    candidates = jnp.ones(rows.shape[0], bool) if real is None else real
    start = recursive_least_squares.init(sets.dim), rows, candidates, jnp.zeros(sets.dim, jnp.int32)
    return lax.while_loop(searching, pull, start)[3]


def _single(sets: ActionSets) -> bool:
    return sets.features.shape[0] == 1


def _real(sets: ActionSets, context: Array | None) -> Array | None:
    """Return which arms of the round's set are not padding, bool[num_arms], or None if none is padding."""
    if sets.mask is None:
        return None
    return jnp.asarray(sets.mask[0]) if _single(sets) else _of_context(jnp.asarray(sets.mask), context)


def _of_context(table: Array, context: Array | None) -> Array:
    """Return table[context], looked up as one row of a matrix, for which the engine has a fast path."""
    if context is None:
        raise ValueError("features of several contexts need an environment with contexts, such as linear_contextual")
    flat = lax.dynamic_index_in_dim(table.reshape(table.shape[0], -1), context, 0, keepdims=False)
    return flat.reshape(table.shape[1:])
