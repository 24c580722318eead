"""Bounds of rates, and of means of scores in [0, 1], for all sample sizes at once: always-valid confidence intervals.

If the variance of scores is much smaller than that of a rate, the bounds of `comparisons/betting.py` are closer.
"""

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.support import special
from jaxbandit.theory.confidence_sequence import region


def rate_bounds(k: ArrayLike, n: ArrayLike, alpha: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper bounds of rates, valid at all sample sizes and stopping times at once, float64.

    `k` are numbers of successes, or sums of scores, in [0, n]. The rate may be outside of its bounds for some n with
    probability alpha. The lower bound is 0 for k = 0, the upper bound is 1 for k = n, and both are trivial for n = 0.
    """
    k, n, alpha = _check("rate_bounds", k, n, alpha)
    bounds = [
        region(hits, trials, log_alpha) if trials else (0.0, 1.0)
        for hits, trials, log_alpha in zip(k.ravel(), n.ravel(), np.log(alpha).ravel(), strict=True)
    ]
    low, high = np.array(bounds, np.float64).reshape(-1, 2).T
    return low.reshape(k.shape), high.reshape(k.shape)


def upper_rate(k: ArrayLike, n: ArrayLike, alpha: ArrayLike) -> np.ndarray:
    """Return upper bounds of rates of rare events, valid at all sample sizes and stopping times at once.

    Half of the prior weight is on a rate of 0. So if the event has not occurred, the bound is a little less than 1 -
    (alpha/2)^(1/n); otherwise it is that of `rate_bounds` at alpha/2, whose arguments these are. It increases with k.
    """
    k, n, alpha = _check("upper_rate", k, n, alpha)
    _, high = rate_bounds(k, n, alpha / 2)
    mixture = special.betaln(0.5, n + 0.5) - special.betaln(0.5, 0.5)  # of n trials without an event
    none = -np.expm1((np.log(alpha / 2) + np.logaddexp(0.0, mixture)) / np.maximum(n, 1))
    return np.where((k == 0) & (n > 0), none, high)


def _check(where: str, k: ArrayLike, n: ArrayLike, alpha: ArrayLike) -> list[np.ndarray]:
    k, n, alpha = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (k, n, alpha)))
    for name, value, good, allowed in (
        ("n", n, (n >= 0) & np.isfinite(n) & (n == np.floor(n)), "a whole number >= 0"),
        ("k", k, (k >= 0) & (k <= n), "in [0, n]"),
        ("alpha", alpha, (alpha > 0) & (alpha < 1), "in (0, 1)"),
    ):
        if not np.all(good):
            raise ValueError(f"{where}: {name} = {value[~good].ravel()[0]:g}, must be {allowed}")
    return [k, n, alpha]
