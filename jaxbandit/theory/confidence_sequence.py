"""Confidence sequence of a rate: one interval for every number of trials, all of which contain the rate at once.

This is the beta-binomial mixture of Howard, Ramdas, McAuliffe and Sekhon (2021) with Jeffreys's prior Beta(1/2, 1/2).
It remains valid whenever the data are looked at or the trials are stopped, whereas the interval of Clopper and Pearson
is valid only for a number of trials that is fixed in advance.
"""

import math
from typing import Any

from scipy.optimize import brentq
from scipy.special import betaln, xlogy

from jaxbandit.theory.intervals import Interval


def confidence_sequence(hits: int, trials: int, confidence: float) -> Interval:
    """Return the interval of a rate after `trials` trials, valid under optional stopping.

    Let p be the rate. The probability of the observed trials under the prior, divided by their probability under p, is
    a martingale with mean 1 if p is the true rate. By Ville's inequality, the probability that it ever reaches
    1 / (1 - confidence) is at most 1 - confidence. The interval consists of the rates at which it has not reached this
    level. Compared with knowing the rate in advance, this prior costs at most log(2 sqrt(trials)) in log-likelihood
    (Krichevsky and Trofimov 1981), for every rate including 0.

    Args:
      hits: number of successful trials, in [0, trials].
      trials: number of trials, >= 0. Without any, the interval is [0, 1] and the value is 1/2, the prior mean.
      confidence: joint confidence level of all intervals of one sequence of trials, in (0, 1).

    Returns:
      The fraction of successful trials, its standard error and the interval. Both ends increase with `hits`.

    Raises:
      ValueError: an argument is out of range.
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
    """Return log p for the rate p <= hits / trials at which the log-likelihood falls to `least`; hits >= 1."""
    if not misses:
        return least / hits

    def excess(log_rate: float) -> float:
        return hits * log_rate + float(xlogy(misses, -math.expm1(log_rate))) - least

    # At the left end, hits log p alone equals `least`. At the right end, the likelihood has its maximum, which exceeds
    # any mixture of likelihoods.
    root: Any = brentq(excess, least / hits, math.log(hits / (hits + misses)), xtol=1e-300)
    return float(root)
