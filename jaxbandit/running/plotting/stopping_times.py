"""Figures of algorithms that stop: distribution and quantiles of the stopping times, error rates, pulls of each arm.

If runs are censored, nothing is drawn beyond `max_rounds`, and the mean is an arrow, because it is a lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit.base.contract import Outcome
from jaxbandit.running.plotting.style import (
    GRAY,
    INK,
    PALE,
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
    titled,
)
from jaxbandit.support.document import Curve, even_positions
from jaxbandit.support.refusals import BadInput
from jaxbandit.support.text import number
from jaxbandit.theory import intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SHOWN_RUNS = 300  # number of single runs that are drawn as dots
SHOWN_STEPS = 2000  # largest number of steps in the curve of a distribution
NAMED_ARMS = 12  # up to this number of arms, the marks of the algorithms stand side by side above each arm
ROW = 0.36  # inches per algorithm
BOUND: dict[str, Any] = {"color": GRAY, "linewidth": 1.2, "linestyle": (0, (4, 2)), "zorder": 1.5}


def plot_stopping(results: Sequence[Any], ax: Axes | None = None, *, points: int = SHOWN_STEPS) -> Axes:
    """Draw the fraction of runs that have stopped after n samples, with pointwise 95 % bands (Clopper-Pearson).

    The results are of kind "identify" and of one instance, or a ValueError is raised. Default Axes are those of a new
    figure. If there are more runs than `points`, evenly spaced quantiles are drawn.
    """
    _check(results)
    ax = ax or new_axes(SIZE)
    names = labels(results)
    order = sorted(range(len(results)), key=lambda i: results[i].samples().mean())
    for i in order:
        _law(ax, results[i], names[i], i, points)
    bounds = {bound for r in results if (bound := r.lower_bound()) is not None}
    if len(bounds) == 1:
        (bound,) = bounds
        ax.axvline(bound, **BOUND, label=f"lower bound on the mean  {number(bound)}")
    _samples_axis(ax, results)
    ax.set_ylim(0, 1.02)
    ax.set_ylabel("fraction of stopped runs")
    ax.set_xlabel("samples")
    quiet(ax, titled(results[0], f"stopping times of {count_of_runs(results)}, 95 % bands"))
    legend(ax)
    footnotes(ax, results)
    return ax


def _law(ax: Axes, result: Any, name: str, order: int, points: int) -> None:
    color, style = look(order, name)
    curve = stopping_curve(f"{name}  {_mean_text(result)}", order, result, points)
    end, share = curve.x[-1], curve.y[-1]
    draw = {"color": color, "clip_on": False}
    if not share:
        ax.plot([end], [0.0], color=color, marker="|", markersize=10, linestyle="none", label=curve.label)
        return
    ax.step(curve.x, curve.y, where="post", linestyle=style, linewidth=1.6, label=curve.label, **draw)
    assert curve.low is not None and curve.high is not None
    ax.fill_between(curve.x, curve.low, curve.high, step="post", color=color, alpha=0.18, linewidth=0)
    if result.censored:
        ax.plot([end], [share], marker="|", markersize=11, markeredgewidth=1.8, **draw)


def plot_samples(results: Sequence[Any], ax: Axes | None = None, *, points: int = SHOWN_RUNS) -> Axes:
    """Draw the samples of each algorithm: quartiles as a box, 5 to 95 % as a line, the mean, single runs as dots.

    The 95 % intervals of the mean and, above the box, of the median are drawn. At most `points` runs are dots.
    """
    _check(results)
    ax = ax or new_axes(rows_size(results))
    chance = np.random.default_rng(0)  # only spreads the dots
    for i, (result, name) in enumerate(zip(results, labels(results), strict=True)):
        times, color = result.samples(), look(i, name)[0]
        few = times[:points]
        ax.plot(few, i + chance.uniform(-0.3, 0.3, len(few)), ".", color="#bbbbbb", markersize=2.2, zorder=1)
        marks = [result.quantile(level) for level in (0.05, 0.25, 0.5, 0.75, 0.95)]
        low, left, middle, right, high = (result.max_rounds if mark is None else mark for mark in marks)
        ax.plot([low, high], [i, i], color=color, linewidth=1.3, zorder=2)
        edge = "none" if marks[3] is None else color  # the box has no edge if its upper quartile is censored
        ax.barh(i, right - left, 0.44, left, color=color, alpha=0.35, edgecolor=edge, linewidth=1.3, zorder=2)
        if marks[2] is not None:
            ax.plot([middle, middle], [i - 0.22, i + 0.22], color=INK, linewidth=1.8, zorder=3)
        ends = [end for end in result.quantile_interval(0.5) if end is not None]
        ends += [result.max_rounds] * (len(ends) == 1 and result.censored > 0)
        ax.plot(ends, [i - 0.3] * len(ends), color=INK, linewidth=1.0, marker="|", markersize=4, zorder=3)
        mean = mean_of(result)
        shape = ">" if result.censored else "D"
        ax.plot([mean.low, mean.high], [i, i], color=INK, linewidth=1.3, zorder=4)
        ax.plot(mean.value, i, shape, color="white", markeredgecolor=INK, markersize=5, zorder=5)
        if (bound := result.lower_bound()) is not None:
            ax.plot([bound, bound], [i - 0.5, i + 0.5], **BOUND)
    _samples_axis(ax, results)
    rows_axis(ax, labels(results))
    dashed = any(r.lower_bound() is not None for r in results)
    ax.set_xlabel("samples   (dashed: lower bound on the mean)" if dashed else "samples")
    quiet(ax, titled(results[0], f"samples of {count_of_runs(results)}"), along="x")
    censored = any(result.censored for result in results)
    marks = ["Box: quartiles; bar in it: median; line above it: its 95 % interval; long line: 5 to 95 % of runs."]
    marks += ["Diamond: mean; gray dots: single runs."]
    marks += ["Arrow: lower bound on the mean, because runs are censored."] * censored  # lines that fit under the axes
    footnotes(ax, results, also=marks)
    return ax


def plot_error(results: Sequence[Any], ax: Axes | None = None) -> Axes:
    """Draw the error rate of each algorithm's stopped runs with its 95 % interval (Clopper-Pearson), and delta.

    The row of a result without an error rate stays empty.
    """
    _check(results)
    ax = ax or new_axes(rows_size(results))
    top = 0.0
    for i, (result, name) in enumerate(zip(results, labels(results), strict=True)):
        error, delta, color = result.error(), result.guarantee.get("delta"), look(i, name)[0]
        if error is not None:
            ax.plot([error.low, error.high], [i, i], color=color, linewidth=3, solid_capstyle="butt", zorder=3)
            ax.plot(error.value, i, "o", color=color, markeredgecolor="white", markersize=6.5, zorder=4, clip_on=False)
            top = max(top, error.high)
        if delta is not None:
            ax.plot([delta, delta], [i - 0.5, i + 0.5], color=INK, linestyle=(0, (4, 2)), linewidth=1.2, zorder=2)
            top = max(top, delta)
    ax.set_xlim(0, 1.12 * top if top else 1)
    rows_axis(ax, labels(results))
    promised = [r.guarantee for r in results if "delta" in r.guarantee]
    heuristic = " of a heuristic" * (bool(promised) and not any(g.get("proved", True) for g in promised))
    ax.set_xlabel(f"error rate   (dashed: delta{heuristic})" if promised else "error rate")
    quiet(ax, titled(results[0], "error rates, 95 % intervals"), along="x")
    return ax


def plot_pulls(results: Sequence[Any], ax: Axes | None = None) -> Axes:
    """Draw the mean pulls of each arm with 95 % intervals. If the true means are known, the best arm comes first."""
    _check(results)
    named = enumerate(zip(labels(results), results, strict=True))
    with_pulls = [(i, name, r) for i, (name, r) in named if "pulls" in r.arrays]
    if not with_pulls:
        raise BadInput(f"plot: {results[0].instance}: no result holds the pulls of its arms")
    ax = ax or new_axes(SIZE)
    num_arms = with_pulls[0][2].arrays["pulls"].shape[1]
    truth = results[0].truth
    means = truth.get("means")
    arms = np.arange(num_arms) if means is None else np.argsort(-np.asarray(means), kind="stable")
    few = num_arms <= NAMED_ARMS
    step = min(0.12, 0.7 / len(with_pulls)) if few else 0.0
    for place, (i, name, result) in enumerate(with_pulls):
        mean, _, low, high = (column[arms] for column in result.mean_pulls())
        x = np.arange(num_arms) + (place - (len(with_pulls) - 1) / 2) * step
        color = look(i, name)[0]
        known = np.isfinite(high)  # not of an arm that all runs pulled equally often
        ax.vlines(x[known], low[known], high[known], color=color, linewidth=1.4)
        marker = "osD^vP"[i % 6] if few else "."
        fill = (color, "white")[i // 6 % 2]  # when the colors repeat, the marks are hollow
        ax.plot(x, mean, marker, color=fill, markersize=5, markeredgecolor=color, markeredgewidth=1.1, label=name)
    ax.set_yscale("symlog", linthresh=1.0)
    most = max(float(r.mean_pulls()[0].max()) for _, _, r in with_pulls)
    ax.set_ylim(-0.15, 2 * max(most, 1.0))  # so that all marks are entirely visible
    ax.yaxis.set_major_formatter("{x:,.0f}")
    if few:
        names = [str(a) if means is None else f"{a}\n{means[a]:.4g}" for a in arms]
        ax.set_xticks(range(num_arms), names)
        for x in np.arange(num_arms - 1) + 0.5:
            ax.axvline(x, color=PALE, linewidth=0.7)
    if means is not None:
        ax.set_xlabel("arm and its mean" if few else "arms in decreasing order of their means")
    else:
        ax.set_xlabel("position of the arm (each run has its own order)" if "sorted_means" in truth else "arm")
    ax.set_ylabel("mean pulls of the arm")
    quiet(ax, titled(results[0], f"mean pulls of each arm, {count_of_runs(results)}, 95 % intervals"))
    legend(ax)
    footnotes(ax, results)
    return ax


def ecdf(label: str, order: int, values: np.ndarray, among: int, points: int, end: float | None = None) -> Curve:
    """Return the empirical distribution function of `values` with 95 % intervals, at most `points` of its steps.

    `among` is the number of runs, including censored ones, whose value is only known to be larger. The function is
    known up to `end`, by default the largest of `values`. `order` determines the color.
    """
    values = np.sort(values)
    ranks = even_positions(len(values), points) + 1 if len(values) else np.zeros(0, int)
    at, share = values[ranks - 1], intervals.clopper_pearson(ranks, among)
    last = at[-1:] if end is None else np.array([end], np.float64)
    x = np.concatenate([at[:1], at, last])
    if not len(at):  # no run has ended: the function is 0 as far as it is known
        return Curve(label, order, last, *np.zeros((3, len(last))))
    ends = (np.concatenate([[0.0], v, v[-1:]]) for v in (share.value, share.low, share.high))
    return Curve(label, order, x, *ends)


def stopping_curve(label: str, order: int, result: Any, points: int) -> Curve:
    """Return the fraction of runs that have stopped after n samples; with censored runs, up to max_rounds."""
    times = result.arrays["samples"][result.ended(Outcome.STOPPED)].astype(np.float64)
    return ecdf(label, order, times, len(result.samples()), points, result.max_rounds if result.censored else None)


def mean_of(result: Any) -> intervals.Interval[float]:
    """Return the (restricted) mean with its interval; NaN for an end that is unknown, as both are for a single run."""
    times = result.samples()
    if len(times) < 2:
        return intervals.Interval(times[0], np.nan, np.nan, np.nan)
    mean = result.restricted_mean()
    return mean._replace(**{end: x if np.isfinite(x := getattr(mean, end)) else np.nan for end in ("low", "high")})


def rows_size(results: Sequence[Any]) -> tuple[float, float]:
    """Return the size in inches of a figure with one row per result."""
    return SIZE[0], 1.5 + ROW * max(len(results), 3)


def rows_axis(ax: Axes, names: Sequence[str]) -> None:
    """Label the rows, with the first at the top."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)


def _check(results: Sequence[Any]) -> None:
    """Raise BadInput unless the results are of one instance, and each has a stopping time."""
    one_instance(results)
    lost = [r.algorithm for r in results if not (r.counted if r.kind == "simulate" else len(r.samples()))]
    if lost:
        raise BadInput(f"plot: {', '.join(lost)}: no run stopped or was censored, so there is nothing to draw")


def _samples_axis(ax: Axes, results: Sequence[Any]) -> None:
    values = np.concatenate([r.samples() for r in results])
    right = 1.04 * float(values.max(initial=1.0))
    if scale(ax.xaxis, np.maximum(values, 1.0)):
        ax.set_xlim(right=1.04 * right)
    else:
        ax.set_xlim(0, right)


def _mean_text(result: Any) -> str:
    times = result.samples()
    if result.censored:
        return f"> {number(times.mean())}, {result.censored:,} of {result.runs:,} censored"
    if len(times) < 2:
        return number(times.mean())
    half = float(result.interval().high) - times.mean()
    if not np.isfinite(half):
        return f"{number(times.mean())}, all runs equal"
    return f"{number(times.mean())} ± {half:,.0f}" if times.mean() >= 1000 else f"{times.mean():.1f} ± {half:.1f}"
