"""Models of a probability of success p(x'theta), p(u) = 1 / (1 + exp(-u)).

Scores are x'theta and not p(x'theta), because both have the same order.
"""

import jax.numpy as jnp

from jaxbandit.algorithms.contextual.models import Model, ridge
from jaxbandit.support.numerics import total
from jaxbandit.support.types import Array, Scalar
from jaxbandit.theory.estimators import logistic_diagonal, logistic_laplace
from jaxbandit.theory.estimators.logistic_diagonal import LogisticDiagonal


def online(dim: int, regularization: Scalar) -> Model:
    """Return the Laplace posterior by one Newton step for each row, in dim^2 operations."""
    return ridge(dim, regularization)._replace(update=logistic_laplace.update)


def diagonal(dim: int, regularization: Scalar) -> Model:
    """Return the posterior with independent weights, in dim operations."""
    return Model(
        init=lambda: logistic_diagonal.init(dim, regularization),
        update=logistic_diagonal.update,
        mean=lambda state, x: total(x * state.theta),
        width=lambda state, x: jnp.sqrt(total(x * x / state.precision)),
        draw=_draw,
    )


def _draw(state: LogisticDiagonal, z: Array) -> LogisticDiagonal:
    return state._replace(theta=state.theta + z / jnp.sqrt(state.precision))
