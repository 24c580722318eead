"""A context vector that all arms share, and rewards 0 or 1 with log-odds that are linear in it, for each arm."""

from collections.abc import Callable

import jax

from jaxbandit.base.arguments import Dim, Finite, NumArms
from jaxbandit.base.contract import Environment
from jaxbandit.base.declaration import declare
from jaxbandit.environments.contextual.laws import LawName
from jaxbandit.environments.contextual.linear_vectors import EXAMPLE, linear_means
from jaxbandit.environments.contextual.means_of_contexts import environment_of, parameters_of
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, ArrayLike, Scalar


@declare(settings=({"theta": EXAMPLE, "slope": 3.0, "shift": -1.0}, {"num_arms": 4, "dim": 3, "law": "sphere"}))
def logistic_vectors(
    theta: ArrayLike | None = None,
    *,
    num_arms: NumArms | None = None,
    dim: Dim | None = None,
    slope: Finite = 1.0,
    shift: Finite = 0.0,
    law: LawName | ArrayLike = "normal",
) -> Environment:
    """A new context vector in every round, and rewards 0 or 1 with linear log-odds for each arm.

    Return the contextual bandit in which arm a pays 1 with probability p(slope x' theta_a + shift), where
    p(u) = 1/(1 + exp(-u)) and the context x is the same for all arms.

    Args:
      theta: float[num_arms, dim], finite; traced. It is hidden from algorithms. None: each run draws its own, with
        every row uniform on the unit sphere.
      num_arms: number of arms. Required without theta, whose rows it otherwise equals.
      dim: dimension of a context. Required without theta, whose columns it otherwise equals.
      slope: factor of x' theta_a.
      shift: log-odds at x' theta_a = 0. At -3, an arm pays in 5 % of the rounds.
      law: how contexts are drawn, as in `linear_vectors`.

    Returns:
      An Environment with contexts float[dim], actions int32[] in [0, num_arms) and rewards 0 or 1. The noise of a round
      is that of the context, and a uniform number shared by all arms. The regret is the gap of the arm's probability to
      the largest one in the context.

    Raises:
      ValueError: the sizes of theta, num_arms, dim and law differ.
    """
    parameters = parameters_of(theta, num_arms, dim, 2)
    rows, columns = parameters.shape
    means = logistic(linear_means, slope, shift)
    return environment_of(law, (columns,), rows, parameters, means, sigma=None)


def logistic(linear: Callable[[Array, Array], Array], slope: Scalar, shift: Scalar) -> Callable[[Array, Array], Array]:
    """Return `(theta, context) -> float[num_arms]`, the probabilities of which `linear` gives the log-odds."""

    def means(theta: Array, context: Array) -> Array:
        return jax.nn.sigmoid(as_float(slope) * linear(theta, context) + as_float(shift))

    return means
