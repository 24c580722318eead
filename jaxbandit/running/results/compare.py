"""Comparison of two results: the difference of mean regret, feedback, metric, samples or errors, with its interval.

Runs that share random draws are paired, with Student's interval; otherwise it is Welch's. Error rates and restricted
samples have intervals of bounded variables instead.
"""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.engine.rounds.metrics import METRIC
from jaxbandit.running.results import names
from jaxbandit.running.results.base import Result
from jaxbandit.running.results.budget import BudgetResult
from jaxbandit.running.results.curves import place
from jaxbandit.running.results.doubts import skewed
from jaxbandit.running.results.regret import RegretResult
from jaxbandit.running.results.stopping import StoppingResult
from jaxbandit.support import text
from jaxbandit.support.document import Describable, Document
from jaxbandit.support.refusals import BadInput
from jaxbandit.theory import intervals
from jaxbandit.theory.bounded_mean import bounded_mean

ROUNDING = 1e-6  # relative to the values; differences of float32 numbers that are closer are equal


@dataclass(frozen=True)
class Comparison(Describable):
    """The difference a - b of mean regret (or feedback, or a metric) at round `at`, of mean samples, or of error rates.

    If it is negative, a has the lower regret, takes fewer samples or has the lower error rate.
    """

    a: str  # instance/algorithm
    b: str
    # "regret", "feedback", "hindsight", a metric, "samples" or "error"; "restricted ..." if runs are censored
    quantity: str
    at: int | None  # the round of the curve, or the n in min(samples, n) of what is restricted
    mean_a: float
    mean_b: float
    difference: float
    se: float
    low: float
    high: float
    confidence: float
    paired: bool
    runs: int  # number of pairs, or the size of the smaller sample
    reason: str  # why the runs are not paired; empty if they are
    left_out: int = 0  # number of pairs, or of runs if they are not paired, that are left out of the means
    doubt: str = ""  # why the interval is doubtful: it is Student's or Welch's, of too few skewed numbers

    @property
    def verdict(self) -> str:
        """Return "lower", "higher", or "undecided" if the interval contains 0."""
        return "lower" if self.high < 0 else "higher" if self.low > 0 else "undecided"

    @property
    def remarks(self) -> list[str]:
        """Return what must stand beside the number of runs: how many are left out, and why the interval is doubtful."""
        return [*filter(None, [f"{self.left_out:,} left out" if self.left_out else "", self.doubt])]

    def describe(self, *, detail: bool = False) -> Document:
        """Return the difference with its interval, in a line."""
        unit = "n =" if self.quantity.startswith("restricted ") else "round"
        of = "" if self.at is None else f" at {unit} {self.at:,}"
        shown = text.with_interval(self.difference, self.low, self.high)
        runs = f"{self.runs:,} pairs of runs" if self.paired else f"{self.runs:,} runs, unpaired: {self.reason}"
        title = f"{self.quantity}{of} of {self.a} minus that of {self.b}: {shown}, {self.verdict}"
        runs = ", ".join([f"{100 * self.confidence:g} % interval", runs, *self.remarks])
        return Document(f"{title} ({runs})", data=self._data())

    def _data(self) -> dict[str, Any]:
        content = asdict(self) | {"verdict": self.verdict}
        unsaid = {"reason"} if self.paired else set()
        unsaid |= {name for name in ("left_out", "doubt") if not content[name]}
        unsaid |= {end for end in ("low", "high") if not np.isfinite(content[end])}
        return {k: v for k, v in content.items() if v is not None and k not in unsaid}


