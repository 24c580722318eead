"""Models of the mean reward given a row of floats: one for each arm, or one that all arms share.

With a context float[dim] every arm has a model of its own and the same row ("disjoint"), with a context float[num_arms,
dim] every arm has a row of its own and they share one model.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandit.base import side_by_side
from jaxbandit.support import checks
from jaxbandit.support.numerics import get_at, set_at, total
from jaxbandit.support.types import Array, PyTree, Scalar
from jaxbandit.theory.estimators import recursive_least_squares as least_squares
from jaxbandit.theory.estimators.recursive_least_squares import RecursiveLeastSquares


class Model(NamedTuple):
    """What a rule needs of a model. A row x is float[dim]."""

    init: Callable[[], PyTree]
    update: Callable[[PyTree, Array, Array], PyTree]  # the state after one more row x and its reward float[]
    mean: Callable[[PyTree, Array], Array]  # x'theta, float[]
    width: Callable[[PyTree, Array], Array]  # sqrt(x'P x), the posterior's standard deviation of x'theta
    # The state with theta + F z for theta, where F F' = P; z float[dim] are standard normals times their scale.
    draw: Callable[[PyTree, Array], PyTree]


class ArmModels(Protocol):
    """What the frame of the rules needs of the models of all arms."""

    @property
    def num_arms(self) -> int:
        """Number of arms."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the context: (dim,) or (num_arms, dim)."""
        ...

    def init(self) -> PyTree:
        """Return the state of all models before the first round."""
        ...

    def by_arm(self, function: Callable[[PyTree, Any], Array], state: PyTree, features: Array) -> Array:
        """Return function(state of the arm's model, row of the arm) of every arm, [num_arms, ...]."""
        ...

    def update(self, state: PyTree, features: Array, arm: Array, reward: Array) -> PyTree:
        """Return the state after a reward of the arm."""
        ...


class Models(NamedTuple):
    """One model for each arm, whose states have a leading axis num_arms, or one that all arms share."""

    model: Model
    num_arms: int
    shape: tuple[int, ...]  # of the context: (dim,) or (num_arms, dim)

    @property
    def shared(self) -> bool:
        """Whether there is one model."""
        return len(self.shape) == 2

    def init(self) -> PyTree:
        """Return the state of all models before the first round."""
        one = self.model.init()
        return one if self.shared else jax.tree.map(lambda x: jnp.broadcast_to(x, (self.num_arms, *x.shape)), one)

    def by_arm(self, function: Callable[[PyTree, Array], Array], state: PyTree, features: Array) -> Array:
        """Return function(state of the arm's model, row of the arm) of every arm, [num_arms, ...]."""
        return jax.vmap(function, (None, 0) if self.shared else (0, None))(state, features)

    def update(self, state: PyTree, features: Array, arm: Array, reward: Array) -> PyTree:
        """Return the state after a reward of the arm; the models of the other arms are unchanged."""
        if self.shared:
            return self.model.update(state, lax.dynamic_index_in_dim(features, arm, 0, keepdims=False), reward)
        if not side_by_side.is_declared():
            return at_arm(arm, lambda one: self.model.update(one, features, reward), state)
        return of_arm(arm, jax.vmap(self.model.update, (0, None, None))(state, features, reward), state)


def at_arm(arm: Array, update: Callable[[PyTree], PyTree], states: PyTree) -> PyTree:
    """Return the states of all models, of which that of `arm` is update(it); of a run alone, no other is touched."""
    new = update(jax.tree.map(lambda x: get_at(x, arm), states))
    return jax.tree.map(lambda x, y: set_at(x, arm, y), states, new)


def of_arm(arm: Array, new: PyTree, old: PyTree) -> PyTree:
    """Return the states of all models, of which that of `arm` is new; faster than to copy one matrix of each run."""

    def taken(x: Array, y: Array) -> Array:
        pulled = jnp.arange(x.shape[0], dtype=jnp.int32) == arm
        return jnp.where(pulled.reshape(-1, *[1] * (x.ndim - 1)), x, y)

    return jax.tree.map(taken, new, old)


def models(
    model: Callable[[int, Scalar], Model],
    regularization: Scalar,
    num_arms: int,
    shape: tuple[int, ...],
    intercept: bool = False,
) -> Models:
    """Return the models of a rule, each model(dim, lambda); with an intercept, their rows have one more entry."""
    rows = rows_of(num_arms, shape, intercept)
    return Models(model(rows[-1], regularization), num_arms, rows)


def rows_of(num_arms: int, shape: tuple[int, ...], intercept: bool) -> tuple[int, ...]:
    """Return the shape of the rows of a rule for contexts of this shape; an intercept is one more entry of each."""
    whole = isinstance(shape, tuple | list) and all(type(x) is int and x > 0 for x in shape)
    if not whole or len(shape) not in (1, 2) or (len(shape) == 2 and shape[0] != num_arms):
        kinds = f"(dim,), a vector that all arms share, or ({num_arms}, dim), a row for each arm"
        checks.wrong("shape", shape, kinds)
    return (*shape[:-1], shape[-1] + int(intercept))


def ridge(dim: int, regularization: Scalar) -> Model:
    """Return least squares with P = (lambda I + sum x x')^-1, in dim^2 operations and without a factorization."""
    return Model(
        init=lambda: least_squares.init(dim, regularization),
        update=lambda state, x, y: least_squares.weighted_update(state, x, 1.0, y - total(x * state.theta)),
        mean=lambda state, x: total(x * state.theta),
        width=_width,
        draw=_draw,
    )


def _width(state: RecursiveLeastSquares, x: Array) -> Array:
    weights = total(state.root * x[:, None])  # F' x
    return jnp.sqrt(total(weights * weights))


def _draw(state: RecursiveLeastSquares, z: Array) -> RecursiveLeastSquares:
    return state._replace(theta=state.theta + total(state.root.T * z[:, None]))
