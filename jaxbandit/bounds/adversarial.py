"""Proved upper bounds on expected regret against the best fixed arm, for rewards in [0, 1] that an adversary fixed.

A mean that was measured stays below, up to its error, with the defaults of the algorithm that a bound is named after.
The other side, below which no algorithm stays against every adversary, is `minimax_switching_regret` with one segment.
Concrete numbers in NumPy and float64.
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit import checks


def exp3_regret_bound(num_arms: int, rounds: ArrayLike, *, rate: Literal["anytime", "fixed"] = "anytime") -> np.ndarray:
    """Return sqrt(2 T K log K) of `exp3` with the fixed rate for each T of rounds, or 2 sqrt(T K log K) anytime.

    Args:
      num_arms: K >= 1.
      rounds: float[n], horizons T >= 1.
      rate: of `exp3`.

    Source: Bubeck and Cesa-Bianchi, Regret analysis of stochastic and nonstochastic multi-armed bandit problems (2012),
      Theorem 3.1.
    """
    num_arms = checks.integer("exp3_regret_bound", "num_arms", num_arms, 1)
    checks.choice("exp3_regret_bound", "rate", rate, ("anytime", "fixed"))
    root = np.sqrt(np.asarray(rounds, np.float64) * num_arms * np.log(num_arms))
    return 2 * root if rate == "anytime" else np.sqrt(2) * root


def exp3_s_regret_bound(num_arms: int, rounds: ArrayLike, *, num_changes: int = 1) -> np.ndarray:
    """Return 2 sqrt(e - 1) sqrt(K T ((Y + 1) log(K T) + e)) of `exp3_s`, made for each T of rounds and Y changes.

    It bounds the regret against every sequence of arms that changes Y times or less, the best fixed arm among them.

    Args:
      num_arms: K >= 1.
      rounds: float[n], horizons T >= 1.
      num_changes: Y >= 0.

    Source: Auer, Cesa-Bianchi, Freund and Schapire, The nonstochastic multiarmed bandit problem (2002), Corollary 8.3.
    """
    num_arms = checks.integer("exp3_s_regret_bound", "num_arms", num_arms, 1)
    num_changes = checks.integer("exp3_s_regret_bound", "num_changes", num_changes, 0)
    total = num_arms * np.asarray(rounds, np.float64)
    return 2 * np.sqrt((np.e - 1) * total * ((num_changes + 1) * np.log(total) + np.e))


def tsallis_inf_regret_bound(
    num_arms: int, rounds: ArrayLike, *, estimate: Literal["importance", "reduced_variance"] = "importance"
) -> np.ndarray:
    """Return 4 sqrt(K T) + 1 of `tsallis_inf` at each T of rounds; of the other estimate 2 sqrt(K T) + 10 K log T + 16.

    Args:
      num_arms: K >= 1.
      rounds: float[n], horizons T >= 1.
      estimate: of `tsallis_inf`.

    Source: Zimmert and Seldin, Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits (2021),
      Theorem 1.
    """
    num_arms = checks.integer("tsallis_inf_regret_bound", "num_arms", num_arms, 1)
    checks.choice("tsallis_inf_regret_bound", "estimate", estimate, ("importance", "reduced_variance"))
    horizon = np.asarray(rounds, np.float64)
    root = np.sqrt(num_arms * horizon)
    return 4 * root + 1 if estimate == "importance" else 2 * root + 10 * num_arms * np.log(horizon) + 16
