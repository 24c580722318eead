"""LinUCB with disjoint models: Li, Chu, Langford and Schapire (2010), Algorithm 1.

The inverse is carried by a root, so that no matrix is factorized in a round. alpha is an argument, where the paper
derives 1 + sqrt(log(2 / delta) / 2), and so is the regularization, which is 1 there. The paper's contexts have a
constant feature; here it is appended. Ties, among them those of all arms that were never pulled, go to the
lowest-numbered arm instead of a random one.
"""

import functools

from jaxbandit.algorithms.contextual.models import models, ridge
from jaxbandit.algorithms.contextual.policy import ContextualState, Each, contextual_policy, with_intercept
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support import checks
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, Scalar


@declare(
    question="regret",
    setting="contexts",
    rewards="any",
    cost="O(K d^2)",
    memory="O(K d^2)",
    tries={"alpha": (1.0, 0.0, 2.0), "regularization": (1.0, 0.01)},
    settings=({"dim": 2},),
)
def lin_ucb_disjoint(
    num_arms: int, dim: int, *, alpha: Scalar = 1.0, regularization: Scalar = 1.0, intercept: bool = True
) -> Algorithm:
    """LinUCB for a context that all arms share, with a linear model for each arm.

    Return LinUCB with disjoint linear models.

    Each round pulls the arm with the largest x' theta_a + alpha sqrt(x' P_a x), where x is the round's context, theta_a
    the ridge estimate from the rewards of the arm, and P_a = (lambda I + sum x x')^-1 over the rounds in which it was
    pulled.

    Guarantee: None: the bound of Chu et al. (2011) is that of SupLinUCB, not of this rule.

    Args:
      num_arms: number of arms, an integer >= 1; static.
      dim: dimension of the context, an integer >= 1; static. The defaults are meant for contexts of norm at most 1.
      alpha: weight of the width, >= 0, in units of the rewards; traced.
      regularization: lambda, > 0; traced.
      intercept: whether a constant 1 is appended to the context. Without it the mean of every arm is 0 at x = 0, and
        rewards whose level is far from 0 cost linear regret. Static.

    Returns:
      An Algorithm with contexts float[dim], or an Offer of them, actions int32[] in [0, num_arms) and rewards float[].

    Raises:
      ValueError: an argument is out of range.

    Source:
      Li, Chu, Langford and Schapire (2010), A contextual-bandit approach to personalized news article recommendation,
      WWW, Algorithm 1.
    """
    dim = checks.integer("lin_ucb_disjoint", "dim", dim, 1)
    checks.number("lin_ucb_disjoint", "alpha", alpha, low=0.0)
    checks.number("lin_ucb_disjoint", "regularization", regularization, low=0.0, open_low=True)
    of = functools.partial(ridge, regularization=regularization)
    own = models("lin_ucb_disjoint", of, num_arms, (dim,), intercept)

    def score(noise: None, state: ContextualState, each: Each) -> Array:
        return each(own.model.mean) + as_float(alpha) * each(own.model.width)

    return with_intercept(contextual_policy("lin_ucb_disjoint", own, score), intercept)
