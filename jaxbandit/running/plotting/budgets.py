"""Figures of fixed-budget algorithms: their error rate or simple regret against the budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit.running.plotting.stopping_times import BOUND
from jaxbandit.running.plotting.style import (
    SIZE,
    count_of_runs,
    footnotes,
    labels,
    legend,
    look,
    new_axes,
    one_instance,
    quiet,
    scale,
    single,
    titled,
)
from jaxbandit.support.refusals import BadInput
from jaxbandit.support.text import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.typing import LineStyleType as LineStyle

    from jaxbandit.theory.intervals import Interval

NEAR_1 = 0.75
WORDS = {"error": "error rate", "simple_regret": "simple regret"}


def plot_budget(results: Sequence[Any], ax: Axes | None = None, *, what: str = "error") -> Axes:
    """Draw the error rate or the simple regret of each algorithm against its budget, on a logarithmic axis.

    The bars are 95 % intervals: Clopper-Pearson for rates, Student's t for means. If no run of a point erred, a caret
    that points down marks the upper end of its interval. The dashed line is exp(-T / H2), a reference for rewards in
    [0, 1] and no bound.
    """
    one_instance(results)
    curves: dict[str, list[tuple[int, Interval[float]]]] = {}
    for name, result in zip(labels(results, but="budget"), results, strict=True):
        if (interval := getattr(result, what)()) is not None:
            curves.setdefault(name, []).append((result.budget, interval))
    if not curves:
        raise BadInput(f"plot: no {WORDS[what]} to draw: all runs failed, or the environment checks no recommendation")
    ax = ax or new_axes(SIZE)
    ends = []
    for i, (name, points) in enumerate(curves.items()):
        ends += _curve(ax, name, sorted(points, key=lambda point: point[0]), look(i, name))
    budgets = sorted({result.budget for result in results})
    hardnesses = {result.hardness() for result in results}
    hardness = hardnesses.pop() if len(hardnesses) == 1 else None  # it depends on the number of arms to find
    if hardness is not None and np.isfinite(hardness).all():
        label = f"exp(-T / H2),  H1 = {number(hardness[0])}, H2 = {number(hardness[1])}"
        x = np.linspace(budgets[0], budgets[-1], 100 if len(budgets) > 1 else 1)
        y = np.exp(-x / hardness[1])
        shown = y >= min(ends)
        if what == "error" and y[-1] < NEAR_1 and shown.any():
            ax.plot(x[shown], y[shown], **BOUND, **single(int(shown.sum())), label=label)
    scale(ax.xaxis, budgets)
    ax.set_yscale("log")
    if what == "error":
        ax.set_ylim(top=1.0)
    ax.set_xlabel("budget of pulls")
    ax.set_ylabel(WORDS[what])
    quiet(ax, titled(results[0], f"{WORDS[what]} of {count_of_runs(results)}, 95 % intervals"))
    legend(ax)
    footnotes(ax, results)
    return ax


def _curve(
    ax: Axes, name: str, points: Sequence[tuple[int, Interval[float]]], style: tuple[str, LineStyle]
) -> list[float]:
    """Draw the curve of one algorithm; return the positive values at which something is drawn."""
    color, dashes = style
    x = np.array([budget for budget, _ in points], np.float64)
    value, low, high = (np.array([getattr(p, end) for _, p in points]) for end in ("value", "low", "high"))
    seen = value > 0
    ax.plot(x[seen], value[seen], color=color, linestyle=dashes, linewidth=1.6, marker="o", markersize=4, label=name)
    ends = [float(v) for v in value[seen]]
    for at, bottom, top, any_seen in zip(x, low, high, seen, strict=True):
        if not np.isfinite(top) or top <= 0:
            continue
        if any_seen and bottom > 0:
            ax.vlines(at, bottom, top, color=color, linewidth=1.2)
            ends.append(float(bottom))
        else:
            ax.plot([at], [top], marker=11, color=color, linestyle="none", markersize=7)  # a caret that points down
        ends.append(float(top))
    if not seen.any():
        ax.plot([], [], color=color, linestyle=dashes, label=name)
    return ends
