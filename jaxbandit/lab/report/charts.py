"""Charts as plain data that report.js draws, and the curves of results with few enough points for a small page."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandit.running.plotting.style import COLORS, DASHES
from jaxbandit.running.results.regret import RegretResult
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


def interval_curve(label: str, order: int, points: Sequence[tuple[float, intervals.Interval[float]]]) -> Curve:
    """Return a curve of values with their intervals, each at its place on the axis."""
    ends = ([getattr(value, end) for _, value in points] for end in ("value", "low", "high"))
    return Curve(label, order, [place for place, _ in points], *ends)
