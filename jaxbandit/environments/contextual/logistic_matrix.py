"""A context with a row of features for each arm, and rewards 0 or 1 whose log-odds are linear in the arm's row."""

from jaxbandit.base.arguments import Dim, Finite, NumArms
from jaxbandit.base.contract import Environment
from jaxbandit.base.declaration import declare
from jaxbandit.environments.contextual.laws import LawName
from jaxbandit.environments.contextual.linear_matrix import linear_means
from jaxbandit.environments.contextual.logistic_vectors import logistic
from jaxbandit.environments.contextual.means_of_contexts import environment_of, parameters_of
from jaxbandit.support import checks
from jaxbandit.support.domains import integer
from jaxbandit.support.types import ArrayLike


@declare(
    settings=(
        {"theta": (1.0, 0.2), "num_arms": 3, "slope": 3.0, "shift": -1.0},
        {"num_arms": 4, "dim": 3, "law": "sphere"},
    )
)
def logistic_matrix(
    theta: ArrayLike | None = None,
    num_arms: NumArms | None = None,
    *,
    dim: Dim | None = None,
    slope: Finite = 1.0,
    shift: Finite = 0.0,
    law: LawName | ArrayLike = "normal",
) -> Environment:
    """New features of every arm in every round, and rewards 0 or 1 with linear log-odds.

    Return the contextual bandit in which arm a pays 1 with probability p(slope X_a' theta + shift), where
    p(u) = 1/(1 + exp(-u)) and the context X has a row for each arm.

    Args:
      theta: float[dim], finite; traced. It is hidden from algorithms. None: each run draws its own, uniformly on the
        unit sphere.
      dim: number of features. Required without theta, whose length it otherwise equals.
      slope: factor of X_a' theta.
      shift: log-odds at X_a' theta = 0. A rule without a column of ones cannot learn it.
      law: how contexts are drawn, as in `linear_matrix`.

    Returns:
      An Environment with contexts float[num_arms, dim], actions int32[] in [0, num_arms) and rewards 0 or 1. The noise
      of a round is that of the context, and a uniform number shared by all arms. The regret is the gap of the arm's
      probability to the largest one in the context.

    Raises:
      ValueError: the sizes of theta, dim and law differ.

    Source:
      Filippi, Cappe, Garivier and Szepesvari (2010), Parametric bandits: the generalized linear case, NeurIPS.
    """
    arms: int = checks.take("num_arms", num_arms, integer(1))
    parameters = parameters_of(theta, None, dim, 1)
    means = logistic(linear_means, slope, shift)
    return environment_of(law, (arms, *parameters.shape), arms, parameters, means, sigma=None)