def compare(
    a: Result,
    b: Result,
    *,
    what: str | None = None,
    at: int | None = None,
    fraction: float | None = None,
    confidence: float = intervals.CONFIDENCE,
) -> Comparison:
    """Compare two results: the regret (or feedback) at one round, the number of samples, or the error rates.

    For results with a fixed budget the error rates are compared, even if the two budgets differ. If some runs are
    censored, min(samples, n) is compared, where n is the smaller `max_rounds` of the censored results.

    Args:
      a: a Result.
      b: another Result of the same kind. If seed, precision and instance agree, run r of `a` is paired with run r of
        `b`, up to the smaller number of runs.
      what: the curve to compare: the measure of both results (default), "hindsight" or the name of a metric; for runs
        that stop, a metric in place of samples or errors. A pair of runs is left out if the metric of one of them is
        not finite.
      at: a round that is a checkpoint of both results, for regret only. Default: the last shared checkpoint.
      fraction: a fraction of the shorter horizon, in (0, 1], instead of `at`; the nearest shared checkpoint is used.
      confidence: confidence level of the interval, in (0, 1).

    Returns:
      A Comparison with the difference a - b.

    Raises:
      ValueError: the results are not of the same kind, share no checkpoint, or have fewer than two valid runs.
    """
    for name, given in {"a": a, "b": b}.items():
        if not isinstance(given, Result):
            raise BadInput(f"compare: {name} is a {type(given).__name__}, must be one result of simulate or identify")
    one, other = _pair_names(a, b)
    if isinstance(a, RegretResult) and isinstance(b, RegretResult):
        if what is None and a.measure != b.measure:
            raise BadInput(f"compare: {one} holds {a.measure}, {other} holds {b.measure}; must hold the same measure")
        quantity, at, x, y = _curves(a, b, what or a.measure, at, fraction)
    elif isinstance(a, StoppingResult) and isinstance(b, StoppingResult) and a.kind == b.kind:
        for name, given in {"at": at, "fraction": fraction}.items():
            if given is not None:
                raise BadInput(f"compare: {name} = {given}, only for regret and its metrics; {one} holds samples")
        if what is not None:
            quantity, at, x, y = _metrics(a, b, what)
        else:
            quantity, at, x, y = _errors(a, b) if isinstance(a, BudgetResult) else _samples(a, b)
    else:
        raise BadInput(f"compare: {one} is of kind {a.kind}, {other} of kind {b.kind}; must be of the same kind")
    reason = why_unpaired(a, b, what)
    if reason or x.values is None or y.values is None:
        runs, left_out = min(x.runs, y.runs), a.runs - x.runs + b.runs - y.runs
        mean_a, mean_b = x.mean, y.mean
        _enough(one, other, runs, "runs")
        interval = intervals.welch(mean_a, x.variance, x.runs, mean_b, y.variance, y.runs, confidence)
        doubts = [line for name, sample in ((one, x), (other, y)) for line in sample.doubts(name)]
        if not interval.se or x.tied:
            interval = intervals.independent(x.interval(confidence), y.interval(confidence))
    else:
        pairs = min(len(x.values), len(y.values))
        counts = x.included[:pairs] & y.included[:pairs]
        runs, left_out = int(counts.sum()), pairs - int(counts.sum())
        _enough(one, other, runs, "pairs of runs")
        first, second = x.values[:pairs][counts], y.values[:pairs][counts]
        mean_a, mean_b = float(first.mean()), float(second.mean())
        limits = x.limits[0] - y.limits[1], x.limits[1] - y.limits[0]
        apart = first - second
        if np.ptp(apart) <= ROUNDING * max(np.abs(first).max(), np.abs(second).max()):
            apart = np.full(len(apart), apart.mean())  # they differ by the rounding of float32 only
        tied = bounded_mean(apart, *limits, confidence) if x.tied else None
        interval = tied or intervals.student_of(apart, confidence, limits)
        doubts = [] if tied else skewed(apart, runs, what="pairs")
    difference, se, low, high = (float(x) for x in interval)
    if not np.isfinite([mean_a, mean_b, se]).all() or np.isnan([low, high]).any():
        raise BadInput(f"compare: {one} and {other} have no finite interval, because the variance overflows")
    return Comparison(
        a=one,
        b=other,
        quantity=quantity,
        at=at,
        mean_a=mean_a,
        mean_b=mean_b,
        difference=difference,
        se=se,
        low=low,
        high=high,
        confidence=confidence,
        paired=not reason,
        runs=runs,
        reason=reason,
        left_out=left_out,
        doubt="; ".join(doubts),
    )


def _enough(one: str, other: str, runs: int, what: str) -> None:
    if runs < 2:
        raise BadInput(f"compare: {one} and {other} have {runs} valid {what}, must have at least 2")


class _Sample(NamedTuple):
    """The quantity of one result that is compared."""

    mean: float
    variance: float
    runs: int  # number of included runs
    values: np.ndarray | None  # float64[runs] of all runs, of which only the included ones are used
    limits: tuple[float, float]  # the smallest and the largest value that a run can have
    included: np.ndarray  # bool[runs], which runs are included
    tied: bool = False  # whether most runs may have one value, so that their variance says little

    def interval(self, confidence: float) -> intervals.Interval[float]:
        """Return the interval of the mean of this sample alone."""
        if self.tied and self.values is not None:
            return bounded_mean(self.values[self.included], *self.limits, confidence)
        return intervals.student(self.mean, self.variance, self.runs, confidence, self.limits)

    def doubts(self, name: str) -> list[str]:
        """Return why an interval of the mean of this sample is doubtful, one line each."""
        if self.tied or self.values is None:
            return []
        return skewed(self.values[self.included], self.runs, name)


