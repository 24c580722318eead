"""Greedy, epsilon-greedy and softmax on the online Laplace estimate of logistic regression.

They differ in how the arm follows from the scores x' theta. The last two draw it and return its probability, for
off-policy evaluation. With a model for each arm, arms that were never pulled come first, in a random order.
"""

from jaxbandit.algorithms.contextual.logistic_models import online
from jaxbandit.algorithms.contextual.models import models
from jaxbandit.algorithms.contextual.policy import epsilon_choice, greedy_choice, greedy_policy, softmax_choice
from jaxbandit.base.arguments import ClosedUnit, Intercept, NumArms, Positive, PriorPrecision, Shape
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare


@declare(
    question="regret",
    setting="contexts",
    rewards="in [0, 1], logistic means",
    cost="O(K d + d^2)",
    memory="O(K d^2) or O(K + d^2)",
    settings=({"shape": (2,)},),
)
def logistic_greedy(
    num_arms: NumArms, shape: Shape, *, regularization: PriorPrecision = 1.0, intercept: Intercept = True
) -> Algorithm:
    """The arm with the largest estimated probability of success, by online logistic regression.

    Each round pulls the arm with the largest x' theta, any of those that tie; see `logistic_ucb` for theta. With a
    model for each arm, one that was never pulled comes first, any of them with equal probability. Beyond that it
    explores only by the variety of the contexts.

    Guarantee: None: regret may grow linearly.

    Returns:
      An Algorithm with contexts float[shape], or an Offer of them, actions int32[] in [0, num_arms) and rewards float[]
      in [0, 1].

    Source:
      Chapelle and Li (2011), An empirical evaluation of Thompson sampling, NeurIPS, Section 4, the baseline "exploit",
      here with the online estimate.
    """
    own = models(online, regularization, num_arms, shape, intercept)
    return greedy_policy(own, greedy_choice, rewards=Rewards(0.0, 1.0), intercept=intercept)


@declare(
    question="regret",
    setting="contexts",
    rewards="in [0, 1], logistic means",
    cost="O(K d + d^2)",
    memory="O(K d^2) or O(K + d^2)",
    tries={"epsilon": (0.05, 0.0, 1.0)},
    settings=({"shape": (2,)},),
)
def logistic_epsilon(
    num_arms: NumArms,
    shape: Shape,
    *,
    epsilon: ClosedUnit = 0.05,
    regularization: PriorPrecision = 1.0,
    intercept: Intercept = True,
) -> Algorithm:
    """The arm with the largest estimated probability of success, a random one with probability epsilon.

    With probability epsilon the arm is uniform among those that are available, else the one with the largest x' theta,
    any of those that tie; see `logistic_ucb` for theta. With a model for each arm, one that was never pulled takes the
    place of the best, any of them with equal probability.

    Guarantee: None: regret grows linearly, because epsilon is constant.

    Args:
      epsilon: probability of exploring. An exploring round may also draw the greedy arm.

    Returns:
      An Algorithm with contexts float[shape], or an Offer of them, and rewards float[] in [0, 1]. Its action is a
      `Choice` of an arm, int32[] in [0, num_arms), whose info is `Chosen`, with the probability of the arm.

    Source:
      Chapelle and Li (2011), An empirical evaluation of Thompson sampling, NeurIPS, Section 4, the baseline
      "epsilon-greedy", here with the online estimate.
    """
    own = models(online, regularization, num_arms, shape, intercept)
    return greedy_policy(own, epsilon_choice(epsilon), rewards=Rewards(0.0, 1.0), intercept=intercept)


@declare(
    question="regret",
    setting="contexts",
    rewards="in [0, 1], logistic means",
    cost="O(K d + d^2)",
    memory="O(K d^2) or O(K + d^2)",
    tries={"temperature": (0.1, 1.0)},
    settings=({"shape": (2,)},),
)
def logistic_softmax(
    num_arms: NumArms,
    shape: Shape,
    *,
    temperature: Positive = 0.1,
    regularization: PriorPrecision = 1.0,
    intercept: Intercept = True,
) -> Algorithm:
    """An arm with probability proportional to exp(x' theta / temperature), by online logistic regression.

    Return softmax, or Boltzmann exploration: the arm is drawn with probability proportional to exp(x' theta /
    temperature) among those that are available; see `logistic_ucb` for theta. Scores are on the scale of log-odds. With
    a model for each arm, those that were never pulled come first, any of them with equal probability.

    Guarantee: None: regret grows linearly, because the temperature is constant.

    Args:
      temperature: temperature, in units of x' theta.

    Returns:
      An Algorithm with contexts float[shape], or an Offer of them, and rewards float[] in [0, 1]. Its action is a
      `Choice` of an arm, int32[] in [0, num_arms), whose info is `Chosen`, with the probability of the arm.

    Source:
      Sutton and Barto (2018), Reinforcement Learning: An Introduction, MIT Press, equation (13.2), with x' theta /
      temperature as the preference.
    """
    own = models(online, regularization, num_arms, shape, intercept)
    return greedy_policy(own, softmax_choice(temperature), rewards=Rewards(0.0, 1.0), intercept=intercept)
