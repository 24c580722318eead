"""Outcomes of before the test, which explain a part of the variance: what is subtracted, and whether they are balanced.

From the outcome of a visitor theta (x - mean of x) is subtracted, where x is the covariate. This does not change the
mean of a difference, because x cannot depend on the variant. Theta is fitted on the half of the visitors to which a
visitor does not belong. Source: Deng, Xu, Kohavi and Walker (2013), "Improving the sensitivity of online controlled
experiments by utilizing pre-experiment data".
"""

import math

import numpy as np

from jaxbandit.decide.variants.pairs import Pairs
from jaxbandit.decide.variants.split import LEVEL
from jaxbandit.decide.variants.visitors import Visitors
from jaxbandit.theory.comparisons import asymptotic

BEFORE = "the covariate was measured before the visitors were assigned, so that it does not depend on the variant"


def with_covariate(log: Visitors) -> tuple[Visitors, float]:
    """Return a log with what is subtracted from each outcome, and the share of the variance that this removes."""
    assert log.covariate is not None
    rows = log.final & np.isfinite(log.outcome) & np.isfinite(log.covariate)
    center = log.covariate[rows].mean() if rows.any() else 0.0
    x = np.nan_to_num(log.covariate - center)
    z, apart, fold = np.zeros(len(x)), np.zeros(len(x)), np.zeros(len(x), np.int64)
    for v in range(len(log.names)):
        own = rows & (log.variant == v)
        fold[own] = np.arange(own.sum()) % 2
        if own.any():
            per = np.ones(own.sum()) if log.per is None else log.per[own]
            z[own] = log.outcome[own] - per * (log.outcome[own].sum() / per.sum() if per.any() else 0.0)
            apart[own] = x[own] - x[own].mean()
    theta = [_slope(z[rows & (fold != f)], apart[rows & (fold != f)]) for f in (0, 1)]
    shift = np.array(theta)[fold] * x
    before, after = float((z**2).sum()), float(((z - np.array(theta)[fold] * apart) ** 2).sum())
    removed = 1 - after / before if before > 0 else math.nan
    empty = int(np.isnan(log.covariate).sum())
    return log._replace(shift=shift).noted(
        f"the covariate removes {100 * removed:.1f} % of the variance of outcomes, as if there were "
        f"{1 / (1 - removed):.3g} times as many visitors; differences and lifts are adjusted, means are not"
        if removed < 1 else "the outcomes do not vary, or the covariate explains all of it",
        f"{empty:,} visitors have no covariate, and are not adjusted" if empty else "",
    ), removed  # fmt: skip


def _slope(z: np.ndarray, x: np.ndarray) -> float:
    """Return the slope of z on x, both without their means; 0 if x does not vary."""
    square = float((x * x).sum())
    return float((x * z).sum()) / square if square > 0 else 0.0


def imbalance(pairs: Pairs, control: int) -> str:
    """Return the first line of a result whose covariate differs between variants at level 1e-3, or "".

    This is a sequence, like that of outcomes without a range, so that it may be looked at at any time.
    """
    log = pairs.log
    if log.covariate is None:
        return ""
    x = np.nan_to_num(log.covariate)
    for v in range(len(log.names)):
        i, j = pairs.rows_of(v, control)
        size = np.array([len(i)])
        if v == control or not len(i):
            continue
        mean, sd, skew2 = asymptotic.moments(x[i].mean(axis=1) - x[j].mean(axis=1), size)
        reach = sd * asymptotic.radius(size, math.log(LEVEL / 2 / (len(log.names) - 1)))
        if asymptotic.suffices(size, size, skew2)[0] and abs(mean[0]) > reach[0]:
            return (
                f"the covariate differs between {log.names[v]} and {log.names[control]}, by {mean[0]:.3g}: it was not "
                "measured before the visitors were assigned, or they were not assigned at random; leave it out"
            )
    return ""
