"""Thompson sampling and Bayes-UCB with normal posteriors beyond those of a known variance, which `thompson` and
`bayes_ucb` have with `family="gaussian"`: for an unknown variance, and the posterior of Agrawal and Goyal (2013).
"""

from typing import Annotated

import jax.numpy as jnp

from jaxbandit.algorithms.regret.index_policy import IndexState, index_policy
from jaxbandit.base.arguments import NumArms
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.parameters import Arg
from jaxbandit.support.domains import number
from jaxbandit.support.numerics import as_float, normal_noise
from jaxbandit.support.types import Array, Scalar
from jaxbandit.theory.solvers.student_t import t_at, t_quantile


@declare(
    question="regret",
    rewards="Gaussian, variances unknown",
    cost="O(K), a draw of Student's t an arm",
    memory="O(K)",
    tries={"alpha": (-0.5, 0.0)},
)
def thompson_gaussian_unknown(num_arms: NumArms, *, alpha: Annotated[Scalar, Arg(number(-0.5, 1))] = -0.5) -> Algorithm:
    """Thompson sampling for normal rewards of unknown variances, Honda and Takemura 2014.

    Return Thompson sampling with the prior (variance)^(-1 - alpha) on the mean and the variance of each arm.

    The draw of an arm with N rewards is mean + sqrt(S / (N nu)) t_nu, with S the sum of the squared deviations and t_nu
    a draw of Student's t with nu = N + 2 alpha - 1 degrees of freedom. Each arm is pulled three times first.

    Guarantee: For alpha < 0, asymptotically optimal for normal rewards of unknown variances; for alpha >= 0 the regret
    is polynomial (Honda and Takemura 2014).

    Args:
      alpha: exponent of the prior, in [-0.5, 1]; traced. 0 is Jeffreys' prior of a scale, 1/2 that of both parameters.

    Returns:
      Its noise is float[num_arms], the standard normals whose levels the draws of Student's t have.

    Source:
      Honda and Takemura (2014), Optimality of Thompson sampling for Gaussian bandits depends on priors, AISTATS.
    """

    def index(state: IndexState, normals: Array) -> Array:
        degrees = jnp.maximum(as_float(state.counts) + (2 * as_float(alpha) - 1), 1.0)
        return state.means + jnp.sqrt(state.squares / degrees) * state.inverse_sqrt_counts * t_at(normals, degrees)

    noise = normal_noise(num_arms)
    return index_policy(
        "thompson_gaussian_unknown", num_arms, index, first=3, squares=True, invariant=True, noise=noise
    )


@declare(
    question="regret",
    rewards="Gaussian, variances unknown",
    cost="O(K), a quantile of Student's t an arm",
    memory="O(K)",
)
def bayes_ucb_gaussian_unknown(num_arms: NumArms) -> Algorithm:
    """Bayes-UCB for normal rewards of unknown variances, Kaufmann et al. 2012.

    Return Bayes-UCB: the index is mean + sqrt(S / (N (N - 1))) q, with q the quantile of level 1 - 1/t of Student's t.

    S is the sum of the squared deviations of the N rewards of the arm, and t has N - 1 degrees of freedom. Each arm is
    pulled twice first, and ties go to the lowest-numbered arm.

    Guarantee: None: the paper proves nothing for unknown variances.

    Source:
      Kaufmann, Cappe and Garivier (2012), On Bayesian upper confidence bounds for bandit problems, AISTATS, Section 3.
    """

    def index(state: IndexState) -> Array:
        degrees = jnp.maximum(as_float(state.counts) - 1, 1.0)
        quantile = t_quantile(1 / jnp.maximum(as_float(state.round), 2.0), degrees)
        return state.means + jnp.sqrt(state.squares / degrees) * state.inverse_sqrt_counts * quantile

    return index_policy("bayes_ucb_gaussian_unknown", num_arms, index, first=2, squares=True, invariant=True)


@declare(question="regret", rewards="in [0, 1]", cost="O(K), one normal draw an arm", memory="O(K)")
def thompson_gaussian_ag(num_arms: NumArms) -> Algorithm:
    """Thompson sampling with N(S / (N + 1), 1 / (N + 1)) for rewards in [0, 1], Agrawal and Goyal 2013.

    S is the sum of the N rewards of the arm. Each arm is pulled once first.

    Guarantee: Regret O(sqrt(K T log K)) whatever the gaps, for rewards in [0, 1] (Agrawal and Goyal 2013).

    Returns:
      Its noise is float[num_arms], standard normals.

    Source:
      Agrawal and Goyal (2013), Further optimal regret bounds for Thompson sampling, AISTATS, Algorithm 2.
    """

    def index(state: IndexState, normals: Array) -> Array:
        n = as_float(state.counts)
        return n * state.means / (n + 1) + normals / jnp.sqrt(n + 1)

    noise = normal_noise(num_arms)
    return index_policy("thompson_gaussian_ag", num_arms, index, noise=noise, rewards=Rewards(0.0, 1.0))
