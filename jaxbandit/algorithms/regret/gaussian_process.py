"""The common frame of rules on the posterior of a Gaussian process: prior, update, and the arm with the best score."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Algorithm, Arms, Offer, Rewards, none
from jaxbandit.base.offers import best_available
from jaxbandit.base.parameters import Arg
from jaxbandit.support.checks import arrays
from jaxbandit.support.domains import number
from jaxbandit.support.numerics import add_at, as_float
from jaxbandit.support.types import Array, ArrayLike, Key, PyTree, Scalar
from jaxbandit.theory.estimators import gaussian_process as estimator
from jaxbandit.theory.estimators.gaussian_process import Posterior

MOST_ARMS = 1000  # of which a run's matrix has 4 MB in float32

Points = Annotated[
    ArrayLike,
    Arg(
        arrays(ndim=2),
        'a point for each arm, such as a grid, float[num_arms, dim], of at most 1,000 arms; with kernel = "matrix" the '
        "prior covariance of the arms itself, float[num_arms, num_arms]",
    ),
]
Kernel = Annotated[
    Literal["rbf", "matern32", "matern52", "matrix"],
    Arg(
        meaning="prior covariance of the means at two points of distance d, with r = d / lengthscale, divided by the "
        'variance: "rbf" exp(-r^2 / 2), "matern32" (1 + sqrt(3) r) exp(-sqrt(3) r), "matern52" '
        '(1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r); or "matrix"'
    ),
]
Lengthscale = Annotated[
    Scalar,
    Arg(
        number(0, open_low=True),
        "distance at which means are no longer much alike, in the units of the features; unless the kernel is a matrix",
        (1.0, 0.3),
    ),
]
Variance = Annotated[
    Scalar, Arg(number(0, open_low=True), "prior variance of each mean; unless the kernel is a matrix", (1.0, 0.5))
]


class ProcessState(NamedTuple):
    """Pull counts and the posterior of the arms' means."""

    round: Array  # int32[], the round about to be played, from 1
    counts: Array  # int32[num_arms]
    posterior: Posterior


def process_policy(
    features: ArrayLike,
    kernel: str,
    lengthscale: Scalar,
    variance: Scalar,
    sigma: Scalar,
    score: Callable[[PyTree, ProcessState], Array],
    *,
    root: bool,
    noise: Callable[[Key], PyTree] | None = None,
) -> Algorithm:
    """Return the policy that pulls the arm with the best score, by the posterior after the rewards so far.

    Args:
      score: function from the noise of a round and the state to the scores of the arms, float[num_arms].
      root: whether the posterior has a root of the covariance, instead of the covariance.
    """
    check_process(features, kernel)
    update_posterior = estimator.update_root if root else estimator.update_covariance

    def init(key: Key) -> ProcessState:
        given = as_float(features)
        prior = given if kernel == "matrix" else estimator.kernel_matrix(kernel, given, lengthscale, variance)
        posterior = (estimator.with_root if root else estimator.with_covariance)(prior)
        return ProcessState(jnp.ones((), jnp.int32), jnp.zeros(given.shape[0], jnp.int32), posterior)

    def select(noise: PyTree, state: ProcessState, context: Offer | None) -> Array:
        return best_available(context, score(noise, state))

    def update(state: ProcessState, context: Offer | None, action: Array, reward: Array) -> ProcessState:
        counts = add_at(state.counts, action, 1)
        posterior = update_posterior(state.posterior, action, as_float(reward), as_float(sigma) ** 2)
        return ProcessState(state.round + 1, counts, posterior)

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        noise=noise or none(),
        arms=Arms(np.shape(features)[0]),
        rewards=Rewards(sigma=sigma),
    )


def check_process(features: Any, kernel: str) -> None:
    """Raise ValueError if there are too many points, or a matrix is no prior covariance."""
    num_arms = features.shape[0]
    if num_arms > MOST_ARMS:
        raise ValueError(f"features has {num_arms} rows, must have at most {MOST_ARMS}: a round updates their square")
    if kernel == "matrix":
        _check_covariance(features)


def _check_covariance(matrix: Any) -> None:
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f'features is float{list(matrix.shape)}, must be square with kernel = "matrix"')
    if not isinstance(matrix, np.ndarray):
        return
    if not np.allclose(matrix, matrix.T):
        i, j = (int(k) for k in np.argwhere(~np.isclose(matrix, matrix.T))[0])
        raise ValueError(
            f"features[{i}, {j}] = {matrix[i, j]!s} and features[{j}, {i}] = {matrix[j, i]!s}, must be equal, "
            'a covariance, with kernel = "matrix"'
        )
    least = float(np.linalg.eigvalsh(matrix)[0])
    if least < -1e-8 * max(float(np.abs(matrix).max()), np.finfo(float).tiny):
        raise ValueError(f'features has the eigenvalue {least:.3g}, must have none below 0 with kernel = "matrix"')
