"""Known action sets of a linear problem: lookups by context, the start that spans R^dim, and the best of a set.

Features are float[num_arms, dim], one set and no context, or float[num_contexts, num_arms, dim], a set a context. The
start is item 1 of Algorithm 1 of Hao, Lattimore and Szepesvari 2020 (OAM), which differs in that d rounds need not
suffice: while the arms pulled do not span R^dim, pull the set's lowest arm outside their span, else its least pulled.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit import checks
from jaxbandit.base import Arms
from jaxbandit.estimators import recursive_least_squares
from jaxbandit.estimators.recursive_least_squares import RecursiveLeastSquares
from jaxbandit.numerics import as_float, get_at
from jaxbandit.types import Array

TIE = 1e-9  # of the largest score: scores so near to it are tied, and the lowest arm goes first


class ActionSets(NamedTuple):
    """The sets; entry num_arms m + a of what is flat belongs to arm a of context m."""

    features: Any  # float[num_contexts, num_arms, dim], float64 NumPy if concrete
    mask: np.ndarray | None  # bool[num_contexts, num_arms], False for padding; None: there is none

    @property
    def size(self) -> int:
        """Number of arms of all contexts together, padding included."""
        return self.features.shape[0] * self.features.shape[1]

    @property
    def arms(self) -> Arms:
        """What an action is; one set needs no number."""
        num_contexts, num_arms, _ = self.features.shape
        return Arms(num_arms, num_contexts=num_contexts if num_contexts > 1 else None)

    @property
    def dim(self) -> int:
        """Dimension of the features."""
        return self.features.shape[2]


class Start(NamedTuple):
    """What the start needs: the order for one set, else pulls per feature vector, shared between contexts."""

    order: Any  # int32[dim], arms of the first rounds
    owners: Any  # int32[size], lowest flat index with an equal vector
    pulls: Any  # int32[size], of the arm's vector, whichever of its owners was pulled


def action_sets(where: str, features: Array, mask: np.ndarray | None, *, spanning: bool) -> ActionSets:
    """Return the sets of an algorithm's arguments; refuse sets without a choice, or that do not span where they must.

    Args:
      where: who refuses.
      features: float[num_arms, dim] or float[num_contexts, num_arms, dim], traced or not.
      mask: bool of the first axes of features, concrete; False for padding; None: there is none.
      spanning: whether all real arms together must span R^dim.
    """
    features, mask = checks.action_sets(where, "features", features, mask)
    if features.ndim == 2:
        features, mask = features[None], None if mask is None else mask[None]
    if spanning and isinstance(features, np.ndarray):
        rows = features.reshape(-1, features.shape[2]) if mask is None else features[mask]
        rank, dim = int(np.linalg.matrix_rank(rows)), features.shape[2]
        if rank < dim:
            raise ValueError(f"{where}: features span {rank} of {dim} dimensions, must span all together")
    return ActionSets(features, mask)


def round_rows(sets: ActionSets, context: Array | None) -> Array:
    """Features of the round's set, float[num_arms, dim]."""
    return as_float(sets.features[0]) if _single(sets) else _of_context(as_float(sets.features), context)


def all_rows(sets: ActionSets) -> Array:
    """Features of all arms, float[size, dim]."""
    return as_float(sets.features).reshape(sets.size, sets.dim)


def row(sets: ActionSets, context: Array | None, action: Array) -> Array:
    """Features of an arm of the round's set, float[dim]."""
    return lax.dynamic_index_in_dim(all_rows(sets), flat_index(sets, context, action), 0, keepdims=False)


def in_set(sets: ActionSets, context: Array | None, flat: Array) -> Array:
    """The entries of a flat vector that belong to the round's set, [num_arms]."""
    table = flat.reshape(sets.features.shape[:2])
    return table[0] if _single(sets) else _of_context(table, context)


def flat_index(sets: ActionSets, context: Array | None, action: Array) -> Array:
    """Place of an arm of the round's set among all arms, int32[]."""
    return action if _single(sets) else context * sets.features.shape[1] + action


