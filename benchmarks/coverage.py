"""The coverage of every interval that is printed: how often it contains the truth, over repetitions of 50 runs.

Runs are drawn from known laws and put into results, whose own methods give the intervals; the truth is that of 10^6
further runs. Nothing is played.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import jaxbandit as jb
from benchmarks import coverage_laws as laws
from benchmarks.columns import table as table_of
from jaxbandit.decide.sessions.rewards import Totals
from jaxbandit.lab.papers.published import predicted_mean
from jaxbandit.running.results.compare import compare
from jaxbandit.running.results.stopping import QUANTILES, StoppingResult

RUNS, REPETITIONS, TRUTH, CONFIDENCE = 50, 200, 1_000_000, 0.95
CENSORED = (0.25, 0.75, 0.98)
Ends = tuple[float | None, float | None]  # None: no limit is known
# What an interval promises. EXACT: 95 %, if runs are not too skewed. AT_LEAST: 95 % or more, for every law. LESS: runs
# so skewed, or that so rarely show what matters, that Student's interval misses more; none without limits does better.
EXACT, AT_LEAST, LESS = "95 %", "at least 95 %", "less"


class Case(NamedTuple):
    """An interval of one quantity under one law."""

    quantity: str
    law: str
    promise: str
    truth: float
    interval: Callable[[np.random.Generator], Ends]


class Row(NamedTuple):
    """How often the intervals of a case contain the truth."""

    quantity: str
    law: str
    promise: str
    repetitions: int
    covered: int
    width: float  # median, as a fraction of the truth; infinite if an end is unknown in most repetitions


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return the rows of the table; `quick` takes a fifth of the repetitions."""
    repetitions = REPETITIONS // 5 if quick else REPETITIONS
    rows = [covered(case, repetitions, seed) for seed, case in enumerate(cases())]
    return [row._asdict() for row in [*rows, *(_certificates(*world, repetitions) for world in laws.ARMS)]]


def covered(case: Case, repetitions: int, seed: int) -> Row:
    """Return how many of the intervals of a case contain the truth."""
    rng = np.random.default_rng(seed)
    inside, widths = 0, []
    for _ in range(repetitions):
        low, high = case.interval(rng)
        low, high = -np.inf if low is None else float(low), np.inf if high is None else float(high)
        inside += low <= case.truth <= high
        widths.append((high - low) / abs(case.truth) if case.truth else high - low)
    return Row(*case[:3], repetitions, inside, float(np.median(widths)))


def cases() -> Iterator[Case]:
    """Yield the cases, each with its truth."""
    rng = np.random.default_rng(12345)
    for name, law in laws.REGRET.items():
        promise = LESS if name in laws.SKEWED else EXACT
        truth = float(law(rng, TRUTH).mean())
        yield Case("mean regret", name, promise, truth, lambda rng, law=law: _last(laws.regret(law(rng, RUNS))))
        yield Case("mean pulls", name, promise, truth, lambda rng, law=law: laws.pulls(law(rng, RUNS)))
    yield from _differences(rng)
    for rate in (0.01, 0.05, 0.3):
        yield Case("error rate", f"{rate:g}", AT_LEAST, rate, lambda rng, p=rate: _ends(laws.errors(rng, p).error()))
        truth = float(laws.shortfalls(rng, rate, TRUTH).mean())
        yield Case(
            "simple regret", f"error rate {rate:g}", AT_LEAST, truth,
            lambda rng, p=rate: _ends(laws.errors(rng, p).simple_regret()),
        )  # fmt: skip
    for name, law in laws.SAMPLES.items():
        yield from _samples(name, law, law(rng, TRUTH))
    for name, law in laws.REGRET.items():
        if name not in laws.SKEWED:
            for runs in (1, 5, 100):
                yield _prediction(name, law, runs)


