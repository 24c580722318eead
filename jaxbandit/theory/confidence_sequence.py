"""Confidence sequence of a rate: one interval for every number of trials, all of which contain the rate at once.

This is the beta-binomial mixture of Howard, Ramdas, McAuliffe and Sekhon (2021) with Jeffreys's prior Beta(1/2, 1/2);
see docs/mathematics.md.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.support import special
from jaxbandit.theory.intervals import Interval

_LOWEST = -745.0  # the log of a smaller number than all positive ones of float64


def confidence_sequence(hits: int, trials: int, confidence: float) -> Interval[float]:
    """Return the interval of a rate after `trials` trials, valid under optional stopping.

    The confidence is that of all intervals of one sequence of trials at once. The value is the fraction of successful
    trials; without any the interval is [0, 1] and the value 1/2. Both ends increase with `hits`.
    """
    if not 0 <= hits <= trials:
        raise ValueError(f"confidence_sequence: hits = {hits} of trials = {trials}, must be in [0, trials]")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence_sequence: confidence = {confidence}, must be in (0, 1)")
    if not trials:
        return Interval(0.5, math.inf, 0.0, 1.0)
    low, high = region(hits, trials, math.log1p(-confidence))
    rate = hits / trials
    return Interval(rate, math.sqrt(rate * (1 - rate) / trials), low, high)


def region(hits: float, trials: int, log_alpha: float) -> tuple[float, float]:
    """Return the least and the largest rate at which the mixture has not reached 1/alpha.

    `hits` may be a sum of numbers in [0, 1]; `log_alpha` is the log of the probability that a rate is excluded wrongly.
    """
    misses = trials - hits
    least = float(special.betaln(hits + 0.5, misses + 0.5) - special.betaln(0.5, 0.5)) + log_alpha
    low = math.exp(_log_lower(hits, misses, least)) if hits else 0.0
    high = -math.expm1(_log_lower(misses, hits, least)) if misses else 1.0
    return low, high


def unseen(trials: ArrayLike, level: float) -> np.ndarray:
    """Return what the probability of an event that has not occurred in any trial may be at most.

    The bound 1 - level^(1 / trials) holds at any stopping time for an event that is fixed in advance, and not for one
    that is chosen by looking at the trials. For several sequences of trials, divide the level by their number.
    """
    trials = np.asarray(trials, np.float64)
    if not np.all(trials >= 0):
        raise ValueError(f"unseen: trials = {trials}, must be >= 0")
    if not 0 < level < 1:
        raise ValueError(f"unseen: level = {level}, must be in (0, 1)")
    return -np.expm1(math.log(level) / np.maximum(trials, 1e-300))


def _log_lower(hits: float, misses: float, least: float) -> float:
    """Return log p for the rate p <= hits / trials at which the log-likelihood falls to `least`; hits > 0."""
    from scipy.optimize import brentq  # imported here because it is slow to import and rarely needed

    if not misses:
        return least / hits
    if least <= _LOWEST * hits:  # the rate is 0 in float64
        return -math.inf

    def excess(log_rate: float) -> float:
        return hits * log_rate + float(special.xlogy(misses, -math.expm1(log_rate))) - least

    # At the left end, hits log p alone equals `least`. At the right end, the likelihood has its maximum, which exceeds
    # any mixture of likelihoods.
    root: Any = brentq(excess, least / hits, math.log(hits / (hits + misses)), xtol=1e-300)
    return float(root)
