"""The additional regret from a constant delay of feedback."""

from jaxbandit.base.arguments import Vector, Whole
from jaxbandit.base.calls import checked


@checked
def delay_regret_bound(means: Vector, delay: Whole) -> float:
    """Return delay times the sum of gaps, the most that a constant delay adds to the mean regret of UCB policies.

    Args:
      means: float[num_arms], the true means.
      delay: delay in rounds.

    Source: Joulani, Gyorgy and Szepesvari (2013), Online learning under delayed feedback, ICML, Theorem 6.
    """
    return float(delay * (means.max() - means).sum())
