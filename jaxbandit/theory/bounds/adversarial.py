"""Proved upper bounds on expected regret against the best fixed arm, for rewards in [0, 1] of an oblivious adversary.

They are for the defaults of the algorithm that they are named after. `minimax_switching_regret` is a lower bound.
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.base.arguments import NumArms, Whole
from jaxbandit.base.calls import checked


@checked
def exp3_regret_bound(
    num_arms: NumArms, rounds: ArrayLike, *, rate: Literal["anytime", "fixed"] = "anytime"
) -> np.ndarray:
    """Return the regret bound of `exp3`: sqrt(2 T K log K) with the fixed rate for T, or 2 sqrt(T K log K) anytime.

    Args:
      rounds: float[n], horizons T >= 1; the bound is float64[n].
      rate: "anytime" or "fixed", as for `exp3`.

    Source: Bubeck and Cesa-Bianchi (2012), Regret analysis of stochastic and nonstochastic multi-armed bandit problems,
    Theorem 3.1.
    """
    root = np.sqrt(np.asarray(rounds, np.float64) * num_arms * np.log(num_arms))
    return 2 * root if rate == "anytime" else np.sqrt(2) * root


@checked
def exp3_s_regret_bound(num_arms: NumArms, rounds: ArrayLike, *, num_changes: Whole = 1) -> np.ndarray:
    """Return the regret bound of `exp3_s`, 2 sqrt(e - 1) sqrt(K T ((Y + 1) log(K T) + e)).

    It is for the defaults at each T and Y changes, and bounds the regret against every sequence of arms with at most Y
    changes, including the best fixed arm.

    Args:
      rounds: float[n], horizons T >= 1; the bound is float64[n].
      num_changes: number of changes Y.

    Source: Auer, Cesa-Bianchi, Freund and Schapire (2002), The nonstochastic multiarmed bandit problem, SIAM J.
    Comput., Corollary 8.3.
    """
    total = num_arms * np.asarray(rounds, np.float64)
    return 2 * np.sqrt((np.e - 1) * total * ((num_changes + 1) * np.log(total) + np.e))


@checked
def tsallis_inf_regret_bound(
    num_arms: NumArms, rounds: ArrayLike, *, estimate: Literal["importance", "reduced_variance"] = "importance"
) -> np.ndarray:
    """Return the regret bound of `tsallis_inf` after T rounds of K arms.

    It is 4 sqrt(K T) + 1 for "importance", and 2 sqrt(K T) + 10 K log T + 16 for "reduced_variance".

    Args:
      rounds: float[n], horizons T >= 1; the bound is float64[n].
      estimate: "importance" or "reduced_variance", as for `tsallis_inf`.

    Source: Zimmert and Seldin (2021), Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits, JMLR
    22, Theorem 1.
    """
    horizon = np.asarray(rounds, np.float64)
    root = np.sqrt(num_arms * horizon)
    return 4 * root + 1 if estimate == "importance" else 2 * root + 10 * num_arms * np.log(horizon) + 16
