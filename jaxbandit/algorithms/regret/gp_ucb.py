"""GP-UCB of Srinivas, Krause, Kakade and Seeger (2010), Algorithm 1, on finitely many points.

The hyperparameters of the kernel are given and not fitted. A variance that rounding has made negative counts as 0.
"""

import math

import jax.numpy as jnp

from jaxbandit.algorithms.regret.gaussian_process import (
    Kernel,
    Lengthscale,
    Points,
    ProcessState,
    Variance,
    process_policy,
)
from jaxbandit.base.arguments import Delta, Sigma
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array


@declare(
    question="regret",
    rewards="Gaussian, scale given",
    cost="O(K^2)",
    memory="O(K^2)",
    tries={"delta": (0.1, 0.5)},
    settings=({}, {"kernel": "matern52"}),
)
def gp_ucb(
    features: Points,
    *,
    kernel: Kernel = "rbf",
    lengthscale: Lengthscale = 1.0,
    variance: Variance = 1.0,
    sigma: Sigma = 1.0,
    delta: Delta = 0.1,
) -> Algorithm:
    """Upper confidence bounds of a Gaussian process, for means that are a smooth function of a point.

    Each round pulls the arm, a point each, with the largest mu_a + sqrt(beta_t S_aa), where mu and S are the posterior
    mean and covariance under the prior of mean 0 with the kernel, and beta_t = 2 log(K t^2 pi^2 / (6 delta)) in round
    t. A round updates the K^2 covariances: 4 MB a run for 1,000 arms in float32.

    Guarantee: Regret O~(sqrt(T gamma_T beta_T)) with probability 1 - delta, if the means are a draw from the prior and
    the noise is normal (Srinivas et al. 2010), where gamma_T is the largest information about them in T rewards.

    Args:
      delta: allowed probability that a mean is ever above its bound.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and no contexts, or an `Offer`. It recommends
      the arm pulled most.

    Raises:
      ValueError: there are more than 1,000 arms, or a matrix is no covariance.

    Source:
      Srinivas, Krause, Kakade and Seeger (2010), Gaussian process optimization in the bandit setting: no regret and
      experimental design, ICML, Algorithm 1 and Theorem 1.
    """
    num_arms = features.shape[0]

    def score(noise: None, state: ProcessState) -> Array:
        log_rounds = 2 * jnp.log(as_float(state.round)) - jnp.log(as_float(delta))
        beta = 2 * (math.log(num_arms * math.pi**2 / 6) + log_rounds)
        return state.posterior.means + jnp.sqrt(beta * jnp.maximum(state.posterior.variances, 0.0))

    return process_policy(features, kernel, lengthscale, variance, sigma, score, root=False)
