"""Lazy Track-and-Stop for linear bandits with finitely many arms: Jedra and Proutiere (2020).

Differences: the basis arms A_0 of forced exploration, which the paper leaves open, are chosen greedily for the largest
volume, and rewards are divided by sigma.
"""

from typing import Literal, NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.exploration import thresholds
from jaxbandit.algorithms.exploration.static_designs import spanning_features
from jaxbandit.base.arguments import Delta, Features, Positive, Sigma
from jaxbandit.base.contract import Algorithm, Arms, Choice, Promise, Replan, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import argmax, as_float, get_at, kahan_pair
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import counts as estimator
from jaxbandit.theory.estimators import ordinary_least_squares as least_squares
from jaxbandit.theory.estimators.counts import Counts
from jaxbandit.theory.solvers.best_arm import best_arm_design


class LazyTrackAndStopState(NamedTuple):
    """Statistics, the design being tracked, and the basis of forced exploration."""

    pulls: Array  # int32[], of all arms together
    arms: Counts
    targets: Array  # float[2, num_arms], sum of the designs of the rounds so far, and its rounding error
    weights: Array  # float[num_arms], the current design, on the simplex
    solved: Array  # int32[], number of pulls at which the design was solved last
    forced: Array  # int32[], number of pulls of forced exploration so far
    basis: Array  # int32[dim], A_0
    floor: Array  # float[], the smallest eigenvalue of sum_{a in A_0} x_a x_a'


