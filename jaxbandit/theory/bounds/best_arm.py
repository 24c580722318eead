"""Theory of best-arm identification without structure: the characteristic time T* and the smallest number of pulls."""

import functools
from collections.abc import Mapping
from typing import Annotated, Any

import jax
import numpy as np

from jaxbandit.base.arguments import Delta, Deviations
from jaxbandit.base.calls import checked
from jaxbandit.base.parameters import Arg
from jaxbandit.support.checks import arrays
from jaxbandit.support.domains import Domain
from jaxbandit.support.types import Array, ArrayLike, FamilyName
from jaxbandit.theory.solvers.families import family as family_of
from jaxbandit.theory.solvers.optimal_weights import Weights, gaussian_weights, optimal_weights

_gaussian_weights = jax.jit(gaussian_weights)


def _means_of_family(given: Mapping[str, Any]) -> Domain:
    low = -np.inf if given["family"] == "gaussian" else 0.0
    return arrays(min_size=2, low=low, high=1.0 if given["family"] == "bernoulli" else np.inf)


Means = Annotated[ArrayLike, Arg(_means_of_family, within="entries in the range of the family")]


@functools.partial(jax.jit, static_argnames="family")  # compiled once for each number of arms, in a second or so
def _weights(means: Array, sigma: Array, family: FamilyName) -> Weights:
    return optimal_weights(family_of(family, sigma), means)


@checked
def characteristic_time(means: Means, *, family: FamilyName = "bernoulli", sigma: Deviations = 1.0) -> float:
    """Return T*, the number of pulls per unit of log(1/delta) that every rule needs to identify the best arm.

    Args:
      means: float[num_arms], num_arms >= 2. Two best arms make T* infinite. Means are kept 1e-6 from the ends of a
        family's range.
      family: family of the rewards, "bernoulli", "gaussian", "poisson" or "exponential".
      sigma: standard deviation of Gaussian rewards.

    Returns:
      T*, from the lower end of its certificate, so that bounds based on it hold whatever the error of the solver.

    Source: Garivier and Kaufmann (2016), Optimal best arm identification with fixed confidence, COLT, Theorem 1 and
    Lemma 3.
    """
    with jax.enable_x64(True):
        if np.ndim(sigma):
            if family != "gaussian":
                raise ValueError(f"sigma has {np.size(sigma)} entries, must be a number if family = {family!r}")
            optimum = _gaussian_weights(means, sigma**2)
        else:
            optimum = _weights(means, float(sigma), family)
        return float(optimum.time * (1 - optimum.spread))


@checked
def best_arm_lower_bound(
    means: Means, *, delta: Delta, family: FamilyName = "bernoulli", sigma: Deviations = 1.0
) -> float:
    """Return T* log(1 / (2.4 delta)), the smallest expected number of pulls; 0 for delta of at least 1 / 2.4.

    Args:
      means: float[num_arms], as for `characteristic_time`.
      family: family of the rewards, as for `characteristic_time`.
      sigma: standard deviation of Gaussian rewards, as for `characteristic_time`.

    Source: Kaufmann, Cappe and Garivier (2016), On the complexity of best-arm identification in multi-armed bandit
    models, JMLR.
    """
    level = max(float(np.log(1 / (2.4 * delta))), 0.0)
    return level * characteristic_time(means, family=family, sigma=sigma) if level else 0.0
