"""Curves as plain data that report.js draws, with few enough points that the page stays small."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxbandit.base.contract import Outcome
from jaxbandit.running.plotting.style import COLORS, DASHES, LOG_FROM
from jaxbandit.running.results.base import Result
from jaxbandit.running.results.regret import RegretResult
from jaxbandit.running.results.stopping import StoppingResult
from jaxbandit.support.types import Json, Table
from jaxbandit.theory import intervals

DIGITS = 5  # significant digits of the coordinates of a curve
COLUMNS = ("x", "y", "low", "high")  # of a curve
BOUND = "bound"  # in place of a color; it is drawn in the color of the text


Numbers = Sequence[float] | np.ndarray


class Curve(NamedTuple):
    """A curve, with a confidence band if `low` and `high` are given."""

    label: str
    order: int | None  # position among the algorithms of an instance, for the color; None: a reference line
    x: Numbers
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None


class Chart(NamedTuple):
    """Curves over a shared axis. The page also has a table of their values."""

    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    shape: str = "line"  # "line", "step" (constant after each point) or "marks" (points with intervals)
    log_x: bool | None = False  # initial state; None: the axis cannot be made logarithmic
    log_y: bool | None = False
    names: Sequence[str] = ()  # labels of the positions 0, 1, 2, ... along x

    def content(self) -> Json:
        """Return the chart as plain data for JSON."""
        about = {name: getattr(self, name) for name in ("title", "x", "y", "shape")}
        axes = {"logX": self.log_x, "logY": self.log_y, "names": list(self.names)}
        return {**about, **axes, "curves": [_curve(curve) for curve in self.curves if len(curve.x)]}


def shared(charts: Sequence[Table]) -> Json:
    """Return the contents of charts with each list of numbers stored once, because many curves share a column.

    Args:
      charts: what `Chart.content` returns, for each chart.

    Returns:
      `lists`, the distinct lists of numbers, and `charts`, whose curves name their columns by position in `lists`.
    """
    places: dict[tuple[float | None, ...], int] = {}

    def stored(curve: Table) -> Json:
        columns = {name: tuple(curve[name]) for name in COLUMNS if name in curve}
        return {**curve, **{name: places.setdefault(column, len(places)) for name, column in columns.items()}}

    contents = [{**chart, "curves": [stored(curve) for curve in chart["curves"]]} for chart in charts]
    return {"lists": [list(column) for column in places], "charts": contents}


def _curve(curve: Curve) -> Json:
    content: Json = {"label": curve.label, "x": _numbers(curve.x), "y": _numbers(curve.y)}
    if curve.low is not None and curve.high is not None:
        content |= {"low": _numbers(curve.low), "high": _numbers(curve.high)}
    if curve.order is None:
        return {**content, "color": BOUND, "dash": [6, 4]}
    dash = DASHES[curve.order // len(COLORS) % len(DASHES)]
    return {
        **content,
        "color": COLORS[curve.order % len(COLORS)],
        "dash": [] if dash == "-" else [3 * n for n in dash[1]],
    }


def _numbers(values: Numbers) -> list[float | int | None]:
    """Return numbers with `DIGITS` significant digits, and None for those that are not finite, which JSON excludes."""
    numbers = []
    for value in np.asarray(values).tolist():
        short = float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
        whole = isinstance(short, float) and short.is_integer() and abs(short) < 2**53
        numbers.append(None if not np.isfinite(value) else int(short) if whole else short)
    return numbers


def thinned(length: int, points: int) -> np.ndarray:
    """Return at most `points` evenly spaced positions below `length`, including the first and the last."""
    return np.unique(np.linspace(0, length - 1, min(points, length)).round().astype(int))


def is_wide(values: Numbers) -> bool:
    """Return whether values are positive and span so large a range that a logarithmic axis shows them better."""
    values = np.asarray(values, np.float64)
    return bool(len(values) and values.min() > 0 and values.max() >= LOG_FROM * values.min())


def mean_curve(label: str, order: int, result: RegretResult, what: str, points: int) -> Curve:
    """Return the mean of a result's curve `what` at its checkpoints, with 95 % intervals."""
    rounds = result.arrays["checkpoints"]
    keep = thinned(len(rounds), points)
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
    ranks = thinned(len(values), points) + 1 if len(values) else np.zeros(0, int)
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
