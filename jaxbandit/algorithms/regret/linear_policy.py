"""The common frame of linear policies: estimate theta by least squares, then pull the arm with the best score."""

import math
from collections.abc import Callable
from typing import Annotated, NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.regret import action_sets
from jaxbandit.algorithms.regret.action_sets import ActionSets, Start
from jaxbandit.base.contract import Algorithm, Replan, Rewards, none
from jaxbandit.base.parameters import Arg
from jaxbandit.support import checks
from jaxbandit.support.domains import integer
from jaxbandit.support.numerics import UNROLLED, add_at, as_float
from jaxbandit.support.types import Array, Key, PyTree, Scalar
from jaxbandit.theory.estimators import fixed_rows
from jaxbandit.theory.estimators import recursive_least_squares as estimator
from jaxbandit.theory.estimators.fixed_rows import FixedRows
from jaxbandit.theory.estimators.recursive_least_squares import RecursiveLeastSquares


class LinearState(NamedTuple):
    """Pull counts and the estimate of theta."""

    round: Array  # int32[], the round about to be played, from 1
    counts: Array  # int32[num_contexts * num_arms], pulls of each arm of each context
    estimate: RecursiveLeastSquares
    start: Start | None  # None if the estimate is regularized, for which no initial pulls are needed
    known: FixedRows | None  # of all arms of all contexts, if a round may not compute it anew


def linear_policy(
    sets: ActionSets,
    score: Callable[[PyTree, LinearState, Array | None], Array],
    *,
    regularization: Scalar | None,
    widths: bool = False,
    noise: Callable[[Key], PyTree] | None = None,
    rewards: Rewards | None = None,
) -> Algorithm:
    """Return the policy that pulls the arm of the round's set with the best score.

    Without regularization it begins with the initial pulls that span R^dim.

    Args:
      score: function from the noise of a round, the state and the context to the scores of the round's arms,
        float[num_arms]. Without regularization the scores may be any finite numbers until the arms pulled span R^dim.
      regularization: lambda > 0, or None for ordinary least squares.
      widths: whether the scores use `means_and_variances`.
    """

    carried = widths and _carries(sets, regularization)

    def init(key: Key) -> LinearState:
        counts = jnp.zeros(sets.size, jnp.int32)
        start = action_sets.init_start(sets) if regularization is None else None
        estimate = estimator.init(sets.dim, regularization)
        known = fixed_rows.init(estimate, action_sets.all_rows(sets)) if carried else None
        return LinearState(jnp.ones((), jnp.int32), counts, estimate, start, known)

    def select(noise: PyTree, state: LinearState, context: Array | None) -> Array:
        scores = score(noise, state, context)
        if state.start is not None:
            scores = action_sets.with_start(sets, state.start, state.estimate, context, scores)
        return action_sets.best_of_set(sets, context, scores)

    def update(state: LinearState, context: Array | None, action: Array, reward: Array) -> LinearState:
        index, x, known = action_sets.flat_index(sets, context, action), action_sets.row(sets, context, action), None
        if state.known is not None:
            rows = action_sets.all_rows(sets)
            known = fixed_rows.update(state.known, state.estimate, rows, index, x, as_float(reward))
        return LinearState(
            round=state.round + 1,
            counts=add_at(state.counts, index, 1),
            estimate=estimator.update(state.estimate, x, as_float(reward)),
            start=None if state.start is None else action_sets.count_start(state.start, index),
            known=known,
        )

    def due(state: LinearState) -> Array:
        assert state.known is not None
        return fixed_rows.due(state.known, state.estimate)

    def renew(state: LinearState) -> LinearState:
        assert state.known is not None
        return state._replace(known=fixed_rows.renew(state.known, state.estimate, action_sets.all_rows(sets)))

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        noise=noise or none(),
        replan=Replan(due, renew) if carried else None,
        arms=sets.arms,
        rewards=rewards,
    )


def means_and_variances(sets: ActionSets, state: LinearState, context: Array | None) -> tuple[Array, Array]:
    """Return x' theta_hat and x' V^-1 x of the round's arms, float[num_arms] each."""
    if state.known is not None:
        known = state.known
        return action_sets.in_set(sets, context, known.means), action_sets.in_set(sets, context, known.variances)
    rows = action_sets.round_rows(sets, context)
    return estimator.means(state.estimate, rows), estimator.variances(state.estimate, rows)


def _carries(sets: ActionSets, regularization: Scalar | None) -> bool:
    """Return whether the means and variances of all arms of all contexts are in the state."""
    num_contexts = sets.features.shape[0]
    if sets.dim <= UNROLLED:
        # The sums are unrolled and part of the scores, which costs no more (benchmarks/RESULTS.md).
        return False
    return num_contexts == 1 or (regularization is not None and num_contexts < sets.dim)


Horizon = Annotated[int, Arg(integer(2), "number of rounds n", within="an integer >= max(2, dim)")]


def checked_horizon(horizon: int, dim: int) -> int:
    """Return the horizon; raise ValueError if it is below 2, so that its logarithm is 0, or below dim."""
    return checks.take("horizon", horizon, integer(max(dim, 2)))


def linear_level(horizon: int, dim: int, c: Scalar, log_inverse_delta: Scalar) -> Array:
    """Return f_{n,delta} = 2 (1 + 1 / log n) log(1 / delta) + c d log(d log n), float[], for n rounds in R^d."""
    log_n = math.log(horizon)
    return 2 * (1 + 1 / log_n) * as_float(log_inverse_delta) + as_float(c) * (dim * math.log(dim * log_n))
