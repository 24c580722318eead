"""Figures of regret, mean feedback or a metric: mean curves with 95 % bands and the lower bound, one per instance.

Each curve is labeled at its end in its own color.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from jaxbandit.running.plotting import ranking, theory
from jaxbandit.running.plotting.style import (
    INK,
    SIZE,
    Bands,
    band,
    canvas,
    footnotes,
    labels,
    look,
    narrow,
    new_axes,
    one_instance,
    plain_text,
    points,
    quiet,
    titled,
)
from jaxbandit.running.plotting.style import (
    legend as write_legend,
)
from jaxbandit.support.domains import check, choice
from jaxbandit.support.refusals import BadInput
from jaxbandit.support.text import is_ranking, with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


WORDS = {
    "regret": ("mean regret", "regret"),
    "feedback": ("mean feedback per round", "mean feedback per round"),
    "hindsight": ("mean regret against the best fixed arm in hindsight", "regret in hindsight"),
}  # quantity -> (its name in the title, its name at the axis); a metric has its own name in both
DYNAMIC = "mean dynamic regret"  # in the title, if the means change over time
BAYESIAN = "mean Bayesian regret"  # if each run draws its own instance
EQUAL = "There is no band where all runs are equal; their interval is in the table."
CURVE = "curve"
LINE_HEIGHT = 0.047  # fraction of the axes of a figure of our size that one label at the end of a curve needs


def plot(
    results: Sequence[Any],
    ax: Axes | None = None,
    *,
    what: str | None = None,
    bands: Bands = "95 %",
    minimax: bool = False,
    log: bool = False,
    legend: str | bool | None = None,
    final: bool = False,
) -> Axes:
    """Draw the mean regret of several algorithms on one instance, each labeled at the end of its curve.

    Of 16 algorithms or more, or if `final`, a row for each shows its final mean instead, the smallest first.

    Args:
      ax: matplotlib Axes; default: those of a new figure, made with pyplot so that a notebook shows it.
      what: the results' measure (default), "hindsight", or the name of a metric.
      bands: "95 %" intervals of the means, one "standard error" to either side, or "quantiles", with 90 % of the runs.
      minimax: whether to draw also the minimax regret, the smallest possible regret on the worst instance: for linear
        instances its order d sqrt(t); for changing means, and in hindsight, the lower bound sqrt(K V t) / 20, where V
        is the number of segments begun.
      log: whether the axis of the regret is logarithmic, for regrets that are far apart. If the means of the
        environment change over time, the axis of the rounds is then logarithmic, too.
      legend: "ends" to name each curve at its end, the default if the figure is not narrow, or as for `style.legend`.
    """
    check("plot: bands", bands, choice(get_args(Bands)))
    one_instance(results)
    what = _measure(results, what)
    if final or is_ranking(r.algorithm for r in results):
        own = [_value(result, what, bands) for result in results]
        return ranking.plot_ranking(results, own, ax, what, _words(results[0], what), bands, minimax)
    ax = ax or new_axes(SIZE)
    ends = []
    for i, (result, name) in enumerate(zip(results, labels(results), strict=True)):
        line = _curve(ax, result, name, i, what, bands)
        if result.counted_in(what):
            ends.append((float(result.moments(what)[0][-1]), f"{name}  {_value(result, what, bands)}", line))
    _dress(ax, results[0], what, bands, log)
    if log:
        _log_regret(ax, results, what)
    top = max((end for end, *_ in ends), default=0.0)
    theory.mark_changes(ax, results[0])
    notes = [EQUAL] if any(_equal_for_long(result, what, top) for result in results) else []
    for name, text, bound, style in theory.lines(results, what, minimax):
        near = bound[-1] <= 1.5 * top  # farther up it would flatten the curves
        if not (near or log) or (log and bound[-1] <= 0):
            continue  # a line that cannot be labeled is not drawn
        line = theory.draw(ax, results[0], name, bound, style)
        notes += theory.notes(results, name, bound)
        if near:
            ax.set_ylim(top=max(ax.get_ylim()[1], 1.05 * bound[-1]))
        ends.append((float(bound[-1]), text, line))
    if legend == "ends" or (legend is None and not narrow(ax.figure)):
        _name_ends(ax, ends)
    else:
        write_legend(ax, legend)
    footnotes(ax, results, notes, what)
    return ax


def _measure(results: Sequence[Any], what: str | None) -> str:
    """Return the quantity to draw; raise if some result does not hold it."""
    measures = {result.measure for result in results} if what is None else {what}
    if len(measures) != 1:
        raise BadInput(
            f"plot: results of {' and of '.join(sorted(measures))}, must be of one measure; draw each in its own figure"
        )
    (only,) = measures
    check("plot: what", only, choice(dict.fromkeys((*WORDS, *(name for r in results for name in r.metrics)))))
    for result in results:
        result.moments(only)  # raises if the result lacks it
    return only


def plot_one(result: Any, ax: Axes | None = None, *, what: str | None = None) -> Axes:
    """Draw the mean regret of one result, with its name in a legend; return the Axes."""
    what = _measure([result], what)
    ax = ax or new_axes(SIZE)
    before = ax.get_lines()
    curves = [line for line in before if line.get_gid() == CURVE]
    limits = (ax.get_xlim(), ax.get_ylim()) if before else None
    _curve(ax, result, _unlike(result.algorithm, curves), len(curves), what)
    _dress(ax, result, what)
    drawn = any(str(line.get_label()).startswith((theory.SLOPE, theory.ORACLE)) for line in before)
    if not any(line.get_gid() == theory.CHANGE for line in before):
        theory.mark_changes(ax, result)
    notes = []
    for name, text, bound, style in () if drawn else theory.lines([result], what, False):
        if result.counted_in(what) and bound[-1] <= 1.5 * result.moments(what)[0][-1]:
            theory.draw(ax, result, text, bound, style)
            notes += theory.notes([result], name, bound)
            ax.set_ylim(top=max(ax.get_ylim()[1], 1.05 * bound[-1]))
    if limits:
        (left, right), (low, high) = limits
        ax.set_xlim(min(left, ax.get_xlim()[0]), max(right, ax.get_xlim()[1]))
        ax.set_ylim(min(low, ax.get_ylim()[0]), max(high, ax.get_ylim()[1]))
    named = [line for line in ax.get_lines() if not str(line.get_label()).startswith("_")]
    named.sort(key=lambda line: line.get_gid() != CURVE)  # the curves first
    ax.legend(handles=named, frameon=False, loc="upper left" if what in ("regret", "hindsight") else "best")
    footnotes(ax, [result], notes, what)
    return ax


def _unlike(name: str, curves: Sequence[Line2D]) -> str:
    """Return the name, with a number if another curve already has it."""
    taken = {line.get_label() for line in curves}
    return next(n for n in (name, *(f"{name} ({i})" for i in range(2, len(curves) + 3))) if n not in taken)


def drawn(results: Sequence[Any], **look: Any) -> Iterator[tuple[str, Figure]]:
    """Yield the name and the matplotlib figure of each file that `write_figures` writes."""
    for instance in dict.fromkeys(r.instance for r in results):
        some = [r for r in results if r.instance == instance]
        for what in some[0].curves:
            measured = what == some[0].measure and what not in some[0].metrics
            if not measured and not all(what in r.curves for r in some):
                continue
            figure = canvas(ranking.size(some) if is_ranking(r.algorithm for r in some) else SIZE)
            # Regret alone is never negative.
            plot(some, figure.add_subplot(), **(look if measured else look | {"what": what, "log": False}))
            yield f"{'regret' if measured else what}-{instance}", plain_text(figure)


def _curve(ax: Axes, result: Any, name: str, order: int, what: str, bands: Bands = "95 %") -> Line2D:
    rounds, mean = result.arrays["checkpoints"], result.moments(what)[0]
    color, style = look(order, name)
    dot = {"marker": "o", "markersize": 5, "clip_on": False} if len(rounds) == 1 else {}  # a line of one point is none
    (line,) = ax.plot(rounds, mean, color=color, linestyle=style, linewidth=1.6, label=name, gid=CURVE, **dot)
    if result.counted_in(what) > 1:
        low, high = band(result, what, bands)
        # Where all runs are equal the upper end of the interval is that of later rounds, which would be a rectangle.
        known = np.isfinite(low) & np.isfinite(high) & (result.moments(what)[1] > 0)
        ax.fill_between(rounds, low, high, where=known, color=color, alpha=0.22, linewidth=0)
        if len(rounds) == 1 and known.all():
            ax.vlines(rounds, low, high, color=color, linewidth=1.4)
    return line


def _equal_for_long(result: Any, what: str, top: float) -> bool:
    """Return whether all runs of a result are equal until the mean is a tenth of the figure's height."""
    mean, variance = result.moments(what)
    return result.counted_in(what) > 1 and bool((abs(mean[variance == 0]) > 0.1 * abs(top)).any())


