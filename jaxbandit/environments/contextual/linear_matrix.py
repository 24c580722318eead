"""A context with a row of features for each arm, new in every round, and one linear model that all arms share."""

import jax.numpy as jnp

from jaxbandit.base.arguments import Deviation, Dim, NumArms
from jaxbandit.base.contract import Environment
from jaxbandit.base.declaration import declare
from jaxbandit.environments.contextual.laws import LawName
from jaxbandit.environments.contextual.means_of_contexts import environment_of, parameters_of
from jaxbandit.support import checks
from jaxbandit.support.domains import integer
from jaxbandit.support.types import Array, ArrayLike

TABLE = ((1.0, 0.0), (0.6, 0.8), (0.0, -1.0), (0.5, 0.5))


@declare(
    settings=(
        {"theta": (1.0, 0.2), "num_arms": 3},
        {"theta": (1.0, 0.2), "num_arms": 3, "law": "sphere", "sigma": 0.1},
        {"theta": (1.0, 0.2), "num_arms": 3, "law": TABLE},
        {"theta": (1.0, 0.2), "num_arms": 4, "law": (TABLE, TABLE[::-1])},
        {"num_arms": 4, "dim": 3},
    )
)
def linear_matrix(
    theta: ArrayLike | None = None,
    num_arms: NumArms | None = None,
    *,
    dim: Dim | None = None,
    sigma: Deviation = 1.0,
    law: LawName | ArrayLike = "normal",
) -> Environment:
    """New features of every arm in every round, and linear means with one parameter for all arms.

    Return the contextual bandit with means X_a' theta, where the context X has a row for each arm.

    Args:
      theta: float[dim], finite; traced. It is hidden from algorithms. None: each run draws its own, uniformly on the
        unit sphere.
      dim: number of features. Required without theta, whose length it otherwise equals.
      law: how contexts are drawn, independently in each round: "normal", rows N(0, I/dim); "sphere", rows uniform with
        norm 1 (static); a table float[rows, dim], of which each arm draws a row uniformly; or a table float[rows,
        num_arms, dim], of which a round draws one entry (traced).

    Returns:
      An Environment with contexts float[num_arms, dim], actions int32[] in [0, num_arms) and rewards float[]. The noise
      of a round is that of the context, and a standard normal shared by all arms. The regret is the gap of the arm's
      mean to the best mean in the context.

    Raises:
      ValueError: the sizes of theta, dim and law differ.

    Source:
      Abbasi-Yadkori, Pal and Szepesvari (2011), Improved algorithms for linear stochastic bandits, NeurIPS.
    """
    arms: int = checks.take("num_arms", num_arms, integer(1))
    parameters = parameters_of(theta, None, dim, 1)
    environment = environment_of(law, (arms, *parameters.shape), arms, parameters, linear_means, sigma=sigma)
    return environment._replace(
        known=lambda: environment.known() | {"theta_norm": parameters.norm()},
        truth=environment.truth._replace(dim=parameters.shape[0]),
    )


def linear_means(theta: Array, context: Array) -> Array:
    """Return X_a' theta of every arm, float[arms]."""
    return jnp.sum(context * theta[None], 1)
