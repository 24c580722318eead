"""Comparison of two results: the difference of mean regret, or of mean samples, with its interval.

Run r of two algorithms with one seed meets the same chance, so that the difference is taken run by run and
its Student interval is sharp. Where the runs do not pair, Welch's interval takes its place, and the result
says why.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.refusals import BadInput
from jaxbandit.results.base import Result
from jaxbandit.results.loading import load
from jaxbandit.results.regret import RegretResult
from jaxbandit.results.stopping import StoppingResult
from jaxbandit.stats import intervals


@dataclass(frozen=True)
class Comparison:
    """Mean regret of a minus that of b at round `at`, or mean samples until they stop; below 0: a is better."""

    a: str  # instance/algorithm
    b: str
    quantity: str  # "regret", "samples", or "restricted samples" where runs of a or b are censored
    at: int | None  # of regret the round, of restricted samples the n of min(samples, n)
    mean_a: float
    mean_b: float
    difference: float
    se: float
    low: float
    high: float
    confidence: float
    paired: bool
    runs: int  # pairs, or the smaller sample
    reason: str  # why the runs do not pair; empty where they do

    @property
    def verdict(self) -> str:
        """Return "lower", "higher", or "undecided" where the interval holds 0."""
        return "lower" if self.high < 0 else "higher" if self.low > 0 else "undecided"

    def summary(self) -> dict[str, Any]:
        """Return the comparison as JSON can hold it."""
        content = asdict(self) | {"verdict": self.verdict}
        return {k: v for k, v in content.items() if v is not None and (k != "reason" or not self.paired)}


def compare(a: Result, b: Result, *, at: int | None = None, confidence: float = intervals.CONFIDENCE) -> Comparison:
    """Compare two results: their regret at one round, or the samples that they took.

    Where a run is censored, min(samples, n) is compared, n being the least max_rounds that a run reached.

    Args:
      a: a Result.
      b: another of its kind; their runs pair up to the shorter one's length if seed, precision and instance agree.
      at: a checkpoint of both, of regret only; default: the last they share.
      confidence: of the interval, in (0, 1).

    Returns:
      A Comparison, difference a - b.

    Raises:
      ValueError: not of one kind, no shared checkpoint, or fewer than two runs.
    """
    if isinstance(a, RegretResult) and isinstance(b, RegretResult):
        quantity, at, x, y = _regret(a, b, at)
    elif isinstance(a, StoppingResult) and isinstance(b, StoppingResult):
        quantity, at, x, y = _samples(a, b, at)
    else:
        raise BadInput(f"compare: {_name(a)} is of kind {a.kind}, {_name(b)} of kind {b.kind}; must be of one kind")
    reason = why_unpaired(a, b)
    runs = min(x.runs, y.runs)
    mean_a, mean_b = x.mean, y.mean
    if reason or x.values is None or y.values is None:
        interval = intervals.welch(mean_a, x.variance, x.runs, mean_b, y.variance, y.runs, confidence)
    else:
        first, second = x.values[:runs], y.values[:runs]
        mean_a, mean_b = float(first.mean()), float(second.mean())
        interval = intervals.student_of(first - second, confidence)
    difference, se, low, high = (float(x) for x in interval)
    return Comparison(
        a=_name(a),
        b=_name(b),
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
    )


class _Sample(NamedTuple):
    """What is compared of one result."""

    mean: float
    variance: float
    runs: int
    values: np.ndarray | None  # float64[runs]


def _regret(a: RegretResult, b: RegretResult, at: int | None) -> tuple[str, int, _Sample, _Sample]:
    if at is None:
        shared = np.intersect1d(a.arrays["checkpoints"], b.arrays["checkpoints"])
        if not len(shared):
            raise BadInput(f"compare: {_name(a)} and {_name(b)} share no checkpoint")
        at = int(shared[-1])

    def sample(result: RegretResult) -> _Sample:
        k, rows = result.at(at), result.arrays.get("regret")
        mean, variance = float(result.arrays["mean"][k]), float(result.arrays["variance"][k])
        return _Sample(mean, variance, result.runs, None if rows is None else rows[:, k].astype(np.float64))

    return "regret", at, sample(a), sample(b)


def _samples(a: StoppingResult, b: StoppingResult, at: int | None) -> tuple[str, int | None, _Sample, _Sample]:
    if at is not None:
        raise BadInput(f"compare: at = {at}, only for regret; {_name(a)} holds samples")
    limit = min((r.max_rounds for r in (a, b) if r.censored), default=None)

    def sample(result: StoppingResult) -> _Sample:
        values = result.samples() if limit is None else np.minimum(result.samples(), limit)
        variance = float(values.var(ddof=1)) if len(values) > 1 else 0.0
        return _Sample(float(values.mean()) if len(values) else 0.0, variance, len(values), values)

    return "samples" if limit is None else "restricted samples", limit, sample(a), sample(b)


def why_unpaired(a: Result, b: Result) -> str:
    """Return why run r of `a` and run r of `b` did not meet the same chance, or '' where they did."""
    if a.seed != b.seed:
        return f"seeds differ: {a.seed}, {b.seed}"
    if a.instance != b.instance or a.truth.get("means") != b.truth.get("means"):
        return f"instances differ: {a.instance}, {b.instance}"
    if a.precision != b.precision:
        return f"precisions differ: {a.precision}, {b.precision}"
    lost = [_name(r) for r in (a, b) if isinstance(r, StoppingResult) and len(r.samples()) < r.runs]
    if lost:
        return f"runs without a stopping time are left out: {', '.join(lost)}"
    without = [_name(r) for r in (a, b) if isinstance(r, RegretResult) and "regret" not in r.arrays]
    return f"no per-run data: {', '.join(without)}" if without else ""


@dataclass(frozen=True)
class DirectoryComparison:
    """Comparisons of the cells that two directories share, and the cells that they do not."""

    a: str
    b: str
    comparisons: tuple[Comparison, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]

    def table(self) -> str:
        """Return the comparisons as text, one line each."""
        from jaxbandit.text import align

        what, place = ("regret", "round") if self.comparisons[0].quantity == "regret" else ("samples", "at most")
        head = ("a", "b", place, f"{what} a", f"{what} b", "difference a - b", "", "")
        rows = [
            (
                c.a,
                c.b,
                "" if c.at is None else str(c.at),
                f"{c.mean_a:,.2f}",
                f"{c.mean_b:,.2f}",
                f"{c.difference:+.3f} [{c.low:+.3f}, {c.high:+.3f}]",
                c.verdict,
                f"{c.runs} pairs" if c.paired else f"unpaired, {c.reason}",
            )
            for c in self.comparisons
        ]
        lines = [f"a = {self.a}", f"b = {self.b}", "", align([head, *rows], right=(2, 3, 4))]
        for name, cells in ((self.a, self.only_a), (self.b, self.only_b)):
            if cells:
                lines.append(f"only in {name}: {', '.join(cells)}")
        return "\n".join(lines)

    def summary(self) -> dict[str, Any]:
        """Return the comparisons as JSON can hold them."""
        return {
            "schema": 1,
            "a": self.a,
            "b": self.b,
            "comparisons": [c.summary() for c in self.comparisons],
            "only_a": list(self.only_a),
            "only_b": list(self.only_b),
        }


def compare_directories(
    dir_a: str | Path, dir_b: str | Path, *, at: int | None = None, confidence: float = intervals.CONFIDENCE
) -> DirectoryComparison:
    """Compare two directories of results, cell by cell.

    Cells of the same instance, algorithm and parameters are compared; on an instance where that finds none
    and each directory has one algorithm, those two are.

    Raises:
      ValueError: a directory is not whole, or nothing in it can be compared.
    """
    sets = load(dir_a), load(dir_b)
    pairs = [(a, b) for a in sets[0] for b in sets[1] if _cell(a) == _cell(b)]
    matched = {a.instance for a, _ in pairs}
    for instance in dict.fromkeys(r.instance for r in sets[0]):
        alone = [[r for r in results if r.instance == instance] for results in sets]
        if instance not in matched and all(len(results) == 1 for results in alone):
            pairs.append((alone[0][0], alone[1][0]))
    if not pairs:
        have = [", ".join(map(_name, results)) for results in sets]
        raise BadInput(f"compare: nothing in common; {dir_a} holds {have[0]}; {dir_b} holds {have[1]}")
    only = [
        tuple(_name(r) for r in results if not any(r is pair[side] for pair in pairs))
        for side, results in enumerate(sets)
    ]
    comparisons = tuple(compare(a, b, at=at, confidence=confidence) for a, b in pairs)
    return DirectoryComparison(str(dir_a), str(dir_b), comparisons, *only)


def _name(result: Result) -> str:
    return f"{result.instance}/{result.algorithm}"


def _cell(result: Result) -> tuple[str, str, str]:
    return result.instance, result.algorithm, repr(sorted(result.params.items()))
