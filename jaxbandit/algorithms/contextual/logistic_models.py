"""Models of a probability of success p(x'theta), p(u) = 1 / (1 + exp(-u)), and the constant that they need.

Scores are x'theta and not p(x'theta), because both have the same order.
"""

from collections.abc import Callable

import jax.numpy as jnp

from jaxbandit.algorithms.contextual.models import Model, Models, models, ridge
from jaxbandit.algorithms.contextual.policy import offered
from jaxbandit.base import checks
from jaxbandit.base.contract import Algorithm, Context, Offer
from jaxbandit.base.numerics import total
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
    """Return the models of a logistic rule, whose rows have one more entry with an intercept.

    Raises:
      ValueError: an argument is out of range.
    """
    checks.number(where, "regularization", regularization, low=0.0, open_low=True)
    checks.boolean(where, "intercept", intercept)
    own = models(where, lambda dim: of(dim + int(intercept), regularization), num_arms, shape)
    return own._replace(shape=(*own.shape[:-1], own.shape[-1] + int(intercept)))


def with_intercept(rule: Algorithm, intercept: bool) -> Algorithm:
    """Return the rule with contexts to whose rows it appends the constant 1, or the rule itself.

    A logistic model needs the constant: without it the probability at x = 0 is 1/2 whatever the rewards are.
    """
    arms = rule.arms
    if not intercept or arms is None or arms.context is None:
        return rule
    shape = (*arms.context[:-1], arms.context[-1] - 1)

    def extended(context: Context) -> Context:
        available, features = offered(rule.name, shape, context)
        features = jnp.concatenate([features, jnp.ones((*shape[:-1], 1), features.dtype)], -1)
        return features if available is None else Offer(available, features)

    return rule._replace(
        select=lambda noise, state, context: rule.select(noise, state, extended(context)),
        update=lambda state, context, action, reward: rule.update(state, extended(context), action, reward),
        arms=arms._replace(context=shape),
    )


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
