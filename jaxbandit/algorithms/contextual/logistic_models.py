"""Models of a probability of success p(x'theta), p(u) = 1 / (1 + exp(-u)), and the constant that they need.

Scores are x'theta and not p(x'theta), because both have the same order.
"""

from collections.abc import Callable

import jax.numpy as jnp

from jaxbandit.algorithms.contextual.models import Model, Models, models, ridge
from jaxbandit.base import checks
from jaxbandit.base.types import Array, Scalar
from jaxbandit.theory.estimators import logistic_diagonal, logistic_laplace
from jaxbandit.theory.estimators.logistic_diagonal import LogisticDiagonal


def logistic_models(
    where: str,
    of: Callable[[int, Scalar], Model],
    num_arms: int,
    shape: tuple[int, ...],
    regularization: Scalar,
    intercept: bool,
) -> Models:
    """Return the models of a logistic rule; with an intercept, each has one more weight, of the constant 1.

    Raises:
      ValueError: an argument is out of range.
    """
    checks.number(where, "regularization", regularization, low=0.0, open_low=True)
    checks.boolean(where, "intercept", intercept)

    def one(dim: int) -> Model:
        return with_intercept(of(dim + 1, regularization)) if intercept else of(dim, regularization)

    return models(where, one, num_arms, shape)


def with_intercept(model: Model) -> Model:
    """Return a model of rows to which the constant 1 is appended, as its last entry."""
    width = model.width
    return model._replace(
        update=lambda state, x, reward: model.update(state, extended(x), reward),
        mean=lambda state, x: model.mean(state, extended(x)),
        width=None if width is None else lambda state, x: width(state, extended(x)),
    )


def extended(x: Array) -> Array:
    """Return the row with the constant 1 as its last entry."""
    return jnp.concatenate([x, jnp.ones(1, x.dtype)])


def online(dim: int, regularization: Scalar) -> Model:
    """Return the Laplace posterior by one Newton step for each row, in dim^2 operations."""
    return ridge(dim, regularization)._replace(update=logistic_laplace.update)


def diagonal(dim: int, regularization: Scalar) -> Model:
    """Return the posterior with independent weights, in dim operations."""
    return Model(
        init=lambda: logistic_diagonal.init(dim, regularization),
        update=logistic_diagonal.update,
        mean=lambda state, x: jnp.sum(x * state.theta),
        width=lambda state, x: jnp.sqrt(jnp.sum(x * x / state.precision)),
        draw=_draw,
    )


def _draw(state: LogisticDiagonal, z: Array) -> LogisticDiagonal:
    return state._replace(theta=state.theta + z / jnp.sqrt(state.precision))
