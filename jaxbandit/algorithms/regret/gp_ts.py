"""Thompson sampling from the posterior of a Gaussian process on finitely many points.

The state has a root F of the posterior covariance, so that nothing is factorized in a round. The hyperparameters of the
kernel are given and not fitted.
"""

from jaxbandit.algorithms.regret.gaussian_process import (
    Kernel,
    Lengthscale,
    Points,
    ProcessState,
    Variance,
    process_policy,
)
from jaxbandit.base.arguments import Sigma
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import normal_noise
from jaxbandit.support.types import Array
from jaxbandit.theory.estimators import gaussian_process as estimator


@declare(
    question="regret",
    rewards="Gaussian, scale given",
    cost="O(K^2)",
    memory="O(K^2)",
    settings=({}, {"kernel": "matern32"}),
)
def gp_ts(
    features: Points,
    *,
    kernel: Kernel = "rbf",
    lengthscale: Lengthscale = 1.0,
    variance: Variance = 1.0,
    sigma: Sigma = 1.0,
) -> Algorithm:
    """Thompson sampling from a Gaussian process, for means that are a smooth function of a point.

    Each round draws the means of all points, one for each arm, from their posterior under the prior of mean 0 with the
    kernel, and pulls the arm with the largest draw. A round takes 3 K^2 products, and 4 MB a run for 1,000 arms in
    float32. A run begins with one factorization of K^3 operations, which runs of a call share.

    Guarantee: None stated: the mean over the prior of its regret is of the order of that of GP-UCB (Russo and Van Roy
    2014).

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and no contexts, or an `Offer`. Its noise is
      float[num_arms], the normal draws of the round. It recommends the arm pulled most.

    Raises:
      ValueError: there are more than 1,000 arms, or a matrix is no covariance.

    Source:
      Russo and Van Roy (2014), Learning to optimize via posterior sampling, Mathematics of Operations Research 39,
      Section 4, for the rule with a Gaussian process as the prior.
    """

    def score(noise: Array, state: ProcessState) -> Array:
        return estimator.draw(state.posterior, noise)

    noise = normal_noise(features.shape[0])
    return process_policy(features, kernel, lengthscale, variance, sigma, score, root=True, noise=noise)
