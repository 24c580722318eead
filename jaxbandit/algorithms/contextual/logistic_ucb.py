"""UCB for logistic regression with the online Laplace posterior: x' theta + alpha sqrt(x' P x)."""

from jaxbandit.algorithms.contextual.logistic_models import online
from jaxbandit.algorithms.contextual.models import models
from jaxbandit.algorithms.contextual.policy import ContextualState, Each, contextual_policy
from jaxbandit.base.arguments import Intercept, NonNegative, NumArms, PriorPrecision, Shape
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array


@declare(
    question="regret",
    setting="contexts",
    rewards="in [0, 1], logistic means",
    cost="O(K d^2)",
    memory="O(K d^2) or O(K + d^2)",
    tries={"alpha": (1.0, 0.0)},
    settings=({"shape": (2,)},),
)
def logistic_ucb(
    num_arms: NumArms,
    shape: Shape,
    *,
    alpha: NonNegative = 1.0,
    regularization: PriorPrecision = 1.0,
    intercept: Intercept = True,
) -> Algorithm:
    """Upper confidence bounds for rewards in [0, 1] with logistic means.

    Each round pulls the arm with the largest x' theta + alpha sqrt(x' P x), of the online Laplace posterior. After x
    and y, P^-1 gains q x x' with q = p (1 - p) at the old theta, and then theta gains P x (y - p). Unlike that of
    `ucb_glm`, the width shrinks more slowly where p is near 0 or 1.

    Guarantee: None.

    Args:
      alpha: weight of the width.

    Returns:
      An Algorithm with contexts float[shape], or an Offer of them, actions int32[] in [0, num_arms) and rewards float[]
      in [0, 1].

    Source:
      No paper states this rule: it is the index of LinUCB, Algorithm 1 of Li, Chu, Langford and Schapire (2010), A
      contextual-bandit approach to personalized news article recommendation, WWW, on the extended Kalman filter of
      logistic regression.
    """
    own = models(online, regularization, num_arms, shape, intercept)

    def score(noise: None, state: ContextualState, each: Each) -> Array:
        return each(own.model.mean) + as_float(alpha) * each(own.model.width)

    return contextual_policy(own, score, rewards=Rewards(0.0, 1.0), intercept=intercept)
