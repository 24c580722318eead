"""What late feedback adds to regret: Joulani, Gyorgy and Szepesvari (2013), Theorem 6, for a constant delay."""

from numpy.typing import ArrayLike

from jaxbandit import checks


def delay_regret_bound(means: ArrayLike, delay: int) -> float:
    """Return delay times the sum of gaps, the most that a constant delay adds to the regret of index rules.

    Until the first reward of an arm comes it is pulled `delay` times more; later, at most that many pulls are on their
    way. The regret with the delay is at most that without it, and this, for rules that the theorem covers (UCB and its
    kin); that of a measured run is a random number, so that means over runs are to be compared.

    Args:
      means: float[num_arms], true means.
      delay: rounds, >= 0.

    Raises:
      ValueError: an argument is out of range.
    """
    mu = checks.array("delay_regret_bound", "means", means)
    delay = checks.integer("delay_regret_bound", "delay", delay, 0)
    return float(delay * (mu.max() - mu).sum())
