"""The delta audit of one cell: batches of runs are played until it is known whether the guaranteed delta holds.

A cell is one algorithm on one instance. Its error rate is the probability that a run stops and recommends something
whose simple regret is larger than epsilon. After each batch, a confidence sequence bounds the error rate. The bounds
hold at all times together, so the audit may stop as soon as they decide, or when its limits are reached.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from jaxbandit.refusals import wrong
from jaxbandit.stats.confidence_sequence import confidence_sequence
from jaxbandit.stats.intervals import bonferroni

VIOLATES = "violates"
CONSISTENT = "consistent with delta"
CONSERVATIVE = "conservative by a factor"
UNDECIDED = "undecided"
CONSERVATIVE_FACTOR = 2.0  # with a smaller factor the verdict is "consistent", not "conservative"


class Batch(NamedTuple):
    """The counts of one batch of runs of a cell."""

    errors: int  # runs that stopped with a wrong recommendation
    unjudged: int  # runs that did not stop by their own rule: max_rounds, nonfinite, precision
    seconds: float


class Limits(NamedTuple):
    """The precision that an audit aims for, and the limits of its cost.

    The default confidence is high, because a false "violates" is a serious error and more confidence costs little:
    0.999 instead of 0.95 adds log 50 to a logarithm that is about 15 in a table of 20 cells, a quarter more runs.
    """

    confidence: float = 0.999  # of all verdicts and bounds of a table together
    resolution: float = 2.0  # a factor is known once the ratio of its bounds is at most this
    factor: float = 20.0  # the audit ends once the rule is conservative by at least this factor
    runs: int = 1_000_000  # largest number of runs per cell
    seconds: float = math.inf  # largest number of seconds per cell without compilation, checked after each batch

    def check(self) -> None:
        """Raise an error if a limit is out of range."""
        if not 0 < self.confidence < 1:
            wrong("audit: confidence", self.confidence, "in (0, 1)")
        for name in ("resolution", "factor"):
            if not getattr(self, name) > 1:
                wrong(f"audit: {name}", getattr(self, name), "greater than 1")
        for name in ("runs", "seconds"):
            if not getattr(self, name) > 0:
                wrong(f"audit: {name}", getattr(self, name), "greater than 0")


class Finding(NamedTuple):
    """What is known about the error rate of a cell from its runs so far."""

    verdict: str
    low: float  # bounds of the error rate
    high: float
    delta: float
    confidence: float  # joint confidence of the table that contains the cell
    runs: int
    settled: bool  # whether more runs are unnecessary or would not help

    @property
    def factor(self) -> float | None:
        """A lower bound on delta divided by the error rate; None if the error rate may be larger than delta."""
        return self.delta / self.high if self.high <= self.delta else None

    def summary(self) -> dict[str, Any]:
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
    """Return what is known after `runs` runs.

    It is not known whether a run that did not stop by its own rule would have been right or wrong. The lower bound
    counts it as right and the upper bound as wrong. Both bounds increase with the number of errors, so they hold in
    either case.

    Args:
      errors: number of runs with a wrong recommendation.
      unjudged: number of runs for which this is not known.
      runs: number of all runs, >= 1.
      delta: the guaranteed bound on the error rate, in (0, 1).
      limits: the confidence, and the precision at which a factor is known.
      cells: number of cells of the table, whose verdicts hold jointly (Bonferroni).
    """
    level = bonferroni(limits.confidence, cells)
    right = confidence_sequence(errors, runs, level)
    false = confidence_sequence(errors + unjudged, runs, level)
    low, high = right.low, false.high
    if low > delta:
        verdict, settled = VIOLATES, True
    elif high > delta:
        # If delta holds when they count as right and fails when they count as wrong, more such runs cannot decide.
        verdict, settled = UNDECIDED, right.high < delta < false.low
    else:
        verdict = CONSERVATIVE if high * CONSERVATIVE_FACTOR <= delta else CONSISTENT
        settled = high <= limits.resolution * low or high * limits.factor <= delta
    return Finding(verdict, low, high, delta, limits.confidence, runs, settled)


def batch_length(runs: int, first: int, most: int) -> int:
    """Return the number of runs after `runs`: half as many as before, so that at most a third are unnecessary."""
    return min(max(first, runs // 2), most - runs)


def audit(
    draw: Callable[[int, int], Batch], delta: float, limits: Limits | None = None, *, first: int = 1000, cells: int = 1
) -> Finding:
    """Play batches until the verdict is settled or a limit is reached.

    Args:
      draw: plays the runs a, ..., a + n - 1 when it is called with (a, n). Equal calls must give equal batches.
      delta: the guaranteed bound on the error rate, in (0, 1).
      limits: default: `Limits()`.
      first: number of runs of the first batches.
      cells: number of cells of the table, whose verdicts hold jointly.

    Raises:
      BadInput: a limit is out of range.
    """
    limits = limits or Limits()
    limits.check()
    runs = errors = unjudged = 0
    seconds = 0.0
    while True:
        batch = draw(runs, number := batch_length(runs, first, limits.runs))
        runs, errors, unjudged = runs + number, errors + batch.errors, unjudged + batch.unjudged
        seconds += batch.seconds
        finding = judge(errors, unjudged, runs, delta, limits, cells)
        if finding.settled or runs >= limits.runs or seconds >= limits.seconds:
            return finding
