"""Figures against the gap, the difference of the two largest means: of a grid of instances, or of a prior's draws.

A result whose runs draw their instances is a curve: its runs are sorted by their gaps, and averaged in groups of equal
size. Results of one algorithm on several instances, such as those of a sweep, are a curve of one point each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

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
    quiet,
    scale,
    titled,
)
from jaxbandit.running.plotting.theory import EARLY
from jaxbandit.support.refusals import BadInput
from jaxbandit.theory import intervals
from jaxbandit.theory.bounded_mean import bounded_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GROUPS = 10  # of runs with similar gaps, if each has at least LEAST
LEAST = 20


class Point(NamedTuple):
    """The mean at a gap, with its 95 % interval."""

    gap: float
    mean: float
    low: float
    high: float
    bound: float = np.nan  # the lower bound on the mean


def plot_gap(results: Sequence[Any], ax: Axes | None = None) -> Axes:
    """Draw mean final regret, or mean samples, with 95 % intervals against the gap; return the Axes.

    The dashed line is the lower bound of each instance, as far as the axes of the means reach. Censored runs count with
    `max_rounds`. Results without a gap of each run, or without known means, raise a BadInput.
    """
    ax, stops = ax or new_axes(SIZE), results[0].kind != "simulate"
    curves: dict[str, list[Point]] = {}
    for result, name in zip(results, _names(results), strict=True):
        curves.setdefault(name, []).extend(_points(result))
    for i, (name, points) in enumerate(curves.items()):
        points.sort()
        color, style = look(i, name)
        x, mean = [p.gap for p in points], [p.mean for p in points]
        ax.plot(x, mean, color=color, linestyle=style, linewidth=1.6, marker="o", markersize=4, label=name)
        ax.vlines(x, [p.low for p in points], [p.high for p in points], color=color, linewidth=1.4)
    every = sorted({p.gap: p for points in curves.values() for p in points}.values())
    top = 1.15 * max(p.mean for points in curves.values() for p in points)
    bounds = [p.bound if p.bound <= top else np.nan for p in every]
    if np.isfinite(bounds).any():
        ax.plot([p.gap for p in every], bounds, **BOUND, label="lower bound of the instance")
    if stops:
        scale(ax.xaxis, [p.gap for p in every])
        scale(ax.yaxis, [max(p.mean, 1.0) for points in curves.values() for p in points])
    else:
        ax.set_xlim(left=0)
        ax.set_ylim(bottom=0)
        ax.yaxis.set_major_formatter("{x:,.10g}")
    what = "mean samples" if stops else "mean regret"
    ax.set_xlabel("gap between the two best arms")
    ax.set_ylabel(what if stops else f"regret after {results[0].arrays['checkpoints'][-1]:,} rounds")
    title = f"{what} against the gap, {count_of_runs(results)}{'' if results[0].prior else ' each'}, 95 % intervals"
    one = len({r.instance for r in results}) == 1
    quiet(ax, titled(results[0], title) if one else title.capitalize())
    legend(ax)
    early = not stops and any(p.mean < p.bound <= top for points in curves.values() for p in points)
    footnotes(ax, results, [EARLY] if early else [])
    return ax


def _names(results: Sequence[Any]) -> list[str]:
    """Return a name for the curve of each result: what results on the same instance differ in."""
    groups: dict[str, list[Any]] = {}
    for result in results:
        groups.setdefault(f"{result.instance} {_means(result)}", []).append(result)
    names = {id(r): name for some in groups.values() for r, name in zip(some, labels(some), strict=True)}
    return [names[id(result)] for result in results]


def _means(result: Any) -> list[float] | None:
    """Return the means of what is pulled for a fixed horizon, and of what is recommended of rules that stop."""
    means = result.truth.get("means", result.truth.get("sorted_means"))
    return means if result.kind == "simulate" else result.truth.get("candidates", means)


def _points(result: Any) -> list[Point]:
    """Return the points of a result: one, or one for each group of runs if each run has its own instance."""
    place, values, counts = f"{result.instance}/{result.algorithm}", _values(result), result.counts()
    if result.prior and "gap" in result.arrays and values is not None:
        gaps = result.arrays["gap"].astype(np.float64)
        order = np.flatnonzero(counts)[np.argsort(gaps[counts], kind="stable")]
        groups = np.array_split(order, max(1, min(GROUPS, len(order) // LEAST)))
        return [Point(float(gaps[some].mean()), *_mean(result, values[some])) for some in groups if len(some)]
    means = np.sort(_means(result) or [])
    if result.prior or len(means) < 2 or values is None:
        why = "the runs' gaps were not kept" if result.prior else "its means or single runs are not known"
        raise BadInput(f'plot: what = "gap": {place}: {why}; leave it out')
    bound = result.lower_bound()
    last = np.nan if bound is None else float(np.ravel(bound)[-1])
    return [Point(float(means[-1] - means[-2]), *_mean(result, values[counts]), last)]


def _values(result: Any) -> np.ndarray | None:
    """Return the final regret or the samples of each run, float64[runs]; None if they are not kept."""
    if result.kind != "simulate":
        return result.times()
    rows = result.per_run("regret") if result.measure == "regret" else None
    return None if rows is None else rows[:, -1].astype(np.float64)


def _mean(result: Any, values: np.ndarray) -> tuple[float, float, float]:
    """Return the mean of some runs with its 95 % interval; NaN for an end that is unknown."""
    mean = float(values.mean()) if len(values) else np.nan
    if len(values) < 2:
        return mean, np.nan, np.nan
    if result.kind != "simulate" and result.censored:
        interval = bounded_mean(values, min(1.0, values.min()), result.max_rounds, intervals.CONFIDENCE)
    else:
        interval = intervals.student_of(values, intervals.CONFIDENCE, (0, np.inf))
    low, high = (float(end) if np.isfinite(end) else np.nan for end in interval[-2:])
    return mean, low, high
