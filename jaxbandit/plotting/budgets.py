"""Figures of rules that are given a budget: their error rate, or simple regret, against it.

matplotlib is imported when something is drawn.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandit.plotting.stopping_times import BOUND
from jaxbandit.plotting.style import SIZE, footnotes, legend, look, new_axes, quiet, scale, titled
from jaxbandit.refusals import BadInput
from jaxbandit.text import number

NEAR_1 = 0.75
WORDS = {"error": "error rate", "simple_regret": "simple regret"}


def plot_budget(results: Sequence[Any], ax: Any = None, *, what: str = "error") -> Any:
    """Draw the error rate, or simple regret, of each rule against its budget, on a logarithmic axis.

    Intervals are of 95 %: Clopper and Pearson's for rates, Student's for means. Where no run erred, a mark that points
    down is at the interval's upper end. The dashed line is exp(-T / H2), the exponent from which rules differ by a
    factor, unless they look for different numbers of arms; it is no bound, those are in `jaxbandit.bounds`. It is of
    rewards whose spread is that of [0, 1], and left out where it stays near 1 at all budgets.

    Args:
      results: at least one Result of kind "budget", all of one instance.
      ax: matplotlib Axes; default: those of a new figure.
      what: "error" or "simple_regret".

    Returns:
      The Axes.

    Raises:
      ValueError: several instances, or an environment that judges no recommendation.
    """
    if len({result.instance for result in results}) != 1:
        raise BadInput("plot: results of several instances, must be of one")
    curves: dict[str, list[tuple[int, Any]]] = {}
    for name, result in zip(_labels(results), results, strict=True):
        if (interval := getattr(result, what)()) is not None:
            curves.setdefault(name, []).append((result.budget, interval))
    if not curves:
        raise BadInput(f"plot: no {WORDS[what]} here: no run counts, or its environment judges no recommendation")
    ax = ax or new_axes(SIZE)
    ends = []
    for i, (name, points) in enumerate(curves.items()):
        ends += _curve(ax, name, sorted(points, key=lambda point: point[0]), look(i))
    budgets = sorted({result.budget for result in results})
    found = {result.hardness() for result in results}
    hardness = found.pop() if len(found) == 1 else None  # those of rules for other numbers of arms differ
    if hardness is not None and np.isfinite(hardness).all():
        told = f"exp(-T / H2),  H1 = {number(hardness[0])}, H2 = {number(hardness[1])}"
        x = np.linspace(budgets[0], budgets[-1], 100)
        y = np.exp(-x / hardness[1])
        if what == "error" and y[-1] < NEAR_1:
            ax.plot(x[y >= min(ends)], y[y >= min(ends)], **BOUND, label=told)
    scale(ax.xaxis, budgets)
    ax.set_yscale("log")
    if what == "error":
        ax.set_ylim(top=1.0)
    ax.set_xlabel("budget of pulls")
    ax.set_ylabel(WORDS[what])
    runs = " or ".join(f"{runs:,}" for runs in sorted({result.runs for result in results}))
    quiet(ax, titled(results[0], f"{WORDS[what]} of {runs} runs, intervals of 95 %"))
    legend(ax)
    footnotes(ax, results)
    return ax


def _curve(ax: Any, name: str, points: Sequence[tuple[int, Any]], style: tuple[str, Any]) -> list[float]:
    """Draw one rule's curve; return the positive ends of what is drawn."""
    colour, dashes = style
    x = np.array([budget for budget, _ in points], np.float64)
    value, low, high = (np.array([getattr(p, end) for _, p in points]) for end in ("value", "low", "high"))
    seen = value > 0
    ax.plot(x[seen], value[seen], color=colour, linestyle=dashes, linewidth=1.6, marker="o", markersize=4, label=name)
    ends = [float(v) for v in value[seen]]
    for at, bottom, top, any_seen in zip(x, low, high, seen, strict=True):
        if not np.isfinite(top) or top <= 0:
            continue
        if any_seen and bottom > 0:
            ax.vlines(at, bottom, top, color=colour, linewidth=1.2)
            ends.append(float(bottom))
        else:
            ax.plot([at], [top], marker=11, color=colour, linestyle="none", markersize=7)  # a caret that points down
        ends.append(float(top))
    if not seen.any():
        ax.plot([], [], color=colour, linestyle=dashes, label=name)
    return ends


def _labels(results: Sequence[Any]) -> list[str]:
    """A name for each curve: the algorithm's, and the parameters but the budget in which its namesakes differ."""
    found = []
    for result in results:
        same = [r.params for r in results if r.algorithm == result.algorithm]
        differs = [k for k, v in result.params.items() if k != "budget" and any(p.get(k) != v for p in same)]
        more = ", ".join(f"{k} = {result.params[k]}" for k in differs)
        found.append(f"{result.algorithm} ({more})" if more else result.algorithm)
    return found
