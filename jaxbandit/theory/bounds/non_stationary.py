"""Theory of regret when means jump, or when an adversary chooses the rewards.

The sum of log t over segments is not a lower bound for every policy, because what is learned in one segment may help in
the next. Minimax rates are for the worst instance.
"""

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.base.arguments import NonNegativeVector, SeveralArms, Starts
from jaxbandit.base.calls import checked


@checked
def restarting_regret(constants: NonNegativeVector, starts: Starts, rounds: ArrayLike) -> np.ndarray:
    """Return the sum over segments of constant * log(rounds of the segment so far), at each t of rounds.

    It is the asymptotic dynamic regret of an efficient policy that forgets everything at each change, and may be more
    than what an oracle pays in short segments.

    Args:
      constants: regret constant of each segment's means (from `bernoulli_regret_constant` and others).
      rounds: float[n], numbers of rounds t >= 1.
    """
    if len(starts) != len(constants):
        raise ValueError(f"starts has {len(starts)} entries, must have {len(constants)}, one per constant")
    rounds = np.asarray(rounds, np.float64)
    lasted = np.minimum(rounds[:, None], np.append(starts[1:], np.inf)) - starts
    return np.log(np.maximum(lasted, 1.0)) @ constants


@checked
def minimax_switching_regret(num_arms: SeveralArms, starts: Starts, rounds: ArrayLike) -> np.ndarray:
    """Return min(sqrt(K V t), t) / 20 at each t of rounds, for V segments begun: no policy has less on every instance.

    With one segment it is a lower bound on the regret against the best fixed arm in hindsight.

    Args:
      rounds: float[n], numbers of rounds t >= 1.

    Source: Auer, Cesa-Bianchi, Freund and Schapire (2002), The nonstochastic multiarmed bandit problem, SIAM J.
    Comput., Theorem 5.1, for one segment; V segments of equal length cost at least min(sqrt(K t / V), t / V) / 20 each,
    on average over the arms.
    """
    rounds = np.asarray(rounds, np.float64)
    begun = np.sum(starts < rounds[:, None], axis=1)
    return np.minimum(np.sqrt(num_arms * begun * rounds), rounds) / 20
