"""Theory of best-arm identification without structure: the characteristic time T* and the smallest number of pulls."""

import functools

import jax
import numpy as np

from jaxbandit.support import checks
from jaxbandit.support.types import Array, ArrayLike
from jaxbandit.theory.solvers.families import FamilyName
from jaxbandit.theory.solvers.families import family as family_of
from jaxbandit.theory.solvers.optimal_weights import Weights, gaussian_weights, optimal_weights

_gaussian_weights = jax.jit(gaussian_weights)


@functools.partial(jax.jit, static_argnames="family")  # compiled once for each number of arms, in a second or so
def _weights(means: Array, sigma: Array, family: FamilyName) -> Weights:
    return optimal_weights(family_of(family, sigma), means)


def characteristic_time(means: ArrayLike, *, family: FamilyName = "bernoulli", sigma: ArrayLike = 1.0) -> float:
    """Return T*, the number of pulls per unit of log(1/delta) that every rule needs to identify the best arm.

    Args:
      means: float[num_arms], num_arms >= 2. Two best arms make T* infinite. Means are kept 1e-6 from the ends of a
        family's range.
      family: family of the rewards, "bernoulli", "gaussian", "poisson" or "exponential".
      sigma: standard deviation of Gaussian rewards, > 0, or float[num_arms] with one per arm.

    Returns:
      T*, from the lower end of its certificate, so that bounds based on it hold whatever the error of the solver.

    Source: Garivier and Kaufmann (2016), Optimal best arm identification with fixed confidence, COLT, Theorem 1 and
    Lemma 3.
    """
    where = "characteristic_time"
    low = {"bernoulli": 0.0, "poisson": 0.0, "exponential": 0.0}.get(family, -np.inf)
    means = checks.array(where, "means", means, min_size=2, low=low, high=1.0 if family == "bernoulli" else np.inf)
    with jax.enable_x64(True):
        if np.ndim(sigma):
            sigma = checks.array(where, "sigma", sigma, low=0.0, open_low=True)
            if family != "gaussian" or sigma.shape != means.shape:
                raise ValueError(f"{where}: sigma has shape {sigma.shape}, must be a number or, if Gaussian, theirs")
            optimum = _gaussian_weights(means, sigma**2)
        else:
            sigma = float(checks.number(where, "sigma", sigma, low=0.0, open_low=True))
            family_of(family, sigma, where=where)  # refuses other names
            optimum = _weights(means, sigma, family)
        return float(optimum.time * (1 - optimum.spread))


def best_arm_lower_bound(
    means: ArrayLike, *, delta: float, family: FamilyName = "bernoulli", sigma: ArrayLike = 1.0
) -> float:
    """Return T* log(1 / (2.4 delta)), the smallest expected number of pulls; 0 for delta of at least 1 / 2.4.

    Args:
      means: float[num_arms], as for `characteristic_time`.
      delta: allowed error probability, in (0, 1).
      family: family of the rewards, as for `characteristic_time`.
      sigma: standard deviation of Gaussian rewards, as for `characteristic_time`.

    Source: Kaufmann, Cappe and Garivier (2016), On the complexity of best-arm identification in multi-armed bandit
    models, JMLR.
    """
    checks.number("best_arm_lower_bound", "delta", delta, low=0.0, high=1.0, open_low=True, open_high=True)
    level = max(float(np.log(1 / (2.4 * delta))), 0.0)
    return level * characteristic_time(means, family=family, sigma=sigma) if level else 0.0
