"""A context vector that all arms share, and means that are squares of linear functions, which no linear rule fits."""

import jax.numpy as jnp

from jaxbandit.base.arguments import Deviation, Dim, NumArms
from jaxbandit.base.contract import Environment
from jaxbandit.base.declaration import declare
from jaxbandit.environments.contextual.laws import LawName
from jaxbandit.environments.contextual.linear_vectors import EXAMPLE, linear_means
from jaxbandit.environments.contextual.means_of_contexts import environment_of, parameters_of
from jaxbandit.support.types import Array, ArrayLike


@declare(settings=({"theta": EXAMPLE}, {"num_arms": 4, "dim": 3, "law": "normal"}))
def quadratic_vectors(
    theta: ArrayLike | None = None,
    *,
    num_arms: NumArms | None = None,
    dim: Dim | None = None,
    sigma: Deviation = 0.1,
    law: LawName | ArrayLike = "sphere",
) -> Environment:
    """A new context vector in every round, and means that are squares of linear functions of it.

    Return the contextual bandit with means (x' theta_a)^2, where the context x is the same for all arms.

    The best linear fit of a mean is a constant, because the contexts x and -x are as likely. A rule learns the means if
    it gets the products x_i x_j as its context.

    Args:
      theta: as in `linear_vectors`, as are num_arms and dim.
      law: how contexts are drawn, as in `linear_vectors`; by default uniformly on the unit sphere.

    Returns:
      An Environment as `linear_vectors`, with other means.

    Raises:
      ValueError: as for `linear_vectors`.
    """
    parameters = parameters_of(theta, num_arms, dim, 2)
    rows, columns = parameters.shape

    def means(theta: Array, context: Array) -> Array:
        return jnp.square(linear_means(theta, context))

    return environment_of(law, (columns,), rows, parameters, means, sigma=sigma)
