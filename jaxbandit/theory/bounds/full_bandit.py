"""Theory of full-bandit top-k identification: design constants, H_epsilon, and sample bounds of SAQM and ICB.

Kuroki, Xu, Miyauchi, Honda and Sugiyama (2020), Section 4, Theorems 1 and 3, Lemma 3. Difference: the theorems are
stated in O(.) only; here the conditions at the end of their proofs, t <= (3 + 1 / alpha)^2 C_t^2 H_epsilon for SAQM and
t <= 4 C_t^2 H'_epsilon for ICB, are solved for the largest t, with A_t = t Lambda_p.
"""

import math
from typing import Annotated, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import optimize

from jaxbandit.base.arguments import Delta, Epsilon, NonNegative, Positive, PositiveUnit, SeveralArms, Sigma
from jaxbandit.base.calls import checked
from jaxbandit.base.parameters import Arg
from jaxbandit.support.checks import arrays
from jaxbandit.support.domains import integer, values
from jaxbandit.support.types import Scalar
from jaxbandit.theory.solvers.decision_classes import log_binomial
from jaxbandit.theory.solvers.densest import peeling, quadratic
from jaxbandit.theory.solvers.quadratic_bound import upper_bound

_C = 6 / math.pi**2

DesignMatrix = Annotated[np.ndarray, Arg(arrays(ndim=2, min_size=2), "float[n, n], Lambda_p, positive definite")]
SetSize = Annotated[
    int,
    Arg(
        lambda given: integer(1, (given["num_arms"] if "num_arms" in given else len(given["design_matrix"])) - 1),
        "size of the sets",
        within="an integer in [1, n - 1]",
    ),
]
Complexity = Annotated[float, Arg(values("a number in (0, inf]", lambda x: x > 0, float))]

_POLISH = 100  # maximal number of exchanges; in practice the result of peeling needs none


class Interval(NamedTuple):
    """Two numbers that enclose the quantity of interest."""

    low: np.ndarray  # float[], attained by a set
    high: np.ndarray  # float[], a certified upper bound


@checked
def uniform_design_matrix(num_arms: SeveralArms, k: SetSize) -> np.ndarray:
    """Return Lambda_p, float[n, n], of the uniform allocation over all sets of k, without a list of them; rho(p) is n.

    Args:
      num_arms: number of arms n.
    """
    both = k * (k - 1) / (num_arms * (num_arms - 1))
    return np.full((num_arms, num_arms), both) + (k / num_arms - both) * np.eye(num_arms)


@checked
def rho(design_matrix: DesignMatrix, k: SetSize) -> Interval:
    """Return a certified interval for rho(p), the largest squared norm of a set of k in Lambda_p^-1."""
    inverse = _inverse(design_matrix)
    with jax.enable_x64(True):
        weights = jnp.asarray(inverse)
        low = quadratic(weights, peeling(weights, k, polish=_POLISH))
        high = upper_bound(weights, k)
    return Interval(np.asarray(low), np.maximum(low, high))


@checked
def rho_prime(design_matrix: DesignMatrix, k: SetSize) -> np.ndarray:
    """Return rho'(p), float[], a design constant like `rho` for ICB.

    It is the squared largest sum of sqrt(Lambda_p^-1(i, i)) over arms in exactly one of two sets of k, at most 2 min(k,
    n - k) arms.
    """
    widths = np.sqrt(np.sort(_inverse(design_matrix).diagonal())[::-1])
    return np.asarray(widths[: 2 * min(k, len(widths) - k)].sum() ** 2)


@checked
def full_bandit_complexity(rho: Positive, gap: NonNegative, *, epsilon: Epsilon = 0.0) -> np.ndarray:
    """Return H_epsilon = rho / (gap + epsilon)^2, float[], or H'_epsilon for rho'; inf if gap + epsilon = 0.

    Args:
      rho: design constant.
      gap: gap between the best and the second-best set.
      epsilon: tolerated simple regret of the sum.
    """
    return np.asarray(rho / (gap + epsilon) ** 2 if gap + epsilon > 0 else np.inf)


@checked
def saqm_sample_bound(
    num_arms: SeveralArms, k: SetSize, complexity: Complexity, *, alpha: PositiveUnit, delta: Delta, sigma: Sigma
) -> np.ndarray:
    """Return the samples, float[], within which SAQM stops with probability 1 - delta (Theorem 3, Corollary 1).

    Args:
      num_arms: number of arms n.
      complexity: H_epsilon.
      alpha: lower bound on alpha_t over the rounds.
      sigma: bound on the noise of a pull, k R in the paper.
    """
    level = log_binomial(num_arms, k) - math.log(delta)
    return _largest(8 * (sigma * (3 + 1 / alpha)) ** 2 * complexity, level, num_arms)


@checked
def icb_sample_bound(
    num_arms: SeveralArms,
    k: SetSize,
    complexity: Complexity,
    *,
    delta: Delta,
    sigma: Sigma,
    radius: Literal["lemma1", "prop1"] = "lemma1",
) -> np.ndarray:
    """Return the samples, float[], within which ICB on size-k sets stops with probability 1 - delta (Lemma 3).

    Args:
      num_arms: number of arms n.
      complexity: H'_epsilon.
      sigma: bound on the noise of a pull, k R in the paper.
      radius: "lemma1" for sigma sqrt(2 log(c' t^2 n / delta)), or "prop1" for sigma sqrt(8 log(c' t^2 K / delta)).
    """
    if radius == "lemma1":
        return _largest(8 * sigma**2 * complexity, math.log(num_arms / delta), num_arms)
    return _largest(32 * sigma**2 * complexity, log_binomial(num_arms, k) - math.log(delta), num_arms)


def _largest(scale: Scalar, level: float, least: int) -> np.ndarray:
    """Return the largest t with t <= scale (log(c' t^2) + level), at least `least`."""
    if not math.isfinite(scale):
        return np.asarray(np.inf)

    def excess(log_t: float) -> float:
        return float(scale * (math.log(_C) + 2 * log_t + level) - math.exp(log_t))

    peak = math.log(2 * scale)  # concave in t, largest here
    if excess(peak) < 0:
        return np.asarray(float(least))
    top = peak + 1.0
    while excess(top) > 0:
        top += 1.0
    return np.asarray(max(math.exp(float(optimize.bisect(excess, peak, top, xtol=1e-14))), float(least)))  # type: ignore


def _inverse(matrix: np.ndarray) -> np.ndarray:
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"design_matrix has shape {matrix.shape}, must be square")
    rank = np.linalg.matrix_rank(matrix, hermitian=True)
    if rank < len(matrix):
        raise ValueError(f"design_matrix has rank {rank}, must have rank {len(matrix)}")
    return np.linalg.inv(matrix)