def _samples(name: str, law: laws.Law, large: np.ndarray) -> Iterator[Case]:
    """Yield the cases of stopping times of one law, without censoring and with each share of CENSORED."""
    whole = 100 * int(large.max())
    promise = LESS if name in laws.SKEWED else EXACT

    def drawn(rng: np.random.Generator, limit: int) -> StoppingResult:
        return laws.stopping(law(rng, RUNS), limit)

    yield Case(
        "mean samples", name, promise, float(large.mean()), lambda rng: _ends(drawn(rng, whole).restricted_mean())
    )
    limits = {0.0: whole} | {share: int(np.quantile(large, 1 - share)) for share in CENSORED}
    for share, limit in limits.items():
        text = f"{name}, {100 * share:g} % censored" if share else name
        restricted = float(np.minimum(large, limit).mean())
        if share:
            yield Case(
                "restricted mean", text, AT_LEAST, restricted,
                lambda rng, limit=limit: _ends(drawn(rng, limit).restricted_mean()),
            )  # fmt: skip
        for level in QUANTILES.values():
            if share < 1 - level or not share:
                yield Case(
                    f"quantile {level:g}", text, AT_LEAST, float(np.quantile(large, level, method="inverted_cdf")),
                    lambda rng, limit=limit, level=level: drawn(rng, limit).quantile_interval(level),
                )  # fmt: skip


def _differences(rng: np.random.Generator) -> Iterator[Case]:
    """Yield the cases of `compare`: paired and not, of regret, samples, restricted samples and error rates."""
    for kind, make in laws.PAIRS.items():
        a, b = make(rng, TRUTH)
        if kind == "restricted samples":
            a, b = np.minimum(a, laws.LIMIT), np.minimum(b, laws.LIMIT)
        promise = AT_LEAST if kind in laws.TIED else EXACT
        for paired in (True, False):

            def interval(rng: np.random.Generator, kind: str = kind, paired: bool = paired) -> Ends:
                both = compare(*laws.compared(kind, rng, RUNS, paired))
                assert both.paired == paired and both.quantity in (kind, kind.removesuffix(" rates"))
                return both.low, both.high

            truth = float(np.mean(a - b))
            yield Case(f"difference of {kind}", "paired" if paired else "not paired", promise, truth, interval)


def _prediction(name: str, law: laws.Law, runs: int) -> Case:
    """Return the case of a published mean of `runs` runs: a truth of 1, in units of that mean."""

    def interval(rng: np.random.Generator) -> Ends:
        low, high = predicted_mean(law(rng, RUNS), runs, CONFIDENCE)
        theirs = law(rng, runs).mean()
        return low / theirs, high / theirs

    return Case(f"prediction, mean of {runs}", name, AT_LEAST if runs > 1 else EXACT, 1.0, interval)


def _certificates(name: str, rule: Callable[[], Any], rewards: laws.Rewards, repetitions: int) -> Row:
    """Return how often a certificate contains the means of all arms at all of `laws.TIMES`, as the arms are pulled."""
    session, means = jb.session(rule()), None
    inside, widths, width = 0, [], 0.0
    rng = np.random.default_rng(len(name))
    for _ in range(repetitions):
        values, means = rewards(rng, int(laws.TIMES[-1]))
        shifted = values - values[0]
        sums, squares = np.cumsum(shifted, axis=0), np.cumsum(shifted**2, axis=0)
        right = True
        for n in laws.TIMES:
            counts = np.full(len(means), n, np.int64)
            totals = Totals(counts, values[0], sums[n - 1], squares[n - 1])
            found = jb.certificate(dataclasses.replace(session, totals=totals))
            assert found.low is not None and found.high is not None
            width = float(np.median(found.high - found.low))
            right &= bool(np.all((found.low <= means) & (means <= found.high)))
        inside += right
        widths.append(width)
    return Row("certificate, all arms, all times", name, AT_LEAST, repetitions, inside, float(np.median(widths)))


def _ends(interval: Any) -> Ends:
    return float(interval.low), float(interval.high)


def _last(result: Any) -> Ends:
    interval = result.interval()
    return float(interval.low[-1]), float(interval.high[-1])


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as text."""
    shares = [row["covered"] / row["repetitions"] for row in rows]
    errors = [(share * (1 - share) / row["repetitions"]) ** 0.5 for share, row in zip(shares, rows, strict=True)]
    text = table_of(
        [row | {"share": p, "se": error} for row, p, error in zip(rows, shares, errors, strict=True)],
        "quantity -> {quantity} | law -> {law} | promised -> {promise} | coverage -> {share:.3f} | se -> {se:.3f}"
        "| width -> {width:.2f}",
        labels=3,
    )
    title = f"coverage of 95 % intervals of {RUNS} runs; truth from {TRUTH:,} runs; width as a fraction of the truth"
    return f"{title}\n\n{text}"