def best_of_set(sets: ActionSets, context: Array | None, scores: Array, tie: float = TIE) -> Array:
    """Lowest arm of the round's set whose score, of float[num_arms], is the largest up to tie, int32[]."""
    real = _real(sets, context)
    scores = scores if real is None else jnp.where(real, scores, -jnp.inf)
    scores = lax.optimization_barrier(scores)  # stored once, not computed again by the second pass
    largest = jnp.max(scores)
    arms = jnp.arange(scores.shape[0], dtype=jnp.int32)
    return jnp.min(jnp.where(scores >= largest - tie * jnp.abs(largest), arms, scores.shape[0] - 1))


def init_start(sets: ActionSets) -> Start:
    """No pulls yet."""
    return Start(_spanning_order(sets), None, None) if _single(sets) else init_vector_pulls(sets)


def init_vector_pulls(sets: ActionSets) -> Start:
    """No pulls yet of any feature vector."""
    rows = all_rows(sets)
    owners = jnp.argmax(jnp.all(rows[:, None] == rows[None], axis=2), axis=1).astype(jnp.int32)
    return Start(None, owners, jnp.zeros(sets.size, jnp.int32))


def count_start(start: Start, index: Array) -> Start:
    """After one more pull of the arm with this flat index."""
    if start.pulls is None:
        return start
    same = start.owners == get_at(start.owners, index)
    return start._replace(pulls=start.pulls + same.astype(jnp.int32))


def with_start(
    sets: ActionSets,
    start: Start,
    estimate: RecursiveLeastSquares,
    context: Array | None,
    scores: Array,
) -> Array:
    """Scores of the round's arms, float[num_arms], replaced by those of the start until the arms pulled span R^dim.

    estimate is that of the rewards so far.
    """
    arms = jnp.arange(scores.shape[0], dtype=jnp.int32)
    if start.pulls is None:
        # Each arm of the order adds a dimension. Not by the round, which runs ahead where feedback is late.
        first = get_at(start.order, jnp.minimum(estimate.rank, sets.dim - 1))
        return jnp.where(estimate.rank < sets.dim, as_float(arms == first), scores)
    outside, real = recursive_least_squares.residuals(estimate, round_rows(sets, context)) > 0, _real(sets, context)
    outside = outside if real is None else outside & real
    begin = jnp.where(jnp.any(outside), as_float(outside), -as_float(in_set(sets, context, start.pulls)))
    return jnp.where(estimate.rank < sets.dim, begin, scores)


def _spanning_order(sets: ActionSets) -> Array:
    """Arms in the order in which one set's start pulls them, int32[dim]: no reward and no chance changes it."""
    rows, real = round_rows(sets, None), _real(sets, None)

    def pull(estimate: RecursiveLeastSquares, _: None) -> tuple[RecursiveLeastSquares, Array]:
        outside = recursive_least_squares.residuals(estimate, rows) > 0
        arm = jnp.argmax(outside if real is None else outside & real).astype(jnp.int32)
        return recursive_least_squares.update(estimate, get_at(rows, arm), jnp.zeros(())), arm

    return lax.scan(pull, recursive_least_squares.init(sets.dim), length=sets.dim)[1]


def _single(sets: ActionSets) -> bool:
    return sets.features.shape[0] == 1


def _real(sets: ActionSets, context: Array | None) -> Array | None:
    """Which arms of the round's set are not padding, bool[num_arms]; None: all."""
    if sets.mask is None:
        return None
    return jnp.asarray(sets.mask[0]) if _single(sets) else _of_context(jnp.asarray(sets.mask), context)


def _of_context(table: Array, context: Array | None) -> Array:
    """table[context], looked up as one row of a matrix, which the engine does fast."""
    if context is None:
        raise ValueError("features of several contexts need an environment with contexts, such as linear_contextual")
    flat = lax.dynamic_index_in_dim(table.reshape(table.shape[0], -1), context, 0, keepdims=False)
    return flat.reshape(table.shape[1:])
