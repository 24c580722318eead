"""Figures of sweeps: mean samples against a parameter of the algorithm or of the instance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxbandit.running.plotting.stopping_times import BOUND
from jaxbandit.running.plotting.stopping_times import mean_of as mean_samples
from jaxbandit.running.plotting.style import (
    GRAY,
    SIZE,
    count_of_runs,
    footnotes,
    labels,
    legend,
    look,
    new_axes,
    quiet,
    scale,
    single,
)
from jaxbandit.support.refusals import BadInput, refuse
from jaxbandit.theory.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Point = tuple[float, Any]  # a value of the parameter, and the StoppingResult for it


def mean_of(result: Any) -> Interval[float]:
    """Return the mean final regret (or what is measured in its place), or the mean samples, with its interval."""
    return result.final() if result.kind == "simulate" else mean_samples(result)


def words_of(results: Sequence[Any]) -> str:
    """Return what `mean_of` the results is called."""
    if results[0].kind != "simulate":
        return "mean samples"
    return f"mean {results[0].measure} after {results[0].arrays['checkpoints'][-1]:,} rounds"


class Sweep(NamedTuple):
    """Results arranged in curves, along each of which one numeric parameter varies."""

    name: str  # of the file
    title: str
    parameter: str
    curves: dict[str, list[Point]]  # by label; the values of the parameter increase
    of_instances: bool
    constant: Mapping[str, Any] = {}  # by label, results of the same instance for which nothing is swept


def sweeps(results: Sequence[Any]) -> list[Sweep]:
    """Return the sweeps that the results hold: of a parameter of algorithms on one instance, or of the instances."""
    result_sweeps = []
    for instance in dict.fromkeys(r.instance for r in results):
        result_sweeps += _of_parameters(instance, [r for r in results if r.instance == instance])
    numbers = {r.instance: r.truth.get("arguments", {}) for r in results}
    parameter = _varies(list(numbers.values()))
    others = {tuple(v for k, v in table.items() if k != parameter) for table in numbers.values()}
    if parameter and len(others) == 1:
        curves: dict[str, list[Point]] = {}
        for result, name in zip(results, labels(results), strict=True):
            curves.setdefault(name, []).append((numbers[result.instance][parameter], result))
        result_sweeps.append(Sweep(parameter, "", parameter, _sorted(curves), of_instances=True))
    return result_sweeps


def _of_parameters(instance: str, results: Sequence[Any]) -> list[Sweep]:
    """Return the sweeps over parameters of algorithms, one per parameter, with all algorithms that sweep it."""
    by_parameter: dict[str, dict[str, list[Point]]] = {}
    constant = {}
    for algorithm in dict.fromkeys(r.algorithm for r in results):
        some = [r for r in results if r.algorithm == algorithm]
        parameter = _varies([r.params for r in some])
        if not parameter:
            constant |= {algorithm: some[0]} if len(some) == 1 and some[0].counted else {}
            continue
        curves = by_parameter.setdefault(parameter, {})
        for result in some:
            rest = [k for k, v in result.params.items() if k != parameter and any(r.params[k] != v for r in some)]
            more = ", ".join(f"{k} = {result.params[k]}" for k in rest)
            name = f"{algorithm} ({more})" if more else algorithm
            curves.setdefault(name, []).append((result.params[parameter], result))
    parameter_sweeps = []
    for k, curves in by_parameter.items():  # an algorithm with a single value of the parameter is a single point
        points = {name: [(r.params[k], r)] for name, r in constant.items() if is_number(r.params.get(k))}
        rest = {name: r for name, r in constant.items() if name not in points}
        parameter_sweeps.append(Sweep(f"{instance}-{k}", instance, k, _sorted(curves | points), False, rest))
    return parameter_sweeps


def _sorted(curves: dict[str, list[Point]]) -> dict[str, list[Point]]:
    return {name: sorted(points, key=lambda point: point[0]) for name, points in curves.items()}


def _varies(tables: Sequence[Mapping[str, Any]]) -> str:
    """Return the key whose numbers take the most values among tables of the same keys, or '' if none varies."""
    if not tables or any(table.keys() != tables[0].keys() for table in tables):
        return ""
    count = {key: len({t[key] for t in tables}) for key in tables[0] if all(is_number(t[key]) for t in tables)}
    best = max(count, key=lambda key: count[key], default="")
    return best if best and count[best] > 1 else ""


def is_number(value: object) -> bool:
    """Return whether a value of a parameter has a place on an axis, as True and False have not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def plot_only_sweep(results: Sequence[Any], ax: Axes | None = None) -> Axes:
    """Draw the one sweep that the results hold, as `plot_sweep` does; return the Axes."""
    result_sweeps = sweeps(results)
    if len(result_sweeps) != 1:
        names = f" ({', '.join(sweep.name for sweep in result_sweeps)})" if result_sweeps else ""
        refuse("plot: what", f" = 'sweep', but the results hold {len(result_sweeps)} sweeps{names}, must hold one")
    return plot_sweep(result_sweeps[0], ax)