def _log_regret(ax: Axes, results: Sequence[Any], what: str) -> None:
    """Make the axis of regret logarithmic, from the smallest value of the first decade of rounds, or of the last."""
    rounds = results[0].arrays["checkpoints"]
    first = max(ax.get_xlim()[0], 1)
    means = np.stack([r.moments(what)[0][rounds >= first] for r in results])
    ends = np.concatenate([means[:, rounds[rounds >= first] <= 10 * first], means[:, -1:]], axis=1)
    if not (ends > 0).any():
        raise BadInput(f"plot: log = True, but no {what} is above 0; leave it out")
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter("{x:,.15g}")
    ax.set_ylim(0.8 * ends[ends > 0].min(), 1.6 * np.nanmax(means))


def _dress(ax: Axes, result: Any, what: str, bands: Bands = "95 %", log: bool = False) -> None:
    """Set the scales, the labels and the frame."""
    rounds = result.arrays["checkpoints"]
    steps = np.diff(rounds)
    even = result.moves and not log and (what == "regret" or (len(steps) and steps.max() <= 2 * steps.min()))
    if not even and rounds[-1] >= 100 * rounds[0]:  # so that log t is a straight line; with `log`, a power of t is
        first = next((t for t in rounds if t >= 10), rounds[0])
        ax.set_xscale("log")
        ax.set_xlim(first, rounds[-1])
        ax.xaxis.set_major_formatter("{x:,.0f}")
    else:
        ax.set_xlim(rounds[0] if len(rounds) > 1 else 0, rounds[-1])
        ax.xaxis.set_major_formatter("{x:,.10g}")
    ax.autoscale(axis="y")
    if what == "regret":
        ax.set_ylim(bottom=0)
    elif ax.get_xscale() == "log":
        _fit_shown(ax)
    ax.yaxis.set_major_formatter("{x:,.10g}")
    ax.set_xlabel("round")
    words, axis = _words(result, what)
    ax.set_ylabel(axis)
    texts = {"standard error": "bands of one standard error", "quantiles": "bands of 90 % of the runs"}
    text = texts.get(bands, "95 % bands")
    quiet(ax, titled(result, f"{words} of {result.runs:,} runs, {text}"))


