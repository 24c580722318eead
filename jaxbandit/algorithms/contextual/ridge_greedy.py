"""Greedy, epsilon-greedy and softmax on ridge regression.

The last two draw the arm from the scores x' theta and return its probability, for off-policy evaluation. With a model
for each arm, arms that were never pulled come first, in a random order.
"""

from jaxbandit.algorithms.contextual.models import models, ridge
from jaxbandit.algorithms.contextual.policy import epsilon_choice, greedy_choice, greedy_policy, softmax_choice
from jaxbandit.base.arguments import ClosedUnit, Intercept, NumArms, Positive, Regularization, Shape
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare


@declare(
    question="regret",
    setting="contexts",
    cost="O(K d + d^2) or O(K d^2)",
    memory="O(K + d^2) or O(K d^2)",
    settings=({"shape": (2,)}, {"shape": (3, 2)}),
)
def ridge_greedy(
    num_arms: NumArms, shape: Shape, *, regularization: Regularization = 1.0, intercept: Intercept = True
) -> Algorithm:
    """The arm with the largest mean by ridge regression.

    Each round pulls the arm with the largest x' theta, where theta is the ridge estimate; ties go to any of the arms.
    With a model for each arm, one that was never pulled comes first, any of them with equal probability. Beyond that it
    explores only by the variety of the contexts.

    Guarantee: None: regret may grow linearly.

    Returns:
      An Algorithm with contexts float[shape], or an Offer of them, actions int32[] in [0, num_arms) and rewards
      float[]. Its noise is uniform in [0, 1), for ties.

    Source:
      A standard baseline; there is no paper to cite.
    """
    own = models(ridge, regularization, num_arms, shape, intercept)
    return greedy_policy(own, greedy_choice, intercept=intercept)


@declare(
    question="regret",
    setting="contexts",
    cost="O(K d + d^2) or O(K d^2)",
    memory="O(K + d^2) or O(K d^2)",
    tries={"epsilon": (0.05, 0.0, 1.0)},
    settings=({"shape": (2,)}, {"shape": (3, 2)}),
)
def ridge_epsilon(
    num_arms: NumArms,
    shape: Shape,
    *,
    epsilon: ClosedUnit = 0.05,
    regularization: Regularization = 1.0,
    intercept: Intercept = True,
) -> Algorithm:
    """The arm with the largest mean by ridge regression, a random one with probability epsilon.

    With probability epsilon the arm is uniform among those that are available, else the one with the largest x' theta,
    where theta is the ridge estimate, or any that ties. With a model for each arm, one that was never pulled takes the
    place of the best, any of them with equal probability.

    Guarantee: None: regret grows linearly, because epsilon is constant.

    Args:
      epsilon: probability of exploring. An exploring round may also draw the greedy arm.

    Returns:
      An Algorithm with contexts float[shape], or an Offer of them, and rewards float[]. Its action is a `Choice` of an
      arm, int32[] in [0, num_arms), whose info is `Chosen`, with the probability of the arm.

    Source:
      Sutton and Barto (2018), Reinforcement Learning: An Introduction, MIT Press, Section 2.4, here with ridge
      regression.
    """
    own = models(ridge, regularization, num_arms, shape, intercept)
    return greedy_policy(own, epsilon_choice(epsilon), intercept=intercept)


@declare(
    question="regret",
    setting="contexts",
    cost="O(K d + d^2) or O(K d^2)",
    memory="O(K + d^2) or O(K d^2)",
    tries={"temperature": (0.1, 1.0)},
    settings=({"shape": (2,)}, {"shape": (3, 2)}),
)
def ridge_softmax(
    num_arms: NumArms,
    shape: Shape,
    *,
    temperature: Positive = 0.1,
    regularization: Regularization = 1.0,
    intercept: Intercept = True,
) -> Algorithm:
    """An arm with probability proportional to exp(x' theta / temperature), by ridge regression.

    Return softmax, or Boltzmann exploration: the arm is drawn with probability proportional to exp(x' theta /
    temperature) among those that are available, where theta is the ridge estimate. With a model for each arm, those
    that were never pulled come first, any of them with equal probability.

    Guarantee: None: regret grows linearly, because the temperature is constant.

    Args:
      temperature: temperature, in units of the rewards.

    Returns:
      An Algorithm with contexts float[shape], or an Offer of them, and rewards float[]. Its action is a `Choice` of an
      arm, int32[] in [0, num_arms), whose info is `Chosen`, with the probability of the arm.

    Source:
      Sutton and Barto (2018), Reinforcement Learning: An Introduction, MIT Press, Section 2.3, exercise 2.6 and
      equation (2.11), here with ridge regression.
    """
    own = models(ridge, regularization, num_arms, shape, intercept)
    return greedy_policy(own, softmax_choice(temperature), intercept=intercept)
