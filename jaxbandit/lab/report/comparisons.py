"""Tables of an experiment's instances together: paired differences between algorithms, and how the runs ended."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from jaxbandit.base.contract import Outcome
from jaxbandit.lab.report import parts
from jaxbandit.running.results import names
from jaxbandit.running.results.base import Result
from jaxbandit.running.results.compare import Comparison, compare
from jaxbandit.support import text
from jaxbandit.support.markup import Html
from jaxbandit.support.refusals import BadInput
from jaxbandit.theory import intervals

# Largest number of algorithms on one instance that are all compared; more are each compared with the first.
ALL_PAIRS = 6


def differences(results: Sequence[Result]) -> list[Html | None]:
    """Return a table of the differences between pairs of algorithms on the same instance and with the same budget."""
    groups: dict[tuple[str, int | None], list[Result]] = {}
    for result in results:
        groups.setdefault((result.instance, getattr(result, "budget", None)), []).append(result)
    pairs: list[tuple[Result, Result]] = []
    for some in groups.values():
        pairs += combinations(some, 2) if len(some) <= ALL_PAIRS else [(other, some[0]) for other in some[1:]]
    rows_of = [(a, b, what) for a, b in pairs for what in _quantities(a, b)]
    comparisons, refused = [], []
    for a, b, what in rows_of:
        try:
            single = compare(a, b, what=what)
            together = compare(a, b, what=what, confidence=intervals.bonferroni(intervals.CONFIDENCE, len(rows_of)))
        except BadInput as error:
            refused.append(str(error))
        else:
            comparisons.append((a, b, single, together))
    if not comparisons:
        return [parts.bullets(dict.fromkeys(refused))]
    named = dict(zip(map(id, results), names.algorithms(results), strict=True))
    rows = [(a.instance, named[id(a)], named[id(b)], *_difference(*both)) for a, b, *both in comparisons]
    head = ("instance", "a", "b", "quantity", "mean of a", "mean of b", "a - b [95 %]", "a is")
    head = (*head, f"all {len(rows_of):,} together", "pairs of runs")
    few = any(len(some) > ALL_PAIRS for some in groups.values())
    note = (
        "Run r of both algorithms shares its random draws (common random numbers), so the difference is taken run by "
    )
    note += (
        "run. The column “a is” follows from the 95 % interval of that row alone, and the next column from intervals "
    )
    note += "that hold for all rows together with 95 % confidence (Bonferroni)."
    note += f" If an instance has more than {ALL_PAIRS} algorithms, each is compared with the first." if few else ""
    title = "Differences between algorithms on the same instance"
    table = parts.table(title, head, rows, labels=3, numbers=[4, 5, 6], foot=note)
    return [table, parts.bullets(dict.fromkeys(refused))]


def _quantities(a: Result, b: Result) -> list[str | None]:
    """What is compared of two results: their measure, or samples or errors, as None, and the metrics of both."""
    metrics = [name for name in getattr(a, "metrics", ()) if name in getattr(b, "metrics", ())]
    return [None, *(name for name in metrics if name != getattr(a, "measure", None))]


def _difference(single: Comparison, together: Comparison) -> tuple[str, ...]:
    of_samples = single.quantity == "restricted samples"
    where = "" if single.at is None else f", n = {single.at:,}" if of_samples else f" at round {single.at:,}"
    pairs = f"{single.runs:,}" if single.paired else f"unpaired: {single.reason}"
    return (
        single.quantity + where,
        f"{single.mean_a:,.6g}",
        f"{single.mean_b:,.6g}",
        text.with_interval(single.difference, single.low, single.high),
        single.verdict,
        together.verdict,
        pairs + (f" ({single.left_out:,} left out)" if single.left_out else ""),
    )


def outcomes(results: Sequence[Any]) -> Html:
    """Return a table of the number of runs of each cell by their outcome; `results` may be the cells of an audit."""
    first = "completed" if results[0].kind == "simulate" else "stopped"
    wanted = {
        Outcome.STOPPED: first,
        Outcome.MAX_ROUNDS: "beyond the budget" if results[0].kind == "budget" else "censored at max_rounds",
        Outcome.NONFINITE: "NONFINITE",
        Outcome.PRECISION: "PRECISION",
        Outcome.OUT_OF_RANGE: "OUT_OF_RANGE",
    }
    if results[0].kind == "simulate":
        del wanted[Outcome.MAX_ROUNDS]
    rows = []
    for name, result in zip(names.algorithms(results), results, strict=True):
        counts = result.outcomes()
        numbers = [f"{counts[outcome.name.lower()]:,}" for outcome in wanted]
        rows.append((result.instance, name, f"{result.runs:,}", *numbers, f"{result.counted:,}"))
    head = ("instance", "algorithm", "runs", *wanted.values(), "in the means")
    note = (
        "NONFINITE: a number was not finite. PRECISION: a float32 run failed its float64 check. OUT_OF_RANGE: a reward "
    )
    note += "was outside the range that the environment declares. All means exclude these runs."
    return parts.table("Runs by outcome", head, rows, labels=2, numbers=range(2, len(head)), foot=note)