def plot_sweep(sweep: Sweep, ax: Axes | None = None) -> Axes:
    """Draw mean samples, or mean final regret, with 95 % intervals against the swept parameter; return the Axes.

    A point with censored runs is an open arrow at the mean of min(samples, max_rounds). The dashed line is the lower
    bound on the mean samples of a delta-correct algorithm, where it is known.
    """
    if not sweep.curves:
        raise BadInput("plot: the results contain no sweep")
    ax = ax or new_axes(SIZE)
    for i, (name, points) in enumerate(sweep.curves.items()):
        color, style = look(i, name)
        x = np.array([value for value, _ in points])
        means = [mean_of(r) for _, r in points]
        y = np.array([float(mean.value) for mean in means])
        mark = {"marker": "o", "markersize": 8 - 4 * (i + 1) / len(sweep.curves)}  # one under a later mark is a ring
        ax.plot(x, y, color=color, linestyle=style, linewidth=1.6, label=name, **mark)
        ax.vlines(x, [mean.low for mean in means], [mean.high for mean in means], color=color, linewidth=1.4)
        above = np.array([num_censored(r) > 0 for _, r in points])
        ax.plot(x[above], y[above], "^", color="white", markeredgecolor=color, markersize=8, zorder=4)
    for i, (name, result) in enumerate(sweep.constant.items(), len(sweep.curves)):
        (color, style), mean = look(i, name), mean_of(result)
        above = " (censored: the mean is larger)" if num_censored(result) else ""
        ax.axhline(mean.value, color=color, linestyle=style, linewidth=1.6, label=f"{name}, not swept{above}")
        if mean.low < mean.high:
            ax.axhspan(mean.low, mean.high, color=color, alpha=0.18, linewidth=0)
    _bounds(ax, sweep)
    results = [r for points in sweep.curves.values() for _, r in points] + list(sweep.constant.values())
    scale(ax.xaxis, [value for points in sweep.curves.values() for value, _ in points])
    values = [float(mean_of(r).value) for r in results]
    if not scale(ax.yaxis, values if results[0].kind == "simulate" else [max(v, 1.0) for v in values]):
        ax.set_ylim(min(0.0, 1.06 * ax.dataLim.y0), max(0.0, 1.06 * ax.dataLim.y1))
    if any(num_censored(r) for points in sweep.curves.values() for _, r in points):
        ax.plot([], [], "^", color="white", markeredgecolor=GRAY, markersize=8, label="censored: the mean is larger")
    ax.set_xlabel(sweep.parameter)
    what = words_of(results)
    ax.set_ylabel(what.removeprefix("mean ") if results[0].kind == "simulate" else what)
    words = f"{what} against {sweep.parameter}, {count_of_runs(results)}, 95 % intervals"
    quiet(ax, f"{sweep.title}: {words}" if sweep.title else f"{words[0].upper()}{words[1:]}")
    legend(ax)
    footnotes(ax, results)
    return ax


def _bounds(ax: Axes, sweep: Sweep) -> None:
    """Draw the lower bounds of mean samples; those of regret are asymptotic."""
    points = {v: b for some in sweep.curves.values() for v, r in some if (b := r.lower_bound()) is not None}
    points = {v: b for v, b in points.items() if np.ndim(b) == 0}
    if points:
        x = sorted(points)
        y = [points[v] for v in x]
        ax.plot(x, y, **BOUND, **single(len(x)), label="lower bound on the mean")


def num_censored(result: Any) -> int:
    """Return how many runs reached `max_rounds`, so that the mean is larger than that of the results."""
    return 0 if result.kind == "simulate" else result.censored
