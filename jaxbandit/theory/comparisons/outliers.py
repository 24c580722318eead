"""A remark on differences that are not normal: one of them is too far from the others."""

import numpy as np

from jaxbandit.support import special

FALSE_ALARMS = 0.01  # probability of a remark in a search whose differences are normal, at most
FEWEST = 4  # differences without which nothing can be said


def outlier(differences: np.ndarray, num_pairs: int) -> float | None:
    """Return the largest deviation from the mean in standard deviations if it is an outlier of normal numbers, or None.

    It is the test of Grubbs at level 0.01 divided by the number of pairs that are tested; the divisor is n - 1.
    """
    n = len(differences)
    if n < FEWEST:
        return None
    apart = np.abs(differences - differences.mean())
    sd = differences.std(ddof=1)
    if not sd > 0:
        return None
    t = special.stdtrit(n - 2, 1 - FALSE_ALARMS / (2 * n * num_pairs))
    limit = (n - 1) / np.sqrt(n) * np.sqrt(t * t / (n - 2 + t * t))
    largest = float(apart.max() / sd)
    return largest if largest > limit else None
