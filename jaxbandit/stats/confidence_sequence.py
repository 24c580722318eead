"""Confidence sequence of a rate: an interval for every number of trials, all of which hold the rate at once.

Howard, Ramdas, McAuliffe, Sekhon (2021), the beta-binomial mixture, with Jeffreys's prior Beta(1/2, 1/2). No rule for
when to look or stop can break it; Clopper and Pearson's interval holds for a number of trials fixed beforehand only.
"""

import math
from typing import Any

from scipy.optimize import brentq
from scipy.special import betaln, xlogy

from jaxbandit.stats.intervals import Interval


def confidence_sequence(hits: int, trials: int, confidence: float) -> Interval:
    """Return the interval of a rate after `trials` trials, valid under optional stopping.

    Let p be the rate. The probability of the trials seen under the prior, over that under p, is a martingale with mean
    1 if p is right. By Ville's inequality it ever reaches 1 / (1 - confidence) with probability at most 1 - confidence.
    The interval holds the rates at which it has not. This prior costs at most log(2 sqrt(trials)) more than knowing
    the rate beforehand (Krichevsky and Trofimov 1981), whatever the rate, 0 included.

    Args:
      hits: trials that hit, in [0, trials].
      trials: >= 0; without any, the interval is [0, 1] and the value 1/2, the prior's mean.
      confidence: in (0, 1), of all the intervals of one sequence of trials together.

    Returns:
      The hits' share with its standard error, and the interval. Both ends increase with `hits`.

    Raises:
      ValueError: an argument out of range.
    """
    if not 0 <= hits <= trials:
        raise ValueError(f"confidence_sequence: hits = {hits} of trials = {trials}, must be in [0, trials]")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence_sequence: confidence = {confidence}, must be in (0, 1)")
    if not trials:
        return Interval(0.5, math.inf, 0.0, 1.0)
    misses = trials - hits
    least = float(betaln(hits + 0.5, misses + 0.5) - betaln(0.5, 0.5)) + math.log1p(-confidence)
    low = math.exp(_log_lower(hits, misses, least)) if hits else 0.0
    high = -math.expm1(_log_lower(misses, hits, least)) if misses else 1.0
    rate = hits / trials
    return Interval(rate, math.sqrt(rate * (1 - rate) / trials), low, high)


def _log_lower(hits: int, misses: int, least: float) -> float:
    """Return log p of the rate p <= hits / trials at which the log-likelihood falls to `least`; hits >= 1."""
    if not misses:
        return least / hits

    def excess(log_rate: float) -> float:
        return hits * log_rate + float(xlogy(misses, -math.expm1(log_rate))) - least

    # hits log p alone is `least` at the left end; the likelihood's maximum, at the right, exceeds any mixture of it.
    root: Any = brentq(excess, least / hits, math.log(hits / (hits + misses)), xtol=1e-300)
    return float(root)
