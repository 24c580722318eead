"""Theory of full-bandit top-k identification: design constants, H_epsilon, and sample bounds of SAQM and ICB.

Kuroki, Xu, Miyauchi, Honda and Sugiyama (2020), Section 4, Theorems 1 and 3, Lemma 3. Difference: the theorems are
stated in O(.) only; here the conditions at the end of their proofs, t <= (3 + 1 / alpha)^2 C_t^2 H_epsilon for SAQM and
t <= 4 C_t^2 H'_epsilon for ICB, are solved for the largest t, with A_t = t Lambda_p.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import optimize

from jaxbandit.support import checks
from jaxbandit.theory.solvers.decision_classes import log_binomial
from jaxbandit.theory.solvers.densest import peeling, quadratic
from jaxbandit.theory.solvers.quadratic_bound import upper_bound

_C = 6 / math.pi**2
_POLISH = 100  # maximal number of exchanges; in practice the result of peeling needs none


class Interval(NamedTuple):
    """Two numbers that enclose the quantity of interest."""

    low: np.ndarray  # float[], attained by a set
    high: np.ndarray  # float[], a certified upper bound


def uniform_design_matrix(num_arms: int, k: int) -> np.ndarray:
    """Return Lambda_p, float[n, n], of the uniform allocation over all sets of k, without a list of them; rho(p) is n.

    Args:
      num_arms: number of arms n, an integer >= 2.
      k: size of the sets, an integer in [1, n - 1].
    """
    checks.integer("uniform_design_matrix", "num_arms", num_arms, 2)
    checks.integer("uniform_design_matrix", "k", k, 1, num_arms - 1)
    both = k * (k - 1) / (num_arms * (num_arms - 1))
    return np.full((num_arms, num_arms), both) + (k / num_arms - both) * np.eye(num_arms)


def rho(design_matrix: np.ndarray, k: int) -> Interval:
    """Return a certified interval for rho(p), the largest squared norm of a set of k in Lambda_p^-1.

    Args:
      design_matrix: float[n, n], Lambda_p, positive definite.
      k: size of the sets, an integer in [1, n - 1].
    """
    inverse = _inverse("rho", design_matrix, k)
    with jax.enable_x64(True):
        weights = jnp.asarray(inverse)
        low = quadratic(weights, peeling(weights, k, polish=_POLISH))
        high = upper_bound(weights, k)
    return Interval(np.asarray(low), np.maximum(low, high))


def rho_prime(design_matrix: np.ndarray, k: int) -> np.ndarray:
    """Return rho'(p), float[], a design constant like `rho` for ICB.

    It is the squared largest sum of sqrt(Lambda_p^-1(i, i)) over arms in exactly one of two sets of k, at most 2 min(k,
    n - k) arms.

    Args:
      design_matrix: float[n, n], Lambda_p, positive definite.
      k: size of the sets, an integer in [1, n - 1].
    """
    widths = np.sqrt(np.sort(_inverse("rho_prime", design_matrix, k).diagonal())[::-1])
    return np.asarray(widths[: 2 * min(k, len(widths) - k)].sum() ** 2)


def full_bandit_complexity(rho: float, gap: float, *, epsilon: float = 0.0) -> np.ndarray:
    """Return H_epsilon = rho / (gap + epsilon)^2, float[], or H'_epsilon for rho'; inf if gap + epsilon = 0.

    Args:
      rho: design constant, > 0.
      gap: gap between the best and the second-best set, >= 0.
      epsilon: tolerated simple regret of the sum, >= 0.
    """
    where = "full_bandit_complexity"
    checks.number(where, "rho", rho, low=0.0, open_low=True)
    checks.number(where, "gap", gap, low=0.0)
    checks.number(where, "epsilon", epsilon, low=0.0)
    return np.asarray(rho / (gap + epsilon) ** 2 if gap + epsilon > 0 else np.inf)


def saqm_sample_bound(
    num_arms: int, k: int, complexity: float, *, alpha: float, delta: float, sigma: float
) -> np.ndarray:
    """Return the samples, float[], within which SAQM stops with probability 1 - delta (Theorem 3, Corollary 1).

    Args:
      num_arms: number of arms n, an integer >= 2.
      k: size of the sets, an integer in [1, n - 1].
      complexity: H_epsilon, > 0.
      alpha: lower bound on alpha_t over the rounds, in (0, 1].
      delta: allowed error probability, in (0, 1).
      sigma: bound on the noise of a pull, k R in the paper, > 0.
    """
    where = "saqm_sample_bound"
    _check(where, num_arms, k, complexity, delta, sigma)
    checks.number(where, "alpha", alpha, low=0.0, high=1.0, open_low=True)
    level = log_binomial(num_arms, k) - math.log(delta)
    return _largest(8 * (sigma * (3 + 1 / alpha)) ** 2 * complexity, level, num_arms)


def icb_sample_bound(
    num_arms: int, k: int, complexity: float, *, delta: float, sigma: float, radius: str = "lemma1"
) -> np.ndarray:
    """Return the samples, float[], within which ICB on size-k sets stops with probability 1 - delta (Lemma 3).

    Args:
      num_arms: number of arms n, an integer >= 2.
      k: size of the sets, an integer in [1, n - 1].
      complexity: H'_epsilon, > 0.
      delta: allowed error probability, in (0, 1).
      sigma: bound on the noise of a pull, k R in the paper, > 0.
      radius: "lemma1" for sigma sqrt(2 log(c' t^2 n / delta)), or "prop1" for sigma sqrt(8 log(c' t^2 K / delta)).
    """
    where = "icb_sample_bound"
    _check(where, num_arms, k, complexity, delta, sigma)
    checks.choice(where, "radius", radius, ("lemma1", "prop1"))
    if radius == "lemma1":
        return _largest(8 * sigma**2 * complexity, math.log(num_arms / delta), num_arms)
    return _largest(32 * sigma**2 * complexity, log_binomial(num_arms, k) - math.log(delta), num_arms)


def _largest(scale: float, level: float, least: int) -> np.ndarray:
    """Return the largest t with t <= scale (log(c' t^2) + level), at least `least`."""
    if not math.isfinite(scale):
        return np.asarray(np.inf)

    def excess(log_t: float) -> float:
        return scale * (math.log(_C) + 2 * log_t + level) - math.exp(log_t)

    peak = math.log(2 * scale)  # concave in t, largest here
    if excess(peak) < 0:
        return np.asarray(float(least))
    top = peak + 1.0
    while excess(top) > 0:
        top += 1.0
    return np.asarray(max(math.exp(float(optimize.bisect(excess, peak, top, xtol=1e-14))), float(least)))  # type: ignore


def _inverse(where: str, design_matrix: np.ndarray, k: int) -> np.ndarray:
    matrix = checks.array(where, "design_matrix", design_matrix, ndim=2, min_size=2)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{where}: design_matrix has shape {matrix.shape}, must be square")
    checks.integer(where, "k", k, 1, len(matrix) - 1)
    rank = np.linalg.matrix_rank(matrix, hermitian=True)
    if rank < len(matrix):
        raise ValueError(f"{where}: design_matrix has rank {rank}, must have rank {len(matrix)}")
    return np.linalg.inv(matrix)


def _check(where: str, num_arms: int, k: int, complexity: float, delta: float, sigma: float) -> None:
    checks.integer(where, "num_arms", num_arms, 2)
    checks.integer(where, "k", k, 1, num_arms - 1)
    if not complexity > 0:
        raise ValueError(f"{where}: complexity = {complexity!r}, must be a number in (0, inf]")
    checks.number(where, "delta", delta, low=0.0, high=1.0, open_low=True, open_high=True)
    checks.number(where, "sigma", sigma, low=0.0, open_low=True)
