"""Confidence sequences of the mean rewards of several arms, which hold for all arms at once and at every time."""

import math

import numpy as np

from jaxbandit.base.contract import Rewards
from jaxbandit.decide.sessions.rewards import Totals
from jaxbandit.engine.rounds import fit
from jaxbandit.theory.comparisons.arms import normal_reach
from jaxbandit.theory.normal_mixture import mixture_radius
from jaxbandit.theory.solvers import student

_TYPICAL = 20  # pulls at which an interval is as narrow as it can be
_NORMAL = (
    "for the intervals, the rewards of each arm are normal; an interval does not contain the mean of an arm if a rare "
    "event matters to it and has not occurred yet"
)


def intervals(totals: Totals, rewards: Rewards | None, coverage: float) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return lower and upper bounds of the arms' means, float64[num_arms], and the assumptions that they add.

    With probability `coverage` they contain the means of all arms at all times.
    """
    n, means = np.maximum(totals.counts, 1), totals.means
    level = (1 - coverage) / len(n)
    least, most = fit.limits(rewards)
    sigma = None if rewards is None else rewards.sigma
    if math.isfinite(least) and math.isfinite(most):
        sigma = (most - least) / 2  # Hoeffding's lemma; `tell` checks that rewards are in range
    if sigma is None:
        sizes, log_level = n.astype(np.float64), np.float64(np.log(level))
        ratio = student.squared_radius(sizes, log_level, student.default_c2(log_level))
        radius = normal_reach(totals.variances, np.abs(means), np.sqrt(ratio))
        assumed = [_NORMAL]
    else:
        radius, assumed = mixture_radius(n, np.asarray(sigma), level, _TYPICAL), []
    radius = np.where(totals.counts > 0, radius, np.inf)
    center = np.where(totals.counts > 0, means, 0.0)
    return np.maximum(center - radius, least), np.minimum(center + radius, most), assumed