def _words(result: Any, what: str) -> tuple[str, str]:
    """Return what a quantity is called in the title and at the axis."""
    title, axis = WORDS.get(what, (f"mean {what}", what))
    if what != "regret" or not (result.moves or result.prior):
        return title, axis
    return BAYESIAN if result.prior else DYNAMIC, axis


def _fit_shown(ax: Axes) -> None:
    """Fit the vertical axis to the rounds shown, because the values of the first rounds are noise."""
    first = ax.get_xlim()[0]
    curves = [line for line in ax.get_lines() if line.get_gid() == CURVE]
    shown = np.concatenate([np.asarray(c.get_ydata())[np.asarray(c.get_xdata()) >= first] for c in curves])
    shown = shown[np.isfinite(shown)]
    if len(shown):
        low, high = float(shown.min()), float(shown.max())
        pad = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
        ax.set_ylim(low - pad, high + pad)


def _name_ends(ax: Axes, ends: Sequence[tuple[float, str, Line2D]]) -> None:
    """Write each name beside the end of its curve with a piece of its line, moved as little as possible."""
    ends = sorted(ends, key=lambda end: -end[0])
    ax.set_ylim(*ax.get_ylim())  # labels beside the axes must not change their limits
    shares = [min(_height(ax, end[0]), 1.0) for end in ends]
    height = LINE_HEIGHT * SIZE[1] * points(1.0) / (ax.figure.bbox.height / ax.figure.dpi)
    height *= 1.2 if narrow(ax.figure) else 1.0  # notes leave less of the figure to its axes
    places = spread(shares, height, 0.0, max(1.0, height * len(ends)))
    beside = ax.transAxes
    for end, (_, text, line), place in zip(shares, ends, places, strict=True):
        look = {"color": line.get_color(), "transform": beside, "clip_on": False, "solid_capstyle": "butt"}
        ax.plot((1.004, 1.03), (end, place), linewidth=0.7, alpha=0.7, **look)
        ax.plot((1.03, 1.075), (place, place), linewidth=1.8, linestyle=line.get_linestyle(), **look)
        ax.text(1.085, place, text, transform=beside, va="center", fontsize=points(9), color=INK)


def _height(ax: Axes, value: float) -> float:
    """Return the height of a value on the axes, from 0 at the bottom to 1 at the top."""
    place = ax.transData.transform((ax.get_xlim()[1], value))[1]
    return float(ax.transAxes.inverted().transform((0.0, place))[1])


def spread(values: Sequence[float], height: float, low: float, high: float) -> list[float]:
    """Return positions close to the decreasing `values`, in order, at least `height` apart, within [low, high]."""
    # This is isotonic regression: neighbors that would overlap are pooled around their mean.
    blocks: list[list[float]] = []  # [sum, count] of value + rank * height
    for rank, value in enumerate(values):
        blocks.append([value + rank * height, 1.0])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] < blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    level = [total / count for total, count in blocks for _ in range(int(count))]
    upper, lower = high - height / 2, low + height / 2 + (len(values) - 1) * height
    return [float(np.clip(x, min(lower, upper), upper)) - rank * height for rank, x in enumerate(level)]


def _value(result: Any, what: str, bands: Bands) -> str:
    mean, places = float(result.moments(what)[0][-1]), 4 if what == "feedback" else 1
    if result.counted_in(what) < 2:
        return with_interval(mean) if what in result.metrics else f"{mean:,.{places}f}"
    interval = result.interval(what=what)
    if np.isfinite(result.limits(what)).all() and bands != "standard error":  # whose interval is not symmetric
        return with_interval(mean, float(interval.low[-1]), float(interval.high[-1]))
    half = float(interval.se[-1] if bands == "standard error" else interval.high[-1] - mean)
    if what in result.metrics and 0 < half < np.inf:  # of any unit, so that the interval sets the decimals
        places = min(max(1 - round(np.log10(half)), 0), 12)
    if not np.isfinite(half):
        return f"{mean:,.{places}f}, all runs equal"
    return f"{mean:,.{places}f} ± {half:,.{places}f}" if half >= 0.5 * 10.0**-places else f"{mean:,.{places}f}"
