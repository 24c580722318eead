"""Linear models of which one part is shared by all arms: mean x' theta_a + z_a' beta with z_a = vec(x f_a').

f_a are known features of arm a, and x is the context that all arms share. The estimate is joint ridge regression on
(z_a, 0 .. x .. 0) in R^(m + K dim), where m = dim x (number of features). It is carried by blocks, as by Frisch, Waugh
and Lovell: each arm regresses its reward and its z_a on x; beta is the ridge estimate from the residuals, each divided
by the standard deviation of the prediction, sqrt(1 + x' P_a x). A round is one rank-one update of either block.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandit.algorithms.contextual.models import at_arm, of_arm, ridge
from jaxbandit.base import side_by_side
from jaxbandit.support.numerics import as_float, get_at, total
from jaxbandit.support.types import Array, PyTree, Scalar
from jaxbandit.theory.estimators import recursive_least_squares as least_squares
from jaxbandit.theory.estimators.recursive_least_squares import RecursiveLeastSquares


class HybridState(NamedTuple):
    """The blocks of the joint estimate."""

    # Of each arm, with a leading axis num_arms, the regressions on x: of the reward, the first column of theta, float[
    # dim, 1 + m], and of z_a, the other columns.
    arms: RecursiveLeastSquares
    shared: RecursiveLeastSquares  # beta, float[m], and the root of its covariance


class HybridModels(NamedTuple):
    """The models of all arms, with the functions of `Models`. A row is a pair (x, f_a)."""

    arm_features: Any  # float[num_arms, features], float64 NumPy if concrete
    dim: int
    regularization: Scalar

    @property
    def num_arms(self) -> int:
        """Number of arms."""
        return self.arm_features.shape[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the context."""
        return (self.dim,)

    def init(self) -> HybridState:
        """Return the state before the first round."""
        products = self.dim * self.arm_features.shape[1]
        one = least_squares.init(self.dim, self.regularization, 1 + products)
        arms = jax.tree.map(lambda x: jnp.broadcast_to(x, (self.num_arms, *x.shape)), one)
        return HybridState(arms, least_squares.init(products, self.regularization))

    def by_arm(self, function: Callable[[PyTree, Any], Array], state: HybridState, features: Array) -> Array:
        """Return function(state with the arm's block alone, row of the arm) of every arm, [num_arms, ...]."""
        axes = HybridState(arms=0, shared=None), (None, 0)  # pyright: ignore[reportArgumentType]
        return jax.vmap(function, axes)(state, (features, as_float(self.arm_features)))

    def update(self, state: HybridState, features: Array, arm: Array, reward: Array) -> HybridState:
        """Return the state after a reward of the arm; the blocks of the other arms are unchanged."""

        def left(state: HybridState, row: tuple[Array, Array]) -> Array:
            return residuals(state, row, reward)

        def scale(state: HybridState, row: tuple[Array, Array]) -> Array:
            return jnp.sqrt(1 + _squared(state.arms, row[0]))

        if not side_by_side.is_declared():
            row = features, get_at(as_float(self.arm_features), arm)
            one = state._replace(arms=jax.tree.map(lambda x: get_at(x, arm), state.arms))
            rest = left(one, row)
            shared = self._shared(state, rest / scale(one, row))
            return HybridState(
                at_arm(arm, lambda own: least_squares.weighted_update(own, features, 1.0, rest), state.arms), shared
            )
        rest = self.by_arm(left, state, features)
        new = jax.vmap(least_squares.weighted_update, (0, None, None, 0))(state.arms, features, 1.0, rest)
        known = lax.dynamic_index_in_dim(rest / self.by_arm(scale, state, features)[:, None], arm, 0, keepdims=False)
        return HybridState(of_arm(arm, new, state.arms), self._shared(state, known))

    def _shared(self, state: HybridState, known: Array) -> RecursiveLeastSquares:
        """The model that the arms share, after one more row and its number, which comes first in `known`."""
        return ridge(known.shape[0] - 1, self.regularization).update(state.shared, known[1:], known[0])


def residuals(state: HybridState, row: tuple[Array, Array], reward: Array) -> Array:
    """Return the reward and z_a less their predictions from x, float[1 + m]."""
    x, f = row
    observed = jnp.concatenate([reward[None], (x[:, None] * f[None]).reshape(-1)])
    return observed - total(state.arms.theta * x[:, None])


def mean(state: HybridState, row: tuple[Array, Array]) -> Array:
    """Return x' theta_a + z_a' beta of one arm, float[]."""
    rest = residuals(state, row, jnp.zeros((), row[0].dtype))
    return total(rest[1:] * state.shared.theta) - rest[0]


def width(state: HybridState, row: tuple[Array, Array]) -> Array:
    """Return the posterior's standard deviation of `mean`, float[]."""
    rest = residuals(state, row, jnp.zeros((), row[0].dtype))[1:]
    return jnp.sqrt(_squared(state.arms, row[0]) + _squared(state.shared, rest))


def _squared(estimate: RecursiveLeastSquares, x: Array) -> Array:
    """Return x' P x."""
    weights = total(estimate.root * x[:, None])
    return total(weights * weights)
