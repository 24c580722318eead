"""The delta audit of one cell: batches of runs until it is known whether the error rate is at most delta.

The error rate is the probability that a run stops and its recommendation has a simple regret larger than epsilon. Its
bounds are a confidence sequence, so that the audit may stop as soon as they decide.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, Self

from jaxbandit.support.refusals import wrong
from jaxbandit.support.types import Json
from jaxbandit.theory.confidence_sequence import confidence_sequence
from jaxbandit.theory.intervals import bonferroni

VIOLATES = "violates"
CONSISTENT = "consistent with delta"
CONSERVATIVE = "conservative by a factor"
UNDECIDED = "undecided"
CONSERVATIVE_FACTOR = 2.0  # with a smaller factor, the rule counts as consistent with delta


class Batch(NamedTuple):
    """The counts that a batch of runs adds to a cell."""

    errors: int  # runs that stopped and were wrong
    unjudged: int  # not stopped by the rule (max_rounds, nonfinite, precision), or a recommendation of unknown worth
    seconds: float


class Limits(NamedTuple):
    """The accuracy that an audit must reach, and the work it may spend."""

    confidence: float = 0.999  # joint, of all verdicts and bounds of a table
    resolution: float = 2.0  # a factor is known once its bounds are within this ratio
    factor: float = 20.0  # a factor that is at least this large need not be known better
    runs: int = 1_000_000  # largest number of runs per cell
    seconds: float = math.inf  # largest number of seconds per cell without compilation, checked after each batch

    def check(self) -> Self:
        """Return these limits; raise BadInput if a value is out of range."""
        if not 0 < self.confidence < 1:
            wrong("audit: confidence", self.confidence, "in (0, 1)")
        for name in ("resolution", "factor"):
            if not getattr(self, name) > 1:
                wrong(f"audit: {name}", getattr(self, name), "greater than 1")
        for name in ("runs", "seconds"):
            if not getattr(self, name) > 0:
                wrong(f"audit: {name}", getattr(self, name), "greater than 0")
        return self


class Finding(NamedTuple):
    """What the runs so far show about the error rate of a cell."""

    verdict: str
    low: float  # bounds of the error rate
    high: float
    delta: float
    confidence: float  # joint confidence of the table that contains the cell
    runs: int
    settled: bool  # whether more runs are unnecessary or would not help

    @property
    def factor(self) -> float | None:
        """By which factor the error rate is at least smaller than delta; None if it may be larger than delta."""
        return self.delta / self.high if self.high <= self.delta else None

    def summary(self) -> Json:
        """Return what `--json` prints."""
        content = self._asdict() | {"factor": self.factor}
        return {k: v for k, v in content.items() if k != "settled" and v is not None}

    def __str__(self) -> str:
        if self.verdict == VIOLATES:
            return f"violates: {self.low / self.delta:.3g} times delta or more"
        if self.verdict == CONSERVATIVE:
            known = self.low * 10 > self.high
            return f"{self.verdict}: {self.factor:.3g} " + (f"to {self.delta / self.low:.3g}" if known else "or more")
        return self.verdict


def judge(errors: int, unjudged: int, runs: int, delta: float, limits: Limits, cells: int = 1) -> Finding:
    """Return the finding after `runs` runs.

    An unjudged run, which did not stop by its rule, counts as right in the lower bound and as wrong in the upper bound.

    Args:
      errors: number of runs that were wrong.
      unjudged: number of runs that did not stop by their rule.
      runs: number of all runs, >= 1.
      delta: the promised error rate, in (0, 1).
      limits: the joint confidence, and the accuracy to reach.
      cells: number of cells of the table whose bounds hold jointly (Bonferroni).
    """
    level = bonferroni(limits.confidence, cells)
    right = confidence_sequence(errors, runs, level)
    false = confidence_sequence(errors + unjudged, runs, level)
    low, high = right.low, false.high
    if low > delta:
        verdict, settled = VIOLATES, True
    elif high > delta:
        # Counted as right they keep the guarantee, counted as wrong they violate it, so more runs would not decide.
        verdict, settled = UNDECIDED, right.high < delta < false.low
    else:
        verdict = CONSERVATIVE if high * CONSERVATIVE_FACTOR <= delta else CONSISTENT
        settled = high <= limits.resolution * low or high * limits.factor <= delta
    return Finding(verdict, low, high, delta, limits.confidence, runs, settled)


def batch_length(runs: int, first: int, most: int) -> int:
    """Return the size of the next batch: half of `runs`, so that at most a third of all runs is unnecessary."""
    return min(max(first, runs // 2), most - runs)


def audit_draws(
    draw: Callable[[int, int], Batch], delta: float, limits: Limits | None = None, *, first: int = 1000, cells: int = 1
) -> Finding:
    """Audit a rule whose runs a function of yours plays, until the verdict is settled or the budget is spent.

    Args:
      draw: plays runs number a, ..., a + n - 1 when called with (a, n). Equal calls must give equal batches.
      delta: the promised error rate, in (0, 1).
      limits: default: `Limits()`.
      first: length of the first batches.
      cells: number of cells of the table whose bounds hold jointly.

    Raises:
      BadInput: a limit is out of range.
    """
    limits = (limits or Limits()).check()
    runs = errors = unjudged = 0
    seconds = 0.0
    while True:
        batch = draw(runs, number := batch_length(runs, first, limits.runs))
        runs, errors, unjudged = runs + number, errors + batch.errors, unjudged + batch.unjudged
        seconds += batch.seconds
        finding = judge(errors, unjudged, runs, delta, limits, cells)
        if finding.settled or runs >= limits.runs or seconds >= limits.seconds:
            return finding
