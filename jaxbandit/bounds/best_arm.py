"""What theory says of the best of unrelated arms: T* of one-parameter families, and the pulls that it takes at least.

Garivier, Kaufmann (2016), Theorem 1: with a rule that is right with probability 1 - delta on every instance of the
family, the expected number of pulls is at least T* log(1 / (2.4 delta)). Concrete numbers in, NumPy float64 out.
"""

from typing import Any

import jax
import numpy as np

from jaxbandit import checks
from jaxbandit.solvers.families import FamilyName
from jaxbandit.solvers.families import family as family_of
from jaxbandit.solvers.optimal_weights import gaussian_weights, optimal_weights


def characteristic_time(means: Any, *, family: FamilyName = "bernoulli", sigma: Any = 1.0) -> float:
    """Return T*, the pulls for each unit of log(1/delta) without which no rule finds the best arm.

    Args:
      means: float[num_arms], num_arms >= 2. Two best arms make it inf. Means nearer than 1e-6 to the ends of a family's
        range count as that far off.
      family: of the rewards, "bernoulli", "gaussian", "poisson" or "exponential".
      sigma: standard deviation of Gaussian rewards, > 0, or float[num_arms], one an arm.

    Returns:
      T*, taken from the lower end of its certificate, so that what is built on it holds whatever the solver's error.

    Raises:
      ValueError: an argument is out of range.

    Source: Garivier, Kaufmann (2016), Optimal best arm identification with fixed confidence, COLT, Theorem 1 and
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
            found = jax.jit(gaussian_weights)(means, sigma**2)
        else:
            law = family_of(family, float(checks.number(where, "sigma", sigma, low=0.0, open_low=True)), where=where)
            found = jax.jit(lambda mu: optimal_weights(law, mu))(means)
        return float(found.time * (1 - found.spread))


def best_arm_lower_bound(means: Any, *, delta: float, family: FamilyName = "bernoulli", sigma: Any = 1.0) -> float:
    """Return T* log(1 / (2.4 delta)), 0 from delta = 1 / 2.4 on: the least expected number of pulls.

    Args:
      means: as of `characteristic_time`, as are family and sigma.
      delta: allowed error rate, in (0, 1).
      family: of the rewards.
      sigma: of Gaussian ones.

    Source: Kaufmann, Cappe, Garivier (2016), On the complexity of best-arm identification in multi-armed bandit models,
    JMLR.
    """
    checks.number("best_arm_lower_bound", "delta", delta, low=0.0, high=1.0, open_low=True, open_high=True)
    level = max(float(np.log(1 / (2.4 * delta))), 0.0)
    return level * characteristic_time(means, family=family, sigma=sigma) if level else 0.0
