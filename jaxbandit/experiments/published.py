"""A published number of runs that stop beside ours: "agrees", "disagrees" or "undecided", by an interval alone.

The interval is where the published number would lie, with the stated confidence, if it came from runs like ours: for
a mean of n runs from both samples' spread, for one run from ours alone, by ranks, whatever the law. The numbers
disagree if it lies outside by more than `margin`. They agree if it lies inside and the interval is narrow enough to
mean something: half its width at most `wide` of the number. An entry of its own `margin` or `wide` says why.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxbandit.experiments import measures, statistics
from jaxbandit.experiments.result import ResultSet
from jaxbandit.experiments.result_stopping import StoppingResult

WIDE = 0.05
SHOWN = ("quantity", "arm", "value", "sd", "runs", "margin", "wide", "source", "note")


def numbers(entries: Sequence[Mapping[str, Any]], results: ResultSet) -> list[dict[str, Any]]:
    """Return the published numbers of the cells that `results` holds, one table each.

    An entry names `instance`, `algorithm`, `source` and `runs`, and gives a `value` of the `quantity` ("samples",
    default, or "error"), with the standard deviation `sd` of a run where it is printed; or `pulls`, the pulls of all
    arms, whose sum is the number of samples.
    """
    cells = {(r.instance, r.algorithm) for r in results}
    found = []
    for entry in entries:
        if (entry["instance"], entry["algorithm"]) in cells:
            found += _one_by_one(entry)
    return found


def _one_by_one(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    rest = {key: value for key, value in entry.items() if key != "pulls"}
    if "pulls" not in entry:
        yield {"quantity": "samples"} | rest
        return
    yield rest | {"quantity": "samples", "value": sum(entry["pulls"])}
    for arm, value in enumerate(entry["pulls"]):
        yield rest | {"quantity": "pulls", "arm": arm, "value": value}


def judge(number: Mapping[str, Any], result: StoppingResult, confidence: float) -> dict[str, Any]:
    """Return a published number with `low` and `high`, where it would lie were it ours, and the verdict."""
    table = {"instance": result.instance, "algorithm": result.algorithm}
    table |= {key: number[key] for key in SHOWN if key in number}
    found = (_rate if number["quantity"] == "error" else _mean)(number, result, confidence)
    if found is None:
        return table | {"verdict": "undecided"}
    low, high = found
    value, scale = number["value"], 1.0 if number["quantity"] == "error" else abs(number["value"])
    slack, wide = number.get("margin", 0.0) * scale, number.get("wide", WIDE) * scale
    outside = value < low - slack or value > high + slack
    verdict = "disagrees" if outside else "agrees" if (high - low) / 2 <= wide else "undecided"
    return table | {"low": low, "high": high, "confidence": confidence, "verdict": verdict}


def _mean(number: Mapping[str, Any], result: StoppingResult, confidence: float) -> tuple[float, float] | None:
    sample = measures.stopping(number["quantity"], result, number.get("arm"))
    values, runs = sample.values, number["runs"]
    if len(values) < 2 or sample.above or sample.below:
        return None
    if runs == 1:
        return _further(values, confidence)
    mean, variance = float(values.mean()), float(values.var(ddof=1))
    theirs = number["sd"] ** 2 if "sd" in number else variance
    spread = statistics.welch(mean, variance, len(values), 0.0, theirs, runs, confidence)
    return float(spread.low), float(spread.high)


def _further(values: np.ndarray, confidence: float) -> tuple[float, float] | None:
    """Where one further run lies: it is as likely to have any rank among them. None with too few runs to say."""
    rank = int((len(values) + 1) * (1 - confidence) / 2)
    if rank < 1:
        return None
    ordered = np.sort(values)
    return float(ordered[rank - 1]), float(ordered[-rank])


def _rate(number: Mapping[str, Any], result: StoppingResult, confidence: float) -> tuple[float, float] | None:
    """The rates of `runs` runs that our errors and theirs leave possible for one true rate."""
    ours = result.error((1 + confidence) / 2)
    if ours is None:
        return None
    hits = np.arange(number["runs"] + 1)
    theirs = statistics.clopper_pearson(hits, number["runs"], (1 + confidence) / 2)
    possible = hits[(theirs.low <= ours.high) & (theirs.high >= ours.low)] / number["runs"]
    return float(possible.min()), float(possible.max())
