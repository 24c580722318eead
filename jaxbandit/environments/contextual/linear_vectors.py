"""A context vector that all arms share, new in every round, and a linear model for each arm (disjoint models)."""

import jax.numpy as jnp

from jaxbandit.base.arguments import Deviation, Dim, NumArms
from jaxbandit.base.contract import Environment
from jaxbandit.base.declaration import declare
from jaxbandit.environments.contextual.laws import LawName
from jaxbandit.environments.contextual.means_of_contexts import environment_of, parameters_of
from jaxbandit.support.types import Array, ArrayLike

EXAMPLE = ((1.0, 0.2), (-0.5, 0.9), (0.1, -0.8))


@declare(
    settings=(
        {"theta": EXAMPLE},
        {"theta": EXAMPLE, "law": "sphere", "sigma": 0.1},
        {"theta": EXAMPLE, "law": ((1.0, 0.0), (0.6, 0.8), (0.0, -1.0), (0.5, 0.5))},
        {"num_arms": 4, "dim": 3},
    )
)
def linear_vectors(
    theta: ArrayLike | None = None,
    *,
    num_arms: NumArms | None = None,
    dim: Dim | None = None,
    sigma: Deviation = 1.0,
    law: LawName | ArrayLike = "normal",
) -> Environment:
    """A new context vector in every round, and linear means with a parameter for each arm.

    Return the contextual bandit with means x' theta_a, where the context x is the same for all arms.

    Args:
      theta: float[num_arms, dim], finite; traced. It is hidden from algorithms. None: each run draws its own, with
        every row uniform on the unit sphere.
      num_arms: number of arms. Required without theta, whose rows it otherwise equals.
      dim: dimension of a context. Required without theta, whose columns it otherwise equals.
      law: how contexts are drawn, independently in each round: "normal" N(0, I/dim), so that E|x|^2 = 1; "sphere",
        uniform with |x| = 1 (static); or a table float[rows, dim], of which a round draws a row uniformly (traced).

    Returns:
      An Environment with contexts float[dim], actions int32[] in [0, num_arms) and rewards float[]. The noise of a
      round is that of the context, and a standard normal shared by all arms. The regret is the gap of the arm's mean
      to the best mean in the context.

    Raises:
      ValueError: the sizes of theta, num_arms, dim and law differ.

    Source:
      Li, Chu, Langford and Schapire (2010), A contextual-bandit approach to personalized news article recommendation,
      WWW, Section 3.1.
    """
    parameters = parameters_of(theta, num_arms, dim, 2)
    rows, columns = parameters.shape
    return environment_of(law, (columns,), rows, parameters, linear_means, sigma=sigma)


def linear_means(theta: Array, context: Array) -> Array:
    """Return x' theta_a of every arm, float[num_arms]."""
    return jnp.sum(theta * context[None], 1)
