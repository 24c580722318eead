"""Thompson sampling with disjoint linear models: every arm has a normal posterior of its own.

The drawn scores x' theta~_a of the arms are independent normals, so one normal for each arm is drawn, not a vector.
"""

from jaxbandit.algorithms.contextual.models import models, ridge
from jaxbandit.algorithms.contextual.policy import ContextualState, Each, contextual_policy
from jaxbandit.base.arguments import Dim, Intercept, NumArms, Regularization, Sigma
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float, normal_noise
from jaxbandit.support.types import Array


@declare(
    question="regret",
    setting="contexts",
    rewards="sub-Gaussian, scale given",
    cost="O(K d^2)",
    memory="O(K d^2)",
    tries={"regularization": (0.25, 1.0)},
    settings=({"dim": 2},),
)
def lin_ts_disjoint(
    num_arms: NumArms,
    dim: Dim,
    *,
    sigma: Sigma = 1.0,
    regularization: Regularization | None = None,
    intercept: Intercept = True,
) -> Algorithm:
    """Linear Thompson sampling for a context that all arms share, with a linear model for each arm.

    Each round draws x' theta~_a, a normal with mean x' theta_a and standard deviation sigma sqrt(x' P_a x), for every
    arm, and pulls the arm with the largest draw; see `lin_ucb_disjoint` for theta_a and P_a. By default this is the
    posterior under the prior N(0, I) of every theta_a and normal noise. An arm that is not available has its draw, too.

    Guarantee: None.

    Args:
      dim: dimension of the context. The prior is meant for contexts of norm about 1.
      regularization: lambda; None means sigma^2, the prior N(0, I). The prior is N(0, I sigma^2 / lambda).

    Returns:
      An Algorithm with contexts float[dim], or an Offer of them, actions int32[] in [0, num_arms) and rewards float[].
      Its noise is float[num_arms], the normals of the round.

    Source:
      Agrawal and Goyal (2013), Thompson sampling for contextual bandits with linear payoffs, ICML, Algorithm 1, here
      with a model for each arm and the posterior's own scale.
    """
    prior = sigma * sigma if regularization is None else regularization
    own = models(ridge, prior, num_arms, (dim,), intercept)

    def score(noise: Array, state: ContextualState, each: Each) -> Array:
        return each(own.model.mean) + as_float(sigma) * noise * each(own.model.width)

    noise = normal_noise(num_arms)
    return contextual_policy(own, score, noise=noise, rewards=Rewards(sigma=sigma), intercept=intercept)
