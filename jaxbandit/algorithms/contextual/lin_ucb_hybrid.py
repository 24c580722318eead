"""LinUCB with hybrid models: Li, Chu, Langford and Schapire (2010), Algorithm 2.

The estimate is that of the paper, joint ridge regression, by another recursion: see hybrid_models. alpha and the
regularization, which is 1 there, are arguments. Ties go to the lowest-numbered arm instead of a random one.
"""

from typing import Annotated

from jaxbandit.algorithms.contextual import hybrid_models
from jaxbandit.algorithms.contextual.hybrid_models import HybridModels
from jaxbandit.algorithms.contextual.policy import ContextualState, Each, contextual_policy
from jaxbandit.base.arguments import Dim, Intercept, NonNegative, Regularization
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.base.parameters import Arg
from jaxbandit.support.checks import arrays
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, ArrayLike


@declare(
    question="regret",
    setting="contexts",
    cost="O(K d^2 f^2), with f features of an arm",
    memory="O(K d^2 f + d^2 f^2)",
    tries={"alpha": (1.0, 0.0)},
    settings=({"dim": 2},),
)
def lin_ucb_hybrid(
    arm_features: Annotated[ArrayLike, Arg(arrays(ndim=2))],
    dim: Dim,
    *,
    alpha: NonNegative = 1.0,
    regularization: Regularization = 1.0,
    intercept: Intercept = True,
) -> Algorithm:
    """LinUCB for a context that all arms share, with a linear model for each arm and one in known features of the arms.

    Return LinUCB with hybrid models, which pulls the arm with the largest x' theta_a + z_a' beta + alpha s_a, where x
    is the round's context, z_a = vec(x f_a') are all products of its entries with those of the arm's features f_a, and
    s_a is the posterior's standard deviation of x' theta_a + z_a' beta.

    Guarantee: None.

    Args:
      arm_features: float[num_arms, f], known features of the arms.
      dim: dimension of the context. The defaults are meant for contexts and features of norm at most 1.
      alpha: weight of the width, in units of the rewards.
      regularization: lambda, of all theta_a and beta.

    Returns:
      An Algorithm with contexts float[dim], or an Offer of them, actions int32[] in [0, num_arms) and rewards float[].

    Source:
      Li, Chu, Langford and Schapire (2010), A contextual-bandit approach to personalized news article recommendation,
      WWW, Algorithm 2.
    """

    def score(noise: None, state: ContextualState, each: Each) -> Array:
        return each(hybrid_models.mean) + as_float(alpha) * each(hybrid_models.width)

    own = HybridModels(arm_features, dim + int(intercept), regularization)
    return contextual_policy(own, score, intercept=intercept)