def _curves(
    a: RegretResult, b: RegretResult, what: str, at: int | None, fraction: float | None
) -> tuple[str, int, _Sample, _Sample]:
    at = place("compare", at, fraction)
    if at is None:
        shared = np.intersect1d(a.arrays["checkpoints"], b.arrays["checkpoints"])
        if not len(shared):
            raise BadInput(f"compare: {' and '.join(_pair_names(a, b))} share no checkpoint")
        last = min(r.arrays["checkpoints"][-1] for r in (a, b))
        at = int(shared[-1] if fraction is None else shared[np.abs(shared - fraction * last).argmin()])

    def sample(result: RegretResult) -> _Sample:
        (means, variances), k, rows = result.moments(what), result.at(at), result.per_run(what)
        mean, variance = float(means[k]), float(variances[k])
        values = None if rows is None else rows[:, k].astype(np.float64)
        most = result.largest_regret(at) if what == "regret" else np.inf
        most = most if mean <= most else np.inf
        limits = -np.inf if most == np.inf else 0.0, most
        return _Sample(mean, variance, result.counted_in(what), values, limits, result.counts(what))

    return what, at, sample(a), sample(b)


def _samples(a: StoppingResult, b: StoppingResult) -> tuple[str, int | None, _Sample, _Sample]:
    limit = min((r.max_rounds for r in (a, b) if r.censored), default=None)

    def sample(result: StoppingResult) -> _Sample:
        every = result.times() if limit is None else np.minimum(result.times(), limit)
        values = every[result.counts()]
        variance = float(values.var(ddof=1)) if len(values) > 1 else 0.0
        mean, counts = float(values.mean()) if len(values) else 0.0, result.counts()
        least = min(1.0, every.min(initial=1.0))
        limits = (least, np.inf if limit is None else float(limit))
        return _Sample(mean, variance, len(values), every, limits, counts, limit is not None)

    return "samples" if limit is None else "restricted samples", limit, sample(a), sample(b)


def _metrics(a: StoppingResult, b: StoppingResult, what: str) -> tuple[str, int | None, _Sample, _Sample]:
    if (a.censored or b.censored) and a.max_rounds != b.max_rounds:
        why = f"some were censored, at {a.max_rounds:,} and {b.max_rounds:,} rounds, where {what} is not comparable"
        raise BadInput(f"compare: what = {what!r}: {why}; give both the same max_rounds")

    def sample(result: StoppingResult) -> _Sample:
        values = result.values(what)
        every = result.arrays[METRIC + what].astype(np.float64)
        variance = float(values.var(ddof=1)) if len(values) > 1 else 0.0
        mean, included = float(values.mean()) if len(values) else 0.0, result.counts() & np.isfinite(every)
        return _Sample(mean, variance, len(values), every, (-np.inf, np.inf), included)

    restricted = a.censored or b.censored
    return f"restricted {what}" * bool(restricted) or what, a.max_rounds if restricted else None, sample(a), sample(b)


def _errors(a: StoppingResult, b: StoppingResult) -> tuple[str, None, _Sample, _Sample]:
    def sample(result: StoppingResult) -> _Sample:
        errors = result.errors()
        if errors is None:
            why = f"{result.unjudged:,} of its recommendations cannot be judged" if result.unjudged else ""
            why = why or "its environment defines no simple_regret"
            raise BadInput(f"compare: {result.instance}/{result.algorithm}: {why}")
        every = np.zeros(result.runs)
        every[result.counts()] = errors
        variance = float(errors.var(ddof=1)) if len(errors) > 1 else 0.0
        mean = float(errors.mean()) if len(errors) else 0.0
        return _Sample(mean, variance, len(errors), every, (0.0, 1.0), result.counts(), True)

    return "error", None, sample(a), sample(b)


def why_unpaired(a: Result, b: Result, what: str | None = None) -> str:
    """Return why run r of `a` and run r of `b` cannot be paired in a curve, by default the measure; '' if they can."""
    if a.seed != b.seed:
        return f"seeds differ: {a.seed}, {b.seed}"
    if a.instance != b.instance or any(a.truth.get(k) != b.truth.get(k) for k in ("means", "candidates", "schedule")):
        return f"instances differ: {a.instance}, {b.instance}"
    if a.precision != b.precision:
        return f"precisions differ: {a.precision}, {b.precision}"
    without = [
        name
        for name, r in zip(_pair_names(a, b), (a, b), strict=True)
        if isinstance(r, RegretResult) and r.per_run(what) is None
    ]
    return f"no per-run data: {', '.join(without)}" if without else ""


def _pair_names(a: Result, b: Result) -> tuple[str, str]:
    one, other = names.addresses([a, b])
    return one, other
