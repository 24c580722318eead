"""Greedy, epsilon-greedy and softmax on ridge regression.

They differ in how the arm follows from the scores x' theta. The last two draw it and return its probability, so that a
log of their rounds can be evaluated for other policies.
"""

import functools

from jaxbandit.algorithms.contextual.models import models, ridge
from jaxbandit.algorithms.contextual.policy import (
    Choose,
    ContextualState,
    Each,
    contextual_policy,
    epsilon_choice,
    softmax_choice,
    uniform_noise,
)
from jaxbandit.base import checks
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.base.types import Array, Scalar


@declare(
    question="regret",
    setting="contexts",
    rewards="any",
    cost="O(K d + d^2) or O(K d^2)",
    memory="O(K + d^2) or O(K d^2)",
    tries={"regularization": (1.0, 0.01)},
    settings=({"shape": (2,)}, {"shape": (3, 2)}),
)
def ridge_greedy(num_arms: int, shape: tuple[int, ...], *, regularization: Scalar = 1.0) -> Algorithm:
    """The arm with the largest mean by ridge regression.

    Return the greedy rule on ridge regression.

    Each round pulls the arm with the largest x' theta, where theta is the ridge estimate. It explores only by the
    variety of the contexts.

    Guarantee: None: regret may grow linearly.

    Args:
      num_arms: number of arms, an integer >= 1; static.
      shape: shape of the context, static: (dim,) for a vector that all arms share, with a model for each arm, or
        (num_arms, dim) for a row for each arm, with one model.
      regularization: lambda, > 0; traced.

    Returns:
      An Algorithm with contexts float[shape], or an Offer of them, actions int32[] in [0, num_arms) and rewards
      float[].

    Raises:
      ValueError: an argument is out of range.

    Source:
      A standard baseline; there is no paper to cite.
    """
    return _rule("ridge_greedy", num_arms, shape, regularization, None)


@declare(
    question="regret",
    setting="contexts",
    rewards="any",
    cost="O(K d + d^2) or O(K d^2)",
    memory="O(K + d^2) or O(K d^2)",
    tries={"epsilon": (0.05, 0.0, 1.0), "regularization": (1.0, 0.01)},
    settings=({"shape": (2,)}, {"shape": (3, 2)}),
)
def ridge_epsilon(
    num_arms: int, shape: tuple[int, ...], *, epsilon: Scalar = 0.05, regularization: Scalar = 1.0
) -> Algorithm:
    """The arm with the largest mean by ridge regression, a random one with probability epsilon.

    Return epsilon-greedy on ridge regression.

    With probability epsilon the arm is uniform among those that are available, else the one with the largest x' theta,
    where theta is the ridge estimate.

    Guarantee: None: regret grows linearly, because epsilon is constant.

    Args:
      num_arms: number of arms, an integer >= 1; static.
      shape: shape of the context, static: (dim,) for a vector that all arms share, with a model for each arm, or
        (num_arms, dim) for a row for each arm, with one model.
      epsilon: probability of exploring, in [0, 1]; traced. An exploring round may also draw the greedy arm.
      regularization: lambda, > 0; traced.

    Returns:
      An Algorithm with contexts float[shape], or an Offer of them, and rewards float[]. Its action is a `Choice` of an
      arm, int32[] in [0, num_arms), whose info is `Chosen`, with the probability of the arm.

    Raises:
      ValueError: an argument is out of range.

    Source:
      Sutton and Barto (2018), Reinforcement Learning: An Introduction, Section 2.4, here with ridge regression.
    """
    return _rule("ridge_epsilon", num_arms, shape, regularization, epsilon_choice("ridge_epsilon", epsilon))


@declare(
    question="regret",
    setting="contexts",
    rewards="any",
    cost="O(K d + d^2) or O(K d^2)",
    memory="O(K + d^2) or O(K d^2)",
    tries={"temperature": (0.1, 1.0), "regularization": (1.0, 0.01)},
    settings=({"shape": (2,)}, {"shape": (3, 2)}),
)
def ridge_softmax(
    num_arms: int, shape: tuple[int, ...], *, temperature: Scalar = 0.1, regularization: Scalar = 1.0
) -> Algorithm:
    """An arm with probability proportional to exp(x' theta / temperature), by ridge regression.

    Return softmax, or Boltzmann exploration, on ridge regression.

    The arm is drawn with probability proportional to exp(x' theta / temperature) among those that are available, where
    theta is the ridge estimate.

    Guarantee: None: regret grows linearly, because the temperature is constant.

    Args:
      num_arms: number of arms, an integer >= 1; static.
      shape: shape of the context, static: (dim,) for a vector that all arms share, with a model for each arm, or
        (num_arms, dim) for a row for each arm, with one model.
      temperature: > 0, in units of the rewards; traced.
      regularization: lambda, > 0; traced.

    Returns:
      An Algorithm with contexts float[shape], or an Offer of them, and rewards float[]. Its action is a `Choice` of an
      arm, int32[] in [0, num_arms), whose info is `Chosen`, with the probability of the arm.

    Raises:
      ValueError: an argument is out of range.

    Source:
      Sutton and Barto (2018), Reinforcement Learning: An Introduction, Section 2.3, exercise 2.6 and equation (2.11),
      here with ridge regression.
    """
    return _rule("ridge_softmax", num_arms, shape, regularization, softmax_choice("ridge_softmax", temperature))


def _rule(
    where: str, num_arms: int, shape: tuple[int, ...], regularization: Scalar, choose: Choose | None
) -> Algorithm:
    checks.number(where, "regularization", regularization, low=0.0, open_low=True)
    own = models(where, functools.partial(ridge, regularization=regularization), num_arms, shape)

    def score(noise: Array | None, state: ContextualState, each: Each) -> Array:
        return each(own.model.mean)

    return contextual_policy(where, own, score, choose=choose, noise=None if choose is None else uniform_noise)
