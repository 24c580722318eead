"""Theory of regret when means jump, or when an adversary chooses the rewards.

The sum of log t over segments is not a lower bound for every policy, because what is learned in one segment may help in
the next. Minimax rates are for the worst instance.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.support import checks


def restarting_regret(constants: Sequence[float], starts: Sequence[int], rounds: ArrayLike) -> np.ndarray:
    """Return the sum over segments of constant * log(rounds of the segment so far), at each t of rounds.

    It is the asymptotic dynamic regret of an efficient policy that forgets everything at each change, and may be more
    than what an oracle pays in short segments.

    Args:
      constants: regret constant of each segment's means (from `bernoulli_regret_constant` and others), >= 0.
      starts: number of rounds before each segment, increasing from 0.
      rounds: float[n], numbers of rounds t >= 1.
    """
    where = "restarting_regret"
    constants = checks.array(where, "constants", constants, low=0.0)
    first = _starts(where, starts)
    if len(first) != len(constants):
        raise ValueError(f"{where}: starts has {len(first)} entries, must have {len(constants)}, one per constant")
    rounds = np.asarray(rounds, np.float64)
    lasted = np.minimum(rounds[:, None], np.append(first[1:], np.inf)) - first
    return np.log(np.maximum(lasted, 1.0)) @ constants


def minimax_switching_regret(num_arms: int, starts: Sequence[int], rounds: ArrayLike) -> np.ndarray:
    """Return min(sqrt(K V t), t) / 20 at each t of rounds, for V segments begun: no policy has less on every instance.

    With one segment it is a lower bound on the regret against the best fixed arm in hindsight.

    Args:
      num_arms: number of arms K, an integer >= 2.
      starts: number of rounds before each segment, increasing from 0.
      rounds: float[n], numbers of rounds t >= 1.

    Source: Auer, Cesa-Bianchi, Freund and Schapire (2002), The nonstochastic multiarmed bandit problem, SIAM J.
    Comput., Theorem 5.1, for one segment; V segments of equal length cost at least min(sqrt(K t / V), t / V) / 20 each,
    on average over the arms.
    """
    num_arms = checks.integer("minimax_switching_regret", "num_arms", num_arms, 2)
    first = _starts("minimax_switching_regret", starts)
    rounds = np.asarray(rounds, np.float64)
    begun = np.sum(first < rounds[:, None], axis=1)
    return np.minimum(np.sqrt(num_arms * begun * rounds), rounds) / 20


def _starts(where: str, starts: Sequence[int]) -> np.ndarray:
    first = checks.array(where, "starts", starts, low=0.0)
    if first[0] or (np.diff(first) <= 0).any():
        raise ValueError(f"{where}: starts = {list(starts)}, must increase from 0")
    return first
