"""Quantities of cells that claims refer to, run by run: regret, samples, pulls, and their differences or ratios."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxbandit.base.contract import Outcome
from jaxbandit.running.results.base import Result
from jaxbandit.running.results.budget import BudgetResult
from jaxbandit.running.results.regret import RegretResult
from jaxbandit.running.results.stopping import StoppingResult
from jaxbandit.support.refusals import BadInput
from jaxbandit.theory import intervals
from jaxbandit.theory.bounded_mean import bounded_mean

# Quantities that are means over runs.
MEANS = ("regret", "hindsight", "samples", "pulls", "share", "kind", "simple_regret")


class Quantity(NamedTuple):
    """A quantity that a claim compares: of one algorithm on an instance, or the difference or ratio of two."""

    instance: str
    algorithm: str
    minus: str = ""  # the algorithm that is subtracted
    over: str = ""  # the algorithm in the denominator
    arm: int | None = None  # the arm whose pulls or fraction of pulls is meant, from 0
    # For regret, a checkpoint or a fraction of the horizon (None: the last checkpoint); for a fixed budget, the budget
    # (None: the largest).
    at: int | float | None = None

    def __str__(self) -> str:
        place = "" if self.arm is None else f" arm {self.arm}"
        if self.at is not None:
            place += f" at {self.at:g} n" if isinstance(self.at, float) else f" at {self.at:,}"
        if self.minus:
            return f"({self.algorithm} - {self.minus}){place}"
        return f"({self.algorithm} / {self.over}){place}" if self.over else f"{self.algorithm}{place}"


class Sample(NamedTuple):
    """One value for each run. If runs are censored, the true mean is only known to be `above` or `below` the mean."""

    values: np.ndarray  # float64[runs], NaN for a run that is excluded from means
    above: bool = False
    below: bool = False
    limits: tuple[float, float] = intervals.NO_LIMITS  # of one value
    tied: bool = False  # whether most values may be equal, so that their variance says little


def sample(what: str, quantity: Quantity, results: Sequence[Result]) -> Sample:
    """Return the value of a quantity of a cell in each run, or of the difference or ratio of two cells.

    `what` is one of MEANS. A ratio has a mean that is the ratio of means and a spread that gives its standard error
    (delta method).
    """
    first = of(what, cell(results, quantity), quantity.arm, quantity.at)
    if not (quantity.minus or quantity.over):
        return first
    other = quantity._replace(algorithm=quantity.minus or quantity.over)
    second = of(what, cell(results, other), quantity.arm, quantity.at)
    runs = min(len(first.values), len(second.values))
    a, b = first.values[:runs], second.values[:runs]
    above, below = first.above or second.below, first.below or second.above
    if quantity.minus:
        limits = first.limits[0] - second.limits[1], first.limits[1] - second.limits[0]
        return Sample(a - b, above, below, limits, first.tied)
    known = ~np.isnan(a + b)
    if not known.any():
        return Sample(np.zeros(0))
    scale = b[known].mean()
    ratio = a[known].mean() / scale
    return Sample(ratio + (a - ratio * b) / scale, above, below)


def cell(results: Sequence[Result], quantity: Quantity) -> RegretResult | StoppingResult:
    """Return the only result of an algorithm on an instance, at the specified one of several budgets."""
    matches = [r for r in results if (r.instance, r.algorithm) == (quantity.instance, quantity.algorithm)]
    matches = [r for r in matches if isinstance(r, RegretResult | StoppingResult)]  # every result is one of both
    budgets = [r for r in matches if isinstance(r, BudgetResult)]
    if budgets:
        budget = max(r.budget for r in budgets) if quantity.at is None else quantity.at
        matches = [r for r in budgets if r.budget == budget]
    if len(matches) != 1:
        place = "" if quantity.at is None else f" at {quantity.at:g}"
        raise BadInput(f"{quantity.instance}/{quantity.algorithm}{place}: names {len(matches)} results, must name one")
    return matches[0]


def difference(
    left: Sample, factor: float, right: Sample | float, confidence: float
) -> intervals.Interval[float] | None:
    """Return the interval of mean(left) - factor mean(right), or None if there are fewer than two pairs of runs.

    Runs of equal number have the same random draws, so that the differences are independent. The interval is Student's,
    and for errors, whose differences are mostly 0, `bounded_mean`. `right` may be a constant; factor > 0.
    """
    if not isinstance(right, Sample):
        right = Sample(np.full(len(left.values), float(right)), limits=(float(right), float(right)))
    runs = min(len(left.values), len(right.values))
    values = left.values[:runs] - factor * right.values[:runs]
    values = values[~np.isnan(values)]
    if len(values) < 2:
        return None
    limits = left.limits[0] - factor * right.limits[1], left.limits[1] - factor * right.limits[0]
    interval = bounded_mean(values, *limits, confidence) if left.tied else None
    interval = interval or intervals.student_of(values, confidence, limits)
    if left.below or right.above:
        interval = interval._replace(low=-np.inf)
    if left.above or right.below:
        interval = interval._replace(high=np.inf)
    return interval


def of(
    what: str,
    result: RegretResult | StoppingResult,
    arm: int | None = None,
    at: int | float | None = None,
    round_kind: str | None = None,
) -> Sample:
    """Return the value of a quantity of one cell in each run: one of MEANS or "error".

    `arm`, from 0, is that of "pulls" and "share", `at` a checkpoint or fraction of the horizon as in `Quantity`, and
    `round_kind` the kind of rounds whose fraction "kind" is.
    """
    if isinstance(result, StoppingResult):
        return of_stopping(what, result, arm)
    if what == "pulls":
        values = _pulls(what, result, arm)
    elif what == "kind":
        values = result.rounds_of(round_kind) / result.arrays["checkpoints"][-1]
    else:
        column = result.at(fraction=at) if isinstance(at, float) else result.at(at)
        values = result.arrays[what][:, column].astype(np.float64)
    return Sample(np.where(result.counts(), values, np.nan))


def of_stopping(what: str, result: StoppingResult, arm: int | None = None) -> Sample:
    """Return the value of a quantity in each run of a cell whose runs stop; none if some have no stopping time."""
    samples = result.samples()
    if len(samples) < result.runs:
        return Sample(np.zeros(0))
    if what == "samples":
        return Sample(samples, above=result.censored > 0)
    if what in ("error", "simple_regret"):
        short = result.shortfalls() if isinstance(result, BudgetResult) else None
        known = result.errors() if what == "error" else short
        values = np.full(result.runs, np.nan)  # nothing is known about runs that did not stop
        if known is not None:
            values[result.ended(Outcome.STOPPED)] = known
        return Sample(values, limits=(0.0, 1.0 if what == "error" else np.inf), tied=what == "error")
    pulls = _pulls(what, result, arm)
    if what == "share":  # the fraction that a censored run would have had is not known
        unknown = result.censored > 0
        return Sample(pulls / result.arrays["samples"], above=unknown, below=unknown, limits=(0.0, 1.0))
    return Sample(pulls, above=result.censored > 0)


def _pulls(what: str, result: Result, arm: int | None) -> np.ndarray:
    if arm is None or not 0 <= arm < result.arrays["pulls"].shape[1]:
        raise BadInput(f"{what} of {result.instance}/{result.algorithm}: arm = {arm}, must be one of its arms, from 0")
    return result.arrays["pulls"][:, arm].astype(np.float64)
