"""The table of paired differences between the algorithms of an experiment on the same instance."""

from collections.abc import Sequence
from itertools import combinations

from jaxbandit.running.results import names
from jaxbandit.running.results.base import Result
from jaxbandit.running.results.compare import Comparison, compare
from jaxbandit.support import text
from jaxbandit.support.document import Block, Notes, Table
from jaxbandit.support.refusals import BadInput
from jaxbandit.theory import intervals

# Largest number of algorithms on one instance that are all compared; more are each compared with the first.
ALL_PAIRS = 6


def differences(results: Sequence[Result]) -> list[Block]:
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
        return [Notes(refused)]
    named = dict(zip(map(id, results), names.algorithms(results), strict=True))
    rows = [(a.instance, named[id(a)], named[id(b)], *_difference(*both)) for a, b, *both in comparisons]
    head = ("instance", "a", "b", "quantity", "mean of a", "mean of b", "a - b [95 %]", "a is")
    head = (*head, f"all {len(rows_of):,} together", "pairs of runs")
    notes = [
        "Run r of both algorithms shares its random draws (common random numbers), so the difference is taken run by "
        "run. The column “a is” follows from the 95 % interval of that row alone, and the next column from intervals "
        "that hold for all rows together with 95 % confidence (Bonferroni)."
    ]
    if any(len(some) > ALL_PAIRS for some in groups.values()):
        notes.append(f"If an instance has more than {ALL_PAIRS} algorithms, each is compared with the first.")
    title = "Differences between algorithms on the same instance"
    return [Table(head, rows, right=(4, 5, 6), labels=3, caption=title, notes=notes), Notes(refused)]


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
        pairs + "".join(f" ({words})" for words in single.remarks),
    )
