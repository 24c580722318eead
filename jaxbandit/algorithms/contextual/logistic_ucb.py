"""UCB for logistic regression with the online Laplace posterior: x' theta + alpha sqrt(x' P x)."""

from jaxbandit.algorithms.contextual.logistic_models import logistic_models, online
from jaxbandit.algorithms.contextual.policy import ContextualState, Each, contextual_policy, with_intercept
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support import checks
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, Scalar


@declare(
    question="regret",
    setting="contexts",
    rewards="in [0, 1], logistic means",
    cost="O(K d^2)",
    memory="O(K d^2) or O(K + d^2)",
    tries={"alpha": (1.0, 0.0), "regularization": (1.0, 0.1)},
    settings=({"shape": (2,)},),
)
def logistic_ucb(
    num_arms: int,
    shape: tuple[int, ...],
    *,
    alpha: Scalar = 1.0,
    regularization: Scalar = 1.0,
    intercept: bool = True,
) -> Algorithm:
    """Upper confidence bounds for rewards in [0, 1] with logistic means.

    Return UCB with the online Laplace posterior of logistic regression.

    Each round pulls the arm with the largest x' theta + alpha sqrt(x' P x). After x and y, P^-1 gains q x x' with q =
    p (1 - p) at the old theta, and then theta gains P x (y - p). The width is that of the posterior, which shrinks more
    slowly where p is near 0 or 1; that of `ucb_glm` does not depend on p.

    Guarantee: None.

    Args:
      num_arms: number of arms, an integer >= 1; static.
      shape: shape of the context, static: (dim,) for a vector that all arms share, with a model for each arm, or
        (num_arms, dim) for a row for each arm, with one model.
      alpha: weight of the width, >= 0; traced.
      regularization: lambda > 0, precision of the prior N(0, I / lambda) of the weights; traced.
      intercept: whether a constant 1 is appended to each row. Without it every model has probability 1/2 at x = 0, and
        rewards whose share of ones is far from 1/2 cost linear regret. Static.

    Returns:
      An Algorithm with contexts float[shape], or an Offer of them, actions int32[] in [0, num_arms) and rewards float[]
      in [0, 1].

    Raises:
      ValueError: an argument is out of range.

    Source:
      No paper states this rule: it is the index of LinUCB (Li, Chu, Langford and Schapire 2010, A contextual-bandit
      approach to personalized news article recommendation, WWW, Algorithm 1) on the extended Kalman filter of logistic
      regression.
    """
    checks.number("logistic_ucb", "alpha", alpha, low=0.0)
    own = logistic_models("logistic_ucb", online, num_arms, shape, regularization, intercept)

    def score(noise: None, state: ContextualState, each: Each) -> Array:
        return each(own.model.mean) + as_float(alpha) * each(own.model.width)

    return with_intercept(contextual_policy("logistic_ucb", own, score, rewards=Rewards(0.0, 1.0)), intercept)
