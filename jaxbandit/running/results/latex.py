"""Results as a LaTeX table: a row for each algorithm, a column for each instance, the best in bold with its ties."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandit.running.results import names
from jaxbandit.running.results.compare import compare
from jaxbandit.support.refusals import BadInput
from jaxbandit.theory import intervals

SPECIAL = {c: f"\\{c}" for c in "&%$#_{}"} | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
SPECIAL |= {"\\": r"\textbackslash{}"}


def to_latex(results: Any, *, what: str | None = None, largest: bool | None = None) -> str:
    """Return a tabular in the style of booktabs: a row for each algorithm, a column for each instance.

    A cell is the mean at the horizon, the mean samples or the error rate, and half the width of its 95 % interval. Bold
    are the best mean of a column and those that are not significantly worse: the interval of their difference, of
    paired runs where runs pair, contains 0. With k algorithms, each interval has the level 1 - 0.05 / (k - 1).

    Args:
      results: a Result, a ResultSet or a list of Results of one kind, of which none appears twice.
      what: of a fixed horizon, the measure (default), "hindsight" or the name of a metric.
      largest: whether the largest mean is the best. Default: for mean feedback only.

    Raises:
      ValueError: the results are of different kinds, two have one name, or they do not hold the quantity.
    """
    results = [results] if hasattr(results, "kind") else list(results)
    known = names.addresses(results)
    if len({r.kind for r in results}) != 1 or len(set(known)) != len(known):
        shown = ", ".join(known) or "none"
        raise BadInput(f"to_latex: results = {shown}, must be different results of one kind, at least one")
    if largest is None:
        largest = results[0].kind == "simulate" and (what or results[0].measure) == "feedback"
    rows = dict.fromkeys(names.algorithms(results))
    columns = dict.fromkeys(r.instance for r in results)
    cells = {(name, r.instance): r for name, r in zip(names.algorithms(results), results, strict=True)}
    texts = {}
    for instance in columns:
        some = {key: r for key, r in cells.items() if key[1] == instance}
        bold = _best(list(some.values()), what, largest)
        for (key, result), best in zip(some.items(), bold, strict=True):
            texts[key] = rf"$\mathbf{{{_mean(result, what)}}}$" if best else f"${_mean(result, what)}$"
    lines = [" & ".join(["Algorithm", *map(literal, columns)])]
    lines += [" & ".join([literal(name), *(texts.get((name, place), "--") for place in columns)]) for name in rows]
    head, *body = (f"{line} \\\\" for line in lines)
    ends = rf"\begin{{tabular}}{{l{'r' * len(columns)}}}", r"\end{tabular}"
    explained = f"% {_quantity(results[0], what)}; bold: the best and those not significantly worse at 95 %"
    return "\n".join([explained, ends[0], r"\toprule", head, r"\midrule", *body, r"\bottomrule", ends[1]])


def literal(text: str) -> str:
    """Return a text that LaTeX shows literally."""
    return "".join(SPECIAL.get(c, c) for c in text)


def _best(results: Sequence[Any], what: str | None, largest: bool | None) -> list[bool]:
    """Return which results have the best mean of these, or one that is not significantly worse."""
    values = np.array([_interval(r, what).value if r.counted else np.nan for r in results]) * (-1 if largest else 1)
    best = results[int(np.nanargmin(values))] if np.isfinite(values).any() else None
    level = 1 - (1 - intervals.CONFIDENCE) / max(len(results) - 1, 1)

    def ties(result: Any) -> bool:
        if result is best:
            return True
        if best is None or min(result.counted, best.counted) < 2:
            return False
        return compare(result, best, what=what, confidence=level).verdict == "undecided"

    return [ties(result) for result in results]


def _interval(result: Any, what: str | None) -> intervals.Interval[float]:
    if result.kind == "simulate":
        return result.final(what)
    found = result.error() if result.kind == "budget" else result.restricted_mean()
    if found is None:
        raise BadInput(f"to_latex: {result.instance}/{result.algorithm} holds no error rate")
    return found


def _mean(result: Any, what: str | None) -> str:
    """Return a mean and half the width of its interval, with two digits of the latter."""
    if not result.counted:
        return r"\text{--}"
    value, _, low, high = (float(x) for x in _interval(result, what))
    half = (high - low) / 2
    if not np.isfinite(half) or half <= 0:
        return f"{value:.4g}"
    places = max(0, 1 - int(np.floor(np.log10(half))))
    above = r"{>}\," if getattr(result, "censored", 0) else ""
    return rf"{above}{value:.{places}f} \pm {half:.{places}f}"


def _quantity(result: Any, what: str | None) -> str:
    if result.kind == "simulate":
        return f"mean {what or result.measure} after {result.arrays['checkpoints'][-1]:,} rounds"
    return "error rate" if result.kind == "budget" else "mean samples"