@declare(
    question="confidence",
    rewards="sub-Gaussian, scale given",
    cost="O(K d^2 + d^3), and the optimal design whenever the number of pulls is a power of 2",
    memory="O(K + d)",
    tries={"slack": (0.1, 0.5)},
)
def lazy_track_and_stop(
    features: Features,
    *,
    delta: Delta = 0.05,
    sigma: Sigma = 1.0,
    slack: Positive = 0.1,
    threshold: Literal["det", "heuristic"] = "det",
) -> Algorithm:
    """Tracks the optimal design, which is recomputed rarely, Jedra and Proutiere 2020.

    The pulls track the sum of the designs that are optimal for the least-squares estimates of rounds 2^k, with forced
    exploration while the smallest eigenvalue of V = sum_a N_a x_a x_a' is small. It stops when the smallest value over
    suboptimal arms i of gap_i^2 / (2 sigma^2 y' V^-1 y) with y = x_best - x_i reaches beta.

    Guarantee: The error rate is at most delta; as delta tends to 0, the number of pulls is asymptotically optimal for
    Gaussian noise up to the factor 1 + slack (after Jedra and Proutiere 2020).

    In detail, with "det", beta = (1 + u) log(det(V / (u c) + I)^(1/2) / delta), which does not need a bound on theta; u
    is slack and c the smallest eigenvalue of sum_{a in A_0} x_a x_a' over the basis, which is pulled first. With
    "heuristic" the recommendation carries no guarantee.

    Args:
      slack: u. It trades the factor of the threshold against its determinant.
      threshold: "det", the proved beta above, or "heuristic", log((log t + 1) / delta).

    Returns:
      It replans after 2^k pulls, for every k.

    Raises:
      ValueError: the features do not span R^dim.

    Source:
      Jedra and Proutiere (2020), Optimal best-arm identification in linear bandits, NeurIPS.
    """
    features = spanning_features(features)
    num_arms, dim = features.shape

    def design_matrix(counts: Array) -> Array:
        return least_squares.design_matrix(as_float(features), as_float(counts))

    def init(key: Key) -> LazyTrackAndStopState:
        basis = _basis(as_float(features))
        zero = jnp.zeros((), jnp.int32)
        once = jnp.zeros(num_arms, jnp.int32).at[basis].add(1)
        return LazyTrackAndStopState(
            pulls=zero,
            arms=estimator.init(num_arms),
            targets=jnp.zeros((2, num_arms)),
            weights=as_float(once) / dim,
            solved=zero,
            forced=zero,
            basis=basis,
            floor=jnp.linalg.eigvalsh(design_matrix(once))[0],
        )

    def due(state: LazyTrackAndStopState) -> Array:
        power_of_two = (state.pulls & (state.pulls - 1)) == 0
        return power_of_two & (state.pulls >= dim) & (state.solved < state.pulls)

    def replan(state: LazyTrackAndStopState) -> LazyTrackAndStopState:
        x = as_float(features)
        means = least_squares.fit(x, state.arms.counts, state.arms.means).means
        return state._replace(weights=best_arm_design(x, means, sigma=sigma).weights, solved=state.pulls)

    def explores(state: LazyTrackAndStopState) -> Array:
        """Return whether lambda_min(V) < c sqrt(t / d), up to rounding: they are equal after the first d pulls."""
        least = state.floor * jnp.sqrt(as_float(state.pulls) / dim)
        least = least * (1 - jnp.sqrt(jnp.finfo(least.dtype).eps))
        above = least_squares.pivots(design_matrix(state.arms.counts) - least * jnp.eye(dim)) > 0
        return (state.pulls < dim) | ~jnp.all(above)

    def select(noise: None, state: LazyTrackAndStopState, context: None) -> Choice:
        """Return the arm to pull, and whether it is forced exploration."""
        targets = state.targets[0] + state.weights
        behind = argmax(jnp.where(targets > 0, targets - as_float(state.arms.counts), -jnp.inf))
        forced = explores(state)
        return Choice(jnp.where(forced, get_at(state.basis, state.forced % dim), behind), forced)

    def update(state: LazyTrackAndStopState, context: None, choice: Choice, reward: Array) -> LazyTrackAndStopState:
        action, forced = choice
        arms, _ = estimator.update(state.arms, action, reward)
        return state._replace(
            pulls=state.pulls + 1,
            arms=arms,
            targets=kahan_pair(state.targets, state.weights),
            forced=state.forced + forced.astype(jnp.int32),
        )

    def recommend(state: LazyTrackAndStopState) -> Array:
        return argmax(least_squares.fit(as_float(features), state.arms.counts, state.arms.means).means)[None]

    def level(state: LazyTrackAndStopState) -> Array:
        """Return sqrt(2 beta), the number of standard deviations that a gap must exceed."""
        if threshold == "heuristic":
            return thresholds.heuristic_threshold(state.pulls, delta=delta)
        u = as_float(slack)
        pivots = least_squares.pivots(design_matrix(state.arms.counts) / (u * state.floor) + jnp.eye(dim))
        return jnp.sqrt((1 + u) * (jnp.sum(jnp.log(pivots)) - 2 * jnp.log(as_float(delta))))

    def stop(state: LazyTrackAndStopState) -> Array:
        x = as_float(features)
        fit = least_squares.fit(x, state.arms.counts, state.arms.means)
        best = argmax(fit.means)
        squares = least_squares.squared_norms(least_squares.differences(x, best), fit.inverse)
        widths = level(state) * as_float(sigma) * jnp.sqrt(squares)
        return (state.pulls >= dim) & jnp.all(jnp.max(fit.means) - fit.means >= widths)

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.arms.counts,
        recommend=recommend,
        stop=stop,
        replan=Replan(due, replan),
        verify=stop,  # the rule factorizes the counts anew
        promise=Promise(delta, proved=threshold == "det"),
        arms=Arms(num_arms),
        rewards=Rewards(sigma=sigma),
        assumptions=("the means are linear in the features",),
    )


def _basis(features: Array) -> Array:
    """Return arms with linearly independent features, int32[dim], each the farthest from the span of those before."""
    rest, chosen = features, []
    for _ in range(features.shape[1]):
        arm = argmax(jnp.sum(rest * rest, 1))
        unit = rest[arm] / jnp.sqrt(jnp.sum(rest[arm] ** 2))
        rest = rest - jnp.sum(rest * unit[None], 1)[:, None] * unit[None]
        chosen.append(arm)
    return jnp.stack(chosen)
