"""LinUCB with disjoint models: Li, Chu, Langford and Schapire (2010), Algorithm 1.

The inverse is carried by a root, so that no matrix is factorized in a round. alpha and the regularization are
arguments. The paper's contexts have a constant feature; here it is appended. Ties go to the lowest-numbered arm.
"""

from jaxbandit.algorithms.contextual.models import models, ridge
from jaxbandit.algorithms.contextual.policy import ContextualState, Each, contextual_policy
from jaxbandit.base.arguments import Dim, Intercept, NonNegative, NumArms, Regularization
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array


@declare(
    question="regret",
    setting="contexts",
    cost="O(K d^2)",
    memory="O(K d^2)",
    tries={"alpha": (1.0, 0.0, 2.0)},
    settings=({"dim": 2},),
)
def lin_ucb_disjoint(
    num_arms: NumArms,
    dim: Dim,
    *,
    alpha: NonNegative = 1.0,
    regularization: Regularization = 1.0,
    intercept: Intercept = True,
) -> Algorithm:
    """LinUCB for a context that all arms share, with a linear model for each arm.

    Return LinUCB with disjoint models, which pulls the arm with the largest x' theta_a + alpha sqrt(x' P_a x), where x
    is the round's context, theta_a the ridge estimate from the rewards of the arm, and P_a = (lambda I + sum x x')^-1
    over the rounds in which it was pulled.

    Guarantee: None: the bound of Chu et al. (2011) is that of SupLinUCB, not of this rule.

    Args:
      dim: dimension of the context. The defaults are meant for contexts of norm at most 1.
      alpha: weight of the width, in units of the rewards.

    Returns:
      An Algorithm with contexts float[dim], or an Offer of them, actions int32[] in [0, num_arms) and rewards float[].

    Source:
      Li, Chu, Langford and Schapire (2010), A contextual-bandit approach to personalized news article recommendation,
      WWW, Algorithm 1.
    """
    own = models(ridge, regularization, num_arms, (dim,), intercept)

    def score(noise: None, state: ContextualState, each: Each) -> Array:
        return each(own.model.mean) + as_float(alpha) * each(own.model.width)

    return contextual_policy(own, score, intercept=intercept)
