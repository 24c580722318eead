"""A published number beside ours: "agrees", "disagrees" or "undecided", by an interval alone.

The interval is where the published number would lie, with the stated confidence, if it came from runs like ours:
Student's prediction interval, for a mean of many runs as for the example of a single one (roughly, where single runs
are skewed), and Welch's where the published spread is printed. The numbers disagree if it lies outside by more than
the fraction `margin`. They agree if it lies inside and the interval is narrow enough to mean something: half its width
at most the fraction `wide` of the number. An entry with a `margin` or `wide` of its own says why.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxbandit.reproduction import measures
from jaxbandit.results.base import ResultSet
from jaxbandit.results.stopping import StoppingResult
from jaxbandit.stats import intervals

WIDE = 0.05
SHOWN = ("quantity", "arm", "round", "horizon", "value", "sd", "runs", "margin", "wide", "reason", "source", "note")


def numbers(entries: Sequence[Mapping[str, Any]], results: ResultSet) -> list[dict[str, Any]]:
    """Return the published numbers of the cells that `results` holds, one table each.

    An entry names `instance`, `algorithm`, `source` and `runs`, and gives a `value` of the `quantity` ("samples",
    default, or "error"; of a fixed `horizon`, and only beside runs of that one, "regret" at its end, or "kind", the
    share of the rounds of the kind `round`), with the standard deviation `sd` of a run where it is printed; or `pulls`,
    the pulls of all arms, whose sum is the number of samples.
    """
    cells = {(r.instance, r.algorithm): r for r in results}
    found = []
    for entry in entries:
        ours = cells.get((entry["instance"], entry["algorithm"]))
        if ours is None or not _comparable(entry, ours):
            continue
        found += _one_by_one(entry)
    return found


def _comparable(entry: Mapping[str, Any], ours: Any) -> bool:
    return "horizon" not in entry or entry["horizon"] == ours.arrays["checkpoints"][-1]


def _one_by_one(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    rest = {key: value for key, value in entry.items() if key != "pulls"}
    if "pulls" not in entry:
        yield {"quantity": "samples"} | rest
        return
    yield rest | {"quantity": "samples", "value": sum(entry["pulls"])}
    for arm, value in enumerate(entry["pulls"]):
        yield rest | {"quantity": "pulls", "arm": arm, "value": value}


def judge(number: Mapping[str, Any], result: Any, confidence: float) -> dict[str, Any]:
    """Return a published number with `low` and `high`, where it would lie were it ours, and the verdict."""
    table = {"instance": result.instance, "algorithm": result.algorithm}
    table |= {key: number[key] for key in SHOWN if key in number}
    found = (_rate if number["quantity"] == "error" else _mean)(number, result, confidence)
    if found is None:
        return table | {"verdict": "undecided"}
    low, high = found
    value, scale = number["value"], 1.0 if number["quantity"] in ("error", "kind") else abs(number["value"])
    slack, wide = number.get("margin", 0.0) * scale, number.get("wide", WIDE) * scale
    if "margin" in number and "arm" in number:
        slack += 1  # a fraction of a few pulls is less than rounding
    outside = value < low - slack or value > high + slack
    verdict = "disagrees" if outside else "agrees" if (high - low) / 2 <= wide else "undecided"
    return table | {"low": low, "high": high, "confidence": confidence, "verdict": verdict}


def _mean(number: Mapping[str, Any], result: Any, confidence: float) -> tuple[float, float] | None:
    sample = measures.of(number["quantity"], result, number.get("arm"), round_kind=number.get("round"))
    values, runs = sample.values[~np.isnan(sample.values)], number["runs"]
    if len(values) < 2 or sample.above or sample.below:
        return None
    mean, variance, count = float(values.mean()), float(values.var(ddof=1)), len(values)
    if "sd" in number:
        spread = intervals.welch(mean, variance, count, 0.0, number["sd"] ** 2, runs, confidence)
    else:  # a mean of `runs` runs differs from ours by a variance of 1 / count + 1 / runs times that of a run
        spread = intervals.student(mean, variance * (1 + count / runs), count, confidence)
    return float(spread.low), float(spread.high)


def _rate(number: Mapping[str, Any], result: StoppingResult, confidence: float) -> tuple[float, float] | None:
    """The rates of `runs` runs that our errors and theirs leave possible for one true rate."""
    ours = result.error((1 + confidence) / 2)
    if ours is None:
        return None
    hits = np.arange(number["runs"] + 1)
    theirs = intervals.clopper_pearson(hits, number["runs"], (1 + confidence) / 2)
    possible = hits[(theirs.low <= ours.high) & (theirs.high >= ours.low)] / number["runs"]
    return float(possible.min()), float(possible.max())
