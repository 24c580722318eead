"""XY-oracle allocation: Soare, Lazaric, Munos (2014); Xu, Honda, Sugiyama (2018), (18): it knows the parameter.

It pulls for the differences from the best arm over their gaps, and stops when confidence intervals of the observed
width would prove the best arm; rewards are not looked at. Differs: looks on a geometric grid of n, as xy_static.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxbandit import checks
from jaxbandit.algorithms.exploration import thresholds, tracking
from jaxbandit.algorithms.exploration.static_designs import first_look, next_look, spanning_features
from jaxbandit.base import Algorithm, Arms, Batch, Promise, Rewards
from jaxbandit.estimators import ordinary_least_squares as least_squares
from jaxbandit.numerics import argmax, as_float, get_at, set_at
from jaxbandit.solvers.design import transductive_design
from jaxbandit.types import Array, ArrayLike, Key, Scalar


class OracleState(NamedTuple):
    """Pulls, and where to stop next."""

    counts: Array  # int[num_arms]
    look: Array  # int[], the number of pulls at which the stopping rule is looked at next
    weights: Array  # float[num_arms], the design, on the simplex


def xy_oracle(
    features: ArrayLike, theta: ArrayLike, *, delta: Scalar = 0.05, sigma: Scalar = 1.0, grid: Scalar = 1.001
) -> Algorithm:
    """Return XY-oracle allocation, a yardstick: how long knowing the parameter takes to be convinced of it.

    Args:
      features: float[num_arms, dim], finite, spanning all dimensions, traced; num_arms >= 2.
      theta: float[dim], the true parameter, traced, with one best arm.
      delta: as if error rate, in (0, 1), traced; it never errs.
      sigma: sub-Gaussian scale of the rewards' noise, > 0, traced.
      grid: ratio of two pull counts at which the stopping rule is looked at, >= 1, traced; 1 is every pull.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] (ignored) and recommendations int32[1]. It
      asks for its pulls in batches, from one look to the next.

    Raises:
      ValueError: an argument is out of range, the features do not span all dimensions, or two arms tie at the best.

    Source: Soare, Lazaric, Munos (2014), Best-arm identification in linear bandits, NeurIPS.
    """
    features = spanning_features("xy_oracle", features)
    theta = checks.array("xy_oracle", "theta", theta)
    if theta.shape != features.shape[1:]:
        raise ValueError(f"xy_oracle: theta has {theta.shape[0]} entries, must have {features.shape[1]} as features")
    checks.number("xy_oracle", "delta", delta, low=0.0, high=1.0, open_low=True, open_high=True)
    checks.number("xy_oracle", "sigma", sigma, low=0.0, open_low=True)
    checks.number("xy_oracle", "grid", grid, low=1.0)
    num_arms = features.shape[0]
    if isinstance(features, np.ndarray) and isinstance(theta, np.ndarray):
        order = np.argsort(-np.matmul(features, theta), kind="stable")
        if np.matmul(features[order[0]], theta) == np.matmul(features[order[1]], theta):
            raise ValueError(f"xy_oracle: arms {order[0]} and {order[1]} tie at the best, must be one best arm")

    def directions() -> Array:
        """(x_best - x_i) / gap_i, float[num_arms, dim]; a zero row at the best arm."""
        x = as_float(features)
        means = jnp.sum(x * as_float(theta)[None], 1)
        best = argmax(means)
        gaps = set_at(get_at(means, best) - means, best, jnp.ones(()))
        return least_squares.differences(x, best) / gaps[:, None]

    def init(key: Key) -> OracleState:
        weights = transductive_design(as_float(features), directions()).weights
        return OracleState(jnp.zeros(num_arms, int), first_look(weights), weights)

    def select(noise: None, state: OracleState, context: None) -> Array:
        return tracking.next_arm(state.weights, state.counts)

    def update(state: OracleState, context: None, action: Array, reward: Array) -> OracleState:
        counts = set_at(state.counts, action, get_at(state.counts, action) + 1)
        return OracleState(counts, next_look(state, grid), state.weights)

    def plan(state: OracleState) -> Array:
        return tracking.followed(state.weights, state.counts, next_look(state, grid)) - state.counts

    def absorb(state: OracleState, pulls: Array, sums: Array) -> OracleState:
        return OracleState(state.counts + pulls, next_look(state, grid), state.weights)

    def recommend(state: OracleState) -> Array:
        return argmax(jnp.sum(as_float(features) * as_float(theta)[None], 1))[None]

    def stop(state: OracleState) -> Array:
        inverse = least_squares.inverse(least_squares.design_matrix(as_float(features), as_float(state.counts)))
        squares = least_squares.squared_norms(directions(), inverse)
        pulls = jnp.sum(state.counts, dtype=state.counts.dtype)
        level = as_float(sigma) * thresholds.static_threshold(pulls, num_arms=num_arms, delta=delta)
        return (pulls >= state.look) & (level * jnp.sqrt(jnp.max(squares)) <= 1)

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        recommend=recommend,
        stop=stop,
        batch=Batch(plan, absorb),
        verify=stop,  # it factorises the counts afresh
        promise=Promise(delta),
        arms=Arms(num_arms),
        rewards=Rewards(sigma=sigma),
        name="xy_oracle",
    )
