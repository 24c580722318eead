"""LinUCB with hybrid models: Li, Chu, Langford and Schapire (2010), Algorithm 2.

The estimate is that of the paper, joint ridge regression, by another recursion: see hybrid_models. alpha and the
regularization, which is 1 there, are arguments. Ties go to the lowest-numbered arm instead of a random one.
"""

from jaxbandit.algorithms.contextual import hybrid_models
from jaxbandit.algorithms.contextual.hybrid_models import HybridModels
from jaxbandit.algorithms.contextual.policy import ContextualState, Each, contextual_policy, with_intercept
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support import checks
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, ArrayLike, Scalar


@declare(
    question="regret",
    setting="contexts",
    rewards="any",
    cost="O(K d^2 f^2), with f features of an arm",
    memory="O(K d^2 f + d^2 f^2)",
    tries={"alpha": (1.0, 0.0), "regularization": (1.0, 0.01)},
    settings=({"dim": 2},),
)
def lin_ucb_hybrid(
    arm_features: ArrayLike,
    dim: int,
    *,
    alpha: Scalar = 1.0,
    regularization: Scalar = 1.0,
    intercept: bool = True,
) -> Algorithm:
    """LinUCB for a context that all arms share, with a linear model for each arm and one in known features of the arms.

    Return LinUCB with hybrid linear models.

    Each round pulls the arm with the largest x' theta_a + z_a' beta + alpha s_a, where x is the round's context, z_a =
    vec(x f_a') are all products of its entries with those of the arm's features f_a, and s_a is the posterior's
    standard deviation of x' theta_a + z_a' beta. What is learned of one arm helps with arms of similar features.

    Guarantee: None.

    Args:
      arm_features: float[num_arms, f], known features of the arms; finite; traced.
      dim: dimension of the context, an integer >= 1; static. The defaults are meant for contexts and features of norm
        at most 1.
      alpha: weight of the width, >= 0, in units of the rewards; traced.
      regularization: lambda, > 0, of all theta_a and beta; traced.
      intercept: whether a constant 1 is appended to the context, so that arms and their features count also at x = 0.
        Static.

    Returns:
      An Algorithm with contexts float[dim], or an Offer of them, actions int32[] in [0, num_arms) and rewards float[].

    Raises:
      ValueError: an argument is out of range.

    Source:
      Li, Chu, Langford and Schapire (2010), A contextual-bandit approach to personalized news article recommendation,
      WWW, Algorithm 2.
    """
    where = "lin_ucb_hybrid"
    arm_features = checks.array(where, "arm_features", arm_features, ndim=2)
    dim = checks.integer(where, "dim", dim, 1)
    checks.number(where, "alpha", alpha, low=0.0)
    checks.number(where, "regularization", regularization, low=0.0, open_low=True)

    def score(noise: None, state: ContextualState, each: Each) -> Array:
        return each(hybrid_models.mean) + as_float(alpha) * each(hybrid_models.width)

    own = HybridModels(arm_features, dim + int(checks.boolean(where, "intercept", intercept)), regularization)
    return with_intercept(contextual_policy(where, own, score), intercept)
