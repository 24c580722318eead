"""The additional regret from a constant delay of feedback."""

from numpy.typing import ArrayLike

from jaxbandit.support import checks


def delay_regret_bound(means: ArrayLike, delay: int) -> float:
    """Return delay times the sum of gaps, the most that a constant delay adds to the mean regret of UCB policies.

    Args:
      means: float[num_arms], the true means.
      delay: delay in rounds, an integer >= 0.

    Source: Joulani, Gyorgy and Szepesvari (2013), Online learning under delayed feedback, ICML, Theorem 6.
    """
    mu = checks.array("delay_regret_bound", "means", means)
    delay = checks.integer("delay_regret_bound", "delay", delay, 0)
    return float(delay * (mu.max() - mu).sum())
