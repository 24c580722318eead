"""The additional regret from a constant delay of feedback: Joulani, Gyorgy and Szepesvari (2013), Theorem 6."""

from numpy.typing import ArrayLike

from jaxbandit.support import checks


def delay_regret_bound(means: ArrayLike, delay: int) -> float:
    """Return delay times the sum of gaps, the most that a constant delay adds to the regret of index policies.

    Until the first reward of an arm arrives, the arm is pulled up to `delay` more times; later, at most that many of
    its pulls are pending. For policies covered by the theorem (UCB and its relatives), the regret with the delay is at
    most the regret without it plus this bound. The regret of a single run is random, so compare means over runs.

    Args:
      means: float[num_arms], the true means.
      delay: delay in rounds, an integer >= 0.

    Raises:
      ValueError: an argument is out of range.

    Source:
      Joulani, Gyorgy and Szepesvari (2013), Online learning under delayed feedback, ICML, Theorem 6.
    """
    mu = checks.array("delay_regret_bound", "means", means)
    delay = checks.integer("delay_regret_bound", "delay", delay, 0)
    return float(delay * (mu.max() - mu).sum())
