"""Comparison of a published number with ours by a prediction interval: "agrees", "disagrees" or "undecided".

docs/mathematics.md describes the interval. A number disagrees if it lies outside it by more than its `margin`. It
agrees if it lies inside and half the width of the interval is at most `wide`. Both are fractions of the number, or of 1
for rates and fractions. An entry with its own `margin` or `wide` gives the reason.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import stats

from jaxbandit.lab.papers import measures, origins, verdict
from jaxbandit.running.results.base import Result, ResultSet
from jaxbandit.running.results.regret import RegretResult
from jaxbandit.running.results.stopping import StoppingResult
from jaxbandit.support.text import number as words
from jaxbandit.support.types import Json, Table
from jaxbandit.theory import intervals

WIDE = 0.05
POSITIVE = ("samples", "pulls", "regret")
SHOWN = ("quantity", "arm", "round", "horizon", "value", "sd", "runs", "margin", "wide", "reason", "source", "origin")
SHOWN += ("note",)


def numbers(entries: Sequence[Table], results: ResultSet) -> list[Json]:
    """Return the published numbers of the cells that `results` holds, one table each.

    An entry names `instance`, `algorithm`, `runs` and where it comes from (origins.py). It gives the `value` of a
    `quantity`, with the standard deviation `sd` of a run if it is printed, or instead of it the `pulls` of all arms,
    whose sum is the number of samples. The quantity is "samples" (default) or "error". For a fixed `horizon`, it is
    "regret" or "hindsight" at the end of the horizon, or "kind", the fraction of the rounds of the kind `round`; such a
    number is compared only with runs of the same horizon.
    """
    cells = {(r.instance, r.algorithm): r for r in results}
    single = []
    for entry in entries:
        ours = cells.get((entry["instance"], entry["algorithm"]))
        if ours is None or not _comparable(entry, ours):
            continue
        single += _one_by_one(entry)
    return single


def _comparable(entry: Table, ours: Result) -> bool:
    return "horizon" not in entry or entry["horizon"] == ours.arrays["checkpoints"][-1]


def _one_by_one(entry: Table) -> Iterator[Json]:
    rest = {key: value for key, value in entry.items() if key != "pulls"}
    if "pulls" not in entry:
        yield {"quantity": "samples"} | rest
        return
    yield rest | {"quantity": "samples", "value": sum(entry["pulls"])}
    for arm, value in enumerate(entry["pulls"]):
        yield rest | {"quantity": "pulls", "arm": arm, "value": value}


def judge(number: Table, result: RegretResult | StoppingResult, confidence: float) -> Json:
    """Return a published number with its verdict and the interval that decides it, if it was verified.

    `low` and `high` are the ends of the prediction interval, and `allowed` is this interval widened by the margin. They
    are absent if our runs give no interval; `equal` is then the value of our runs, if all are equal.
    """
    table = {"instance": result.instance, "algorithm": result.algorithm}
    table |= {key: number[key] for key in SHOWN if key in number}
    if origins.is_quoted(number):
        return table
    interval = (_rate if number["quantity"] == "error" else _mean)(number, result, confidence)
    if interval is None:
        return table | _all_equal(number, result) | {"verdict": "undecided"}
    scale = 1.0 if number["quantity"] in ("error", "kind") else abs(number["value"])
    slack = number.get("margin", 0.0) * scale
    if "margin" in number and "arm" in number:
        slack += 1  # a fraction of a few pulls is smaller than the rounding of the number
    low, high = interval
    decided = decide(number["value"], low, high, slack=slack, wide=number.get("wide", WIDE) * scale)
    allowed = [low - slack, high + slack]
    return table | {"low": low, "high": high, "allowed": allowed, "confidence": confidence, "verdict": decided}


def _all_equal(number: Table, result: RegretResult | StoppingResult) -> Json:
    """Return the value that all our runs have as `equal`, if they do and are too few for an interval."""
    if number["quantity"] == "error":
        return {}
    sample = measures.of(number["quantity"], result, number.get("arm"), round_kind=number.get("round"))
    values = np.unique(sample.values[~np.isnan(sample.values)])
    return {"equal": float(values[0])} if len(values) == 1 and len(sample.values) > 1 and not sample.above else {}


def decide(value: float, low: float, high: float, *, slack: float = 0.0, wide: float = WIDE) -> str:
    """Return the verdict on a published value, "agrees", "disagrees" or "undecided".

    It disagrees if it is farther than `slack` from the prediction interval [low, high], and can agree only if half the
    width of the interval is at most `wide`.
    """
    if value < low - slack or value > high + slack:
        return "disagrees"
    return "agrees" if (high - low) / 2 <= wide else "undecided"


def predicted_rate(hits: int, runs: int, more: int, confidence: float) -> tuple[float, float]:
    """Return the prediction interval for the rate in `more` further runs, after `hits` of `runs` (Thatcher 1964)."""
    further = np.arange(more + 1)
    law = stats.hypergeom(runs + more, hits + further, more)  # the distribution of their hits, given the total of both
    tails = np.minimum(law.cdf(further), law.sf(further - 1))
    possible = further[tails > (1 - confidence) / 2] / more
    return float(possible.min()), float(possible.max())


def predicted_mean(values: np.ndarray, runs: int, confidence: float, cv: float = 0.0) -> tuple[float, float]:
    """Return the prediction interval for the mean of `runs` further runs of a positive and skewed quantity.

    `values`, float64[n], n >= 2, are those of our runs, at least 0 and not all equal. `cv` is the standard deviation of
    further runs divided by their mean; 0 if it is unknown and that of our runs is taken.
    """
    count, mean = len(values), float(values.mean())
    square = float(values.var(ddof=1)) / mean**2
    if values.min() > 0:
        square = max(square, float(np.expm1(np.log(values).var(ddof=1))))
    ours, theirs = np.log1p(square / count), np.log1p((cv**2 or square) / runs)
    freedom = float(count - 1)
    if cv and runs > 1:
        freedom = (ours + theirs) ** 2 / (ours**2 / (count - 1) + theirs**2 / (runs - 1))
    center = mean * np.exp((ours - theirs) / 2)
    factor = np.exp(stats.t.ppf((1 + confidence) / 2, freedom) * np.sqrt(ours + theirs))
    return float(center / factor), float(center * factor)


def judge_together(claims: Sequence[Table], entries: Sequence[Table], judged: Sequence[Table]) -> list[Json]:
    """Return the claims that published means equal ours, with checks and verdicts, if their numbers were checked.

    `claims` are tables [[paper.near]], which name the numbers by their source: `published`. `entries` are all published
    numbers of the paper, and `judged` those of the cells that were run, as `judge` returns them.
    """
    judged_claims = []
    for claim in claims:
        known = [n for n in judged if n["source"] == claim["published"] and n["quantity"] == "samples"]
        known = [n for n in known if not origins.is_quoted(n)]
        if known:
            part = len(known) < sum(entry["source"] == claim["published"] for entry in entries)
            checks = [{"statement": _statement(n), "verdict": n["verdict"]} for n in known]
            own = {**claim, **({"in_part": True} if part else {}), "quantity": "samples"}
            judged_claims.append(verdict.conclusion(own, checks))
    return judged_claims


def _statement(number: Table) -> str:
    where = f"{number['algorithm']} in {number['instance']}: published {words(number['value'])}"
    if "allowed" not in number:
        return f"{where}, but our runs give no prediction interval"
    low, high = map(words, number["allowed"])
    return f"{where}, prediction interval [{low}, {high}]"


def _mean(number: Table, result: RegretResult | StoppingResult, confidence: float) -> tuple[float, float] | None:
    sample = measures.of(number["quantity"], result, number.get("arm"), round_kind=number.get("round"))
    values, runs = sample.values[~np.isnan(sample.values)], number["runs"]
    if len(values) < 2 or sample.above or sample.below:
        return None
    share = number["quantity"] == "kind"
    if np.all(values == values[0]) and not number.get("sd"):
        others = predicted_rate(0, len(values), runs, 2 * confidence - 1)[1]  # the largest share of runs that differ
        value, most = float(values[0]), 1.0 if share else np.inf
        low, high = value * (1 - others), value + (others * (most - value) if others else 0.0)
        return (low, high) if np.isfinite(high) else None
    if number["quantity"] in POSITIVE and values.min() >= 0 and number["value"] > 0:
        return predicted_mean(values, runs, confidence, number.get("sd", 0.0) / number["value"])
    mean, variance, count = float(values.mean()), float(values.var(ddof=1)), len(values)
    if "sd" in number:
        spread = intervals.welch(mean, variance, count, 0.0, number["sd"] ** 2, runs, confidence)
    else:  # the difference of both means has 1 / count + 1 / runs times the variance of one run
        limits = (0, 1) if share else intervals.NO_LIMITS
        spread = intervals.student(mean, variance * (1 + count / runs), count, confidence, limits)
    return float(spread.low), float(spread.high)


def _rate(number: Table, result: RegretResult | StoppingResult, confidence: float) -> tuple[float, float] | None:
    errors = result.errors() if isinstance(result, StoppingResult) else None
    if errors is None or not len(errors):
        return None
    return predicted_rate(int(errors.sum()), len(errors), number["runs"], confidence)
