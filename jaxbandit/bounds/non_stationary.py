"""What theory says of regret where means jump, or where an adversary chooses the rewards.

No policy is bounded from below by the sum of its segments' log t: what was learnt in one segment may serve in the next.
So the asymptotic line is that of an oracle, which is told the changes and begins anew at each. The minimax rates are
lower bounds, on the worst instance of so many segments, not on the one at hand. Concrete numbers in NumPy and float64.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit import checks


def restarting_regret(constants: Sequence[float], starts: Sequence[int], rounds: ArrayLike) -> np.ndarray:
    """Return the sum over segments of constant * log(rounds of the segment so far), at each t of rounds.

    It is the asymptotic dynamic regret of an efficient policy that forgets all at each change: asymptotic, so that an
    oracle may pay less in short segments, and no lower bound for policies that keep what has not changed.

    Args:
      constants: of the segments, each the regret constant of its means (`bernoulli_regret_constant` and others), >= 0.
      starts: rounds played before each segment begins, increasing, the first 0.
      rounds: float[n], numbers of rounds t >= 1.
    """
    where = "restarting_regret"
    constants = checks.array(where, "constants", constants, low=0.0)
    first = _starts(where, starts)
    if len(first) != len(constants):
        raise ValueError(f"{where}: starts has {len(first)} entries, must have {len(constants)}, one a constant")
    rounds = np.asarray(rounds, np.float64)
    lasted = np.minimum(rounds[:, None], np.append(first[1:], np.inf)) - first
    return np.log(np.maximum(lasted, 1.0)) @ constants


def minimax_switching_regret(num_arms: int, starts: Sequence[int], rounds: ArrayLike) -> np.ndarray:
    """Return sqrt(K V t) / 20 at each t of rounds, V the segments begun by then: no policy has less on every instance.

    With one segment it bounds the regret against the best fixed arm in hindsight from below too. Within each of V
    segments of equal length the best arm may be any, whatever was seen before: each costs a policy at least
    min(sqrt(K t / V), t / V) / 20 on average over the arms (Auer, Cesa-Bianchi, Freund and Schapire 2002, Theorem 5.1).

    Args:
      num_arms: K >= 2.
      starts: rounds played before each segment begins, increasing, the first 0.
      rounds: float[n], numbers of rounds t >= 1.

    Source: the bound of one segment is Auer, Cesa-Bianchi, Freund and Schapire, The nonstochastic multiarmed bandit
      problem (2002); that of several follows as said.
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
