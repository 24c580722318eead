"""Thompson sampling for logistic regression, from one of two Gaussian approximations of the posterior.

Chapelle and Li (2011), Algorithm 3 ("diagonal"), processes the rewards in batches; here each comes alone.
"""

from typing import Literal

from jaxbandit.algorithms.contextual.logistic_models import diagonal, online
from jaxbandit.algorithms.contextual.models import models
from jaxbandit.algorithms.contextual.policy import ContextualState, Each, contextual_policy
from jaxbandit.base.arguments import Intercept, NonNegative, NumArms, PriorPrecision, Shape
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float, normal_noise
from jaxbandit.support.types import Array


@declare(
    question="regret",
    setting="contexts",
    rewards="in [0, 1], logistic means",
    cost="O(K d^2) or O(K d + d^2), diagonal O(K d)",
    memory="O(K d^2) or O(K + d^2), diagonal O(K d)",
    tries={"scale": (1.0, 0.3)},
    settings=({"shape": (2,)}, {"shape": (2,), "variant": "diagonal", "intercept": False}),
)
def logistic_ts(
    num_arms: NumArms,
    shape: Shape,
    *,
    variant: Literal["online", "diagonal"] = "online",
    regularization: PriorPrecision = 1.0,
    scale: NonNegative = 1.0,
    intercept: Intercept = True,
) -> Algorithm:
    """Thompson sampling for rewards in [0, 1] with logistic means.

    Each round draws theta~ = theta + scale P^(1/2) z, with z standard normal, and pulls the arm with the largest x'
    theta~. With a model for each arm the drawn scores are independent given x, so K normals are drawn and not K d; with
    one model dim normals are drawn, and one more for the intercept.

    Guarantee: None.

    Args:
      variant: "online" keeps the whole covariance P: after x and y, P^-1 gains q x x' with q = p (1 - p) at the old
        theta, and then theta gains P x (y - p). "diagonal" keeps variances only, and its mean is the optimum for the
        new reward given the last posterior.
      scale: factor of the posterior's standard deviations.

    Returns:
      An Algorithm with contexts float[shape], or an Offer of them, actions int32[] in [0, num_arms) and rewards float[]
      in [0, 1]. Its noise is float[num_arms] or, with one model, a normal for each of its weights.

    Source:
      Chapelle and Li (2011), An empirical evaluation of Thompson sampling, NeurIPS, Algorithm 3 ("diagonal"); the
      extended Kalman filter of logistic regression ("online").
    """
    posterior = {"online": online, "diagonal": diagonal}[variant]
    own = models(posterior, regularization, num_arms, shape, intercept)
    model = own.model
    normals = own.shape[1] if own.shared else own.num_arms

    def score(noise: Array, state: ContextualState, each: Each) -> Array:
        z = as_float(scale) * noise
        if own.shared:
            return each(lambda state, x: model.mean(model.draw(state, z), x))
        return each(model.mean) + z * each(model.width)

    noise = normal_noise(normals)
    return contextual_policy(own, score, noise=noise, rewards=Rewards(0.0, 1.0), intercept=intercept)
