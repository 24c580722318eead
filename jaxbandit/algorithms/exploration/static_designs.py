"""XY-static and G-static allocation: Soare, Lazaric and Munos (2014); Xu, Honda and Sugiyama (2018), (2) and (5).

The estimate is ordinary least squares. Differences: the design is the continuous optimal one, because greedy pulls
stall when several directions tie; and the stopping rule is evaluated on a geometric grid of pull counts.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxbandit.algorithms.exploration import thresholds, tracking
from jaxbandit.base.arguments import Delta, Features, Grid, Sigma
from jaxbandit.base.batches import Batch
from jaxbandit.base.contract import Algorithm, Arms, Promise, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import add_at, argmax, as_float
from jaxbandit.support.types import Array, ArrayLike, Key, Scalar
from jaxbandit.theory.estimators import counts as estimator
from jaxbandit.theory.estimators import ordinary_least_squares as least_squares
from jaxbandit.theory.estimators.ordinary_least_squares import Fit
from jaxbandit.theory.solvers.design import g_design, pair_differences, transductive_design


class Pulls(NamedTuple):
    """What a design has been pulled."""

    counts: Array  # int[num_arms]


class StaticDesignState(NamedTuple):
    """What is known of the arms, and when to evaluate the stopping rule next."""

    arms: Any  # Counts with counts int[num_arms], or Pulls
    look: Array  # int[], number of pulls at which the stopping rule is evaluated next
    weights: Array  # float[num_arms], the design, on the simplex

    @property
    def counts(self) -> Array:
        """Pulls of each arm, int[num_arms]."""
        return self.arms.counts


@declare(
    question="confidence", rewards="sub-Gaussian, scale given", cost="O(K d^2 + d^3) a batch of pulls", memory="O(K)"
)
def xy_static(features: Features, *, delta: Delta = 0.05, sigma: Sigma = 1.0, grid: Grid = 1.001) -> Algorithm:
    """A fixed design for all differences of arms, Soare et al. 2014.

    The design minimizes the largest y' A^-1 y over the differences y of two feature vectors, where A is the design
    matrix. It stops when the estimated gap of every arm to the best is at least its confidence width.

    Guarantee: The error rate is at most delta.

    Returns:
      It requests its pulls in batches, from one evaluation of the stopping rule to the next.

    Raises:
      ValueError: the features do not span R^dim.

    Source:
      Soare, Lazaric and Munos (2014), Best-arm identification in linear bandits, NeurIPS.
    """

    def solve(x: Array) -> Array:
        return transductive_design(x, pair_differences(x)).weights

    return _least_squares_design(features, solve, delta, sigma, grid)


@declare(
    question="confidence", rewards="sub-Gaussian, scale given", cost="O(K d^2 + d^3) a batch of pulls", memory="O(K)"
)
def g_static(features: Features, *, delta: Delta = 0.05, sigma: Sigma = 1.0, grid: Grid = 1.001) -> Algorithm:
    """A fixed design for all arms, Soare et al. 2014.

    The design minimizes the largest x' A^-1 x over the feature vectors x (G-optimality), where A is the design matrix.
    It stops when the estimated gap of every arm to the best is at least its confidence width.

    Guarantee: The error rate is at most delta.

    Returns:
      It requests its pulls in batches, from one evaluation of the stopping rule to the next.

    Raises:
      ValueError: the features do not span R^dim.

    Source:
      Soare, Lazaric and Munos (2014), Best-arm identification in linear bandits, NeurIPS.
    """
    return _least_squares_design(features, lambda x: g_design(x).weights, delta, sigma, grid)


def _least_squares_design(
    features: Array, solve: Callable[[Array], Array], delta: Scalar, sigma: Scalar, grid: Scalar
) -> Algorithm:
    features = spanning_features(features)

    def fit(state: StaticDesignState) -> Fit:
        return least_squares.fit(as_float(features), state.counts, state.arms.means)

    def stops(state: StaticDesignState, level: Array) -> Array:
        # The rule is "some x beats every x'". Such an x has no negative estimated gap, so it is empirically best. If b
        # is another empirically best arm, its gap to x is 0, so its width is 0 and b duplicates x and beats every x'
        # too. Hence it suffices to test the first empirically best arm.
        means, inverse = fit(state)
        differences = least_squares.differences(as_float(features), argmax(means))
        squares = least_squares.squared_norms(differences, inverse)
        return jnp.all(jnp.max(means) - means >= level * jnp.sqrt(squares))

    def recommend(state: StaticDesignState) -> Array:
        return argmax(fit(state).means)[None]

    return static_design(features, lambda: solve(as_float(features)), stops, recommend, delta, sigma, grid)


def static_design(
    features: ArrayLike,
    solve: Callable[[], Array],
    stops: Callable[[StaticDesignState, Array], Array],
    recommend: Callable[[StaticDesignState], Array],
    delta: Scalar,
    sigma: Scalar,
    grid: Scalar,
    *,
    means: bool = True,
) -> Algorithm:
    """Return the rule whose pulls follow one design from begin to end.

    Args:
      features: float[num_arms, dim], which span R^dim.
      solve: function that returns the design, float[num_arms].
      stops: function from the state and the threshold of `thresholds.static_threshold` times sigma to whether the
        rule stops, bool[].
      means: whether the state has the means of the rewards beside the pulls; static.
    """
    num_arms = features.shape[0]

    def init(key: Key) -> StaticDesignState:
        weights = solve()
        arms = estimator.init(num_arms, dtype=int) if means else Pulls(jnp.zeros(num_arms, int))
        return StaticDesignState(arms, first_look(weights), weights)

    def select(noise: None, state: StaticDesignState, context: None) -> Array:
        return tracking.next_arm(state.weights, state.counts)

    def update(state: StaticDesignState, context: None, action: Array, reward: Array) -> StaticDesignState:
        if means:
            arms, _ = estimator.update(state.arms, action, reward)
        else:
            arms = Pulls(add_at(state.counts, action, 1))
        return StaticDesignState(arms, next_look(state, grid), state.weights)

    def plan(state: StaticDesignState) -> Array:
        return tracking.followed(state.weights, state.counts, next_look(state, grid)) - state.counts

    def absorb(state: StaticDesignState, pulls: Array, sums: Array) -> StaticDesignState:
        arms = estimator.add(state.arms, pulls, sums) if means else Pulls(state.counts + pulls)
        return StaticDesignState(arms, next_look(state, grid), state.weights)

    def stop(state: StaticDesignState) -> Array:
        pulls = jnp.sum(state.counts, dtype=state.counts.dtype)
        level = as_float(sigma) * thresholds.static_threshold(pulls, num_arms=num_arms, delta=delta)
        return (pulls >= state.look) & stops(state, level)

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        recommend=recommend,
        stop=stop,
        batch=Batch(plan, absorb),
        verify=stop,  # the rule factorizes the counts anew
        promise=Promise(delta),
        arms=Arms(num_arms),
        rewards=Rewards(sigma=sigma),
        assumptions=("the means are linear in the features",),
    )


def spanning_features(features: Array) -> Array:
    """Return the features; raise ValueError unless they have full rank, if concrete, as least squares requires."""
    if isinstance(features, np.ndarray):
        rank, dim = np.linalg.matrix_rank(features), features.shape[1]
        if rank < dim:
            raise ValueError(f"features span {rank} of {dim} dimensions, must span all for least squares")
    return features


def first_look(weights: Array) -> Array:
    """Return after how many pulls each arm of the design has been pulled once and an estimate exists, int[]."""
    return jnp.sum(weights > 0, dtype=int)


def next_look(state: StaticDesignState, grid: Scalar) -> Array:
    """Return the next point of the grid, int[]."""
    pulls = jnp.sum(state.counts, dtype=state.counts.dtype)
    further = jnp.ceil(as_float(pulls) * as_float(grid)).astype(pulls.dtype)
    return jnp.where(pulls >= state.look, jnp.maximum(further, pulls + 1), state.look)
