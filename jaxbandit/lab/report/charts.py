"""Charts as plain data that report.js draws, and the curves of results with few enough points for a small page."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandit.base.contract import Outcome
from jaxbandit.running.plotting.style import COLORS, DASHES
from jaxbandit.running.results.base import Result
from jaxbandit.running.results.regret import RegretResult
from jaxbandit.running.results.stopping import StoppingResult
from jaxbandit.support.document import Chart, Curve, Numbers, even_positions
from jaxbandit.theory import intervals

DIGITS = 5  # significant digits of the coordinates of a curve


def content_of(chart: Chart) -> dict[str, Any] | None:
    """Return a chart as plain data for JSON; None if no curve has a point."""
    about = {name: getattr(chart, name) for name in ("title", "x", "y", "shape")}
    axes = {"logX": chart.log_x, "logY": chart.log_y, "names": list(chart.names)}
    curves = [_curve(curve) for curve in chart.curves if len(curve.x)]
    return {**about, **axes, "curves": curves} if curves else None


def _curve(curve: Curve) -> dict[str, Any]:
    """Return a curve as plain data; a reference line is drawn in the color of the text."""
    columns = {name: x for name in ("x", "y", "low", "high") if (x := getattr(curve, name)) is not None}
    color = "bound" if curve.order is None else COLORS[curve.order % len(COLORS)]
    dash = (0, (2, 1.34)) if curve.order is None else DASHES[curve.order // len(COLORS) % len(DASHES)]
    look = {"color": color, "dash": [] if dash == "-" else [3 * n for n in dash[1]]}
    return {"label": curve.label, **{name: _numbers(column) for name, column in columns.items()}, **look}


def _numbers(values: Numbers) -> list[float | int | None]:
    """Return numbers with `DIGITS` significant digits, and None for those that are not finite, which JSON excludes."""
    numbers = []
    for value in np.asarray(values).tolist():
        short = float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
        whole = isinstance(short, float) and short.is_integer() and abs(short) < 2**53
        numbers.append(None if not np.isfinite(value) else int(short) if whole else short)
    return numbers


def mean_curve(label: str, order: int, result: RegretResult, what: str, points: int) -> Curve:
    """Return the mean of a result's curve `what` at its checkpoints, with 95 % intervals."""
    rounds = result.arrays["checkpoints"]
    keep = even_positions(len(rounds), points)
    mean = result.moments(what)[0]
    if result.counted_in(what) < 2:
        return Curve(label, order, rounds[keep], mean[keep])
    interval = result.interval(what=what)
    return Curve(label, order, rounds[keep], mean[keep], interval.low[keep], interval.high[keep])


def ecdf(label: str, order: int, values: np.ndarray, among: int, points: int, end: float | None = None) -> Curve:
    """Return the empirical distribution function of `values` with 95 % intervals, at most `points` of its steps.

    Args:
      label: label of the curve.
      order: position that determines its color.
      values: float64[n], finite.
      among: number of runs, including censored ones, whose value is only known to be larger.
      points: largest number of steps.
      end: the value up to which the function is known. Default: the largest of `values`.
    """
    values = np.sort(values)
    ranks = even_positions(len(values), points) + 1 if len(values) else np.zeros(0, int)
    at, share = values[ranks - 1], intervals.clopper_pearson(ranks, among)
    last = at[-1:] if end is None else np.array([end], np.float64)
    x = np.concatenate([at[:1], at, last])
    shares = (np.round(v, 4) for v in (share.value, share.low, share.high))
    y, low, high = (np.concatenate([[0.0] * bool(len(at)), v, v[-1:]]) for v in shares)
    if not len(at):  # no run has ended: the function is 0 as far as it is known
        x, y, low, high = last, np.zeros(len(last)), np.zeros(len(last)), np.zeros(len(last))
    return Curve(label, order, x, y, low, high)


def stopping_curve(label: str, order: int, result: StoppingResult, points: int) -> Curve:
    """Return the fraction of runs that have stopped after n samples; with censored runs, up to max_rounds."""
    times = result.arrays["samples"][result.ended(Outcome.STOPPED)].astype(np.float64)
    return ecdf(label, order, times, len(result.samples()), points, result.max_rounds if result.censored else None)


def mean_pulls(result: Result) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the mean pulls of each arm with the ends of its 95 % interval, or None if they are unknown.

    The ends are NaN if only the mean over runs was stored, if only one run counts, or if all runs pulled equally often.
    """
    counts = result.counts()
    if "pulls" in result.arrays and counts.any():
        pulls = result.arrays["pulls"][counts].astype(np.float64)
        mean = pulls.mean(axis=0)
        if len(pulls) > 1:
            interval = intervals.student(mean, pulls.var(axis=0, ddof=1), len(pulls), limits=(0, np.inf))
            known = np.isfinite(interval.high)
            return mean, np.where(known, interval.low, np.nan), np.where(known, interval.high, np.nan)
    elif "pulls_mean" in result.arrays and counts.any():
        mean = result.arrays["pulls_mean"]
    else:
        return None
    return mean, np.full(len(mean), np.nan), np.full(len(mean), np.nan)


def interval_curve(label: str, order: int, points: Sequence[tuple[float, intervals.Interval]]) -> Curve:
    """Return a curve of values with their intervals, each at its place on the axis."""
    ends = ([getattr(value, end) for _, value in points] for end in ("value", "low", "high"))
    return Curve(label, order, [place for place, _ in points], *ends)
