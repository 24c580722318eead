"""What all figures share: colors, names of curves, and the frame; `paper`, for a column of print.

The colors are the palette of Okabe and Ito. When they repeat, the lines are dashed. Sizes of text are relative to
Matplotlib's `font.size`, and a figure has its `figure.figsize`, if that was set.
"""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from jaxbandit.base.calls import checked
from jaxbandit.base.parameters import Arg
from jaxbandit.support.domains import number
from jaxbandit.support.extras import lab
from jaxbandit.support.refusals import BadInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure
    from matplotlib.typing import LineStyleType as LineStyle


LOG_FROM = 8.0  # an axis is logarithmic if its largest value is at least this multiple of its smallest
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", (0, (3.5, 1.2)), (0, (1.2, 0.9)))
INK, GRAY, PALE = "#222222", "#777777", "#dddddd"
SIZE = (8.4, 4.8)  # inches
NARROW = 5.0  # inches; a narrower figure has no title, which would be cut off, and its legend above the axes
Bands = Literal["95 %", "standard error", "quantiles"]
UNNAMED = "environment"  # the label of an instance without a name
FOOT = "footnotes"
MOST_NOTES = 3  # of a narrow figure
OF_RUNS = (0.05, 0.95)  # the quantiles of the runs between which most of them lie


Inches = Annotated[float, Arg(number(0, open_low=True), "in inches")]
Points = Annotated[float, Arg(number(0, open_low=True), "in points")]
Colors = Mapping[str, Any] | Sequence[Any]
_colors: ContextVar[Colors] = ContextVar("colors", default=COLORS)


@checked
def paper(*, width: Inches = 3.3, height: Inches | None = None, size: Points = 8.0) -> dict[str, Any]:
    """Return Matplotlib's settings for figures of a paper, for `plt.rcParams.update` or `plt.rc_context`.

    Fonts are embedded in PDF and EPS as Type 42 (TrueType), which publishers require. A figure narrower than 5 inches
    has no title, and its legend is above the axes.

    Args:
      width: width of the figures, such as that of a column or of the text.
      height: height of the figures; default: 0.68 times the width.
      size: size of the text.
    """
    small = 0.875 * size
    return {
        "figure.figsize": (width, 0.68 * width if height is None else height),
        "figure.constrained_layout.use": True,
        "font.size": size,
        "xtick.labelsize": small,
        "ytick.labelsize": small,
        "axes.linewidth": 0.6,
        "lines.markersize": 4.0,
        "pdf.fonttype": 42,
        "ps.fonttype": 42,
        "savefig.dpi": 300,
    }


def settings(given: Mapping[str, Any]) -> contextlib.AbstractContextManager[None]:
    """Return a context in which Matplotlib has these settings."""
    with lab():
        import matplotlib as mpl

    return mpl.rc_context(dict[Any, Any](given))


@contextlib.contextmanager
def in_colors(colors: Colors | None) -> Iterator[None]:
    """Give the curves that are drawn within these colors: in the order of the curves, or by their names."""
    token = _colors.set(colors or COLORS)
    try:
        yield
    finally:
        _colors.reset(token)


def look(order: int, name: str = "") -> tuple[Any, LineStyle]:
    """Return the color and the line style of curve number `order`, which has this name."""
    colors = _colors.get()
    if isinstance(colors, Mapping):
        own = colors.get(name, colors.get(name.partition(" (")[0]))
        if own is not None:
            return own, "-"
        colors = COLORS
    return colors[order % len(colors)], DASHES[order // len(colors) % len(DASHES)]


def points(size: float) -> float:
    """Return the size of a text in points that is of this size if Matplotlib's `font.size` is 10."""
    import matplotlib as mpl

    return size * mpl.rcParams["font.size"] / 10


def band(result: Any, what: str, bands: Bands) -> tuple[Any, Any]:
    """Return the ends of the bands of a curve at its checkpoints, around its mean or around most of its runs."""
    if bands == "quantiles":
        rows = result.per_run(what)
        if rows is None:
            raise BadInput(f'plot: bands = "quantiles", but {result.algorithm} holds no single runs; keep them')
        return tuple(np.quantile(rows[result.counts(what)].astype(np.float64), OF_RUNS, axis=0))
    mean, interval = result.moments(what)[0], result.interval(what=what)
    return (mean - interval.se, mean + interval.se) if bands == "standard error" else interval[-2:]


def single(points: int) -> dict[str, Any]:
    """Return the look that makes a line of one point visible, a dash as a mark, or none if there are more points."""
    return {"marker": "_", "markersize": 22, "markeredgewidth": 2.0} if points == 1 else {}


def labels(results: Sequence[Any], *, but: str = "") -> list[str]:
    """Return a name for each result: the algorithm, and those parameters except `but` that distinguish results."""
    names = []
    for result in results:
        same = [r.params for r in results if r.algorithm == result.algorithm]
        differs = [k for k, v in result.params.items() if k != but and any(p.get(k) != v for p in same)]
        more = ", ".join(f"{k} = {result.params[k]}" for k in differs)
        names.append(f"{result.algorithm} ({more})" if more else result.algorithm)
    return names


def new_axes(size: tuple[float, float]) -> Axes:
    """Return the Axes of a new figure, made with pyplot so that a notebook shows it."""
    with lab():
        import matplotlib.pyplot as plt

    return plt.figure(figsize=_figure_size(size), layout="constrained").add_subplot()


def _figure_size(size: tuple[float, float]) -> tuple[float, float]:
    """Return the size of a figure: ours, or Matplotlib's `figure.figsize` if it was set; rows keep their height."""
    import matplotlib as mpl

    width, height = mpl.rcParams["figure.figsize"]
    if [width, height] == list(mpl.rcParamsDefault["figure.figsize"]):
        return size
    return width, height if size == SIZE else points(size[1])


def canvas(size: tuple[float, float], layout: str | None = "constrained") -> Figure:
    """Return an empty figure for a file. It is made without pyplot, which needs a display and keeps figures open."""
    with lab():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

    figure = Figure(figsize=_figure_size(size), dpi=160, layout=layout)  # pyright: ignore[reportArgumentType]
    FigureCanvasAgg(figure)
    return figure


def narrow(figure: Any) -> bool:
    """Return whether a figure is so narrow that it has no title, and its legend above the axes."""
    return figure.bbox.width / figure.dpi < NARROW


def quiet(ax: Axes, title: str, *, along: Literal["x", "y"] = "y") -> None:
    """Set the title and the frame: grid lines at the ticks of axis `along`, and no box."""
    ax.set_title("" if narrow(ax.figure) else title, loc="left", fontsize=points(11), color=INK)
    ax.grid(axis=along, color=PALE, linewidth=0.7)
    ax.set_axisbelow(True)
    for side in ("top", "right", "left" if along == "y" else "bottom"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis=along, length=0)


def scale(axis: XAxis | YAxis, values: Iterable[float]) -> bool:
    """Make an axis logarithmic if its values are positive and far apart, with plain ticks; return whether it is."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    low, high = float(min(values)), float(max(values))
    long = axis.axis_name == "x" and high >= 1e6  # a tick label such as 1,000,000 would overlap with the next one
    if not (low > 0 and high >= LOG_FROM * low):
        axis.set_major_formatter(EngFormatter() if long else "{x:,.0f}" if high >= 10 else "{x:g}")
        return False
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_locator(LogLocator(subs=(1.0,) if high > 200 * low else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(EngFormatter() if long else "{x:,.0f}" if low >= 1 else "{x:g}")
    axis.set_minor_formatter(NullFormatter())
    return True


def legend(ax: Axes, where: Any = None) -> None:
    """Write the legend "right" of the axes or "above" them, at a `loc` of Matplotlib, or not at all if False.

    By default it is above the axes of a narrow figure, and right of those of others.
    """
    if old := ax.get_legend():
        old.remove()
    named = [line for line in ax.get_lines() if not str(line.get_label()).startswith("_")]
    if where is False or not named:
        return
    how: dict[str, Any] = {"handles": named, "frameon": False, "fontsize": points(9)}
    where = where or ("above" if narrow(ax.figure) else "right")
    if where == "right":
        ax.legend(**how, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    elif where != "above":
        ax.legend(**how, loc=where)
    else:
        above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.01), "borderaxespad": 0.0}
        above |= {"handlelength": 1.6, "columnspacing": 1.0}
        for columns in range(len(named), 0, -1):  # as many side by side as the figure is wide
            drawn = ax.legend(**how, **above, ncols=columns)
            for text in drawn.get_texts():
                text.set_parse_math(False)  # a label that is no formula has a width too
            wide = drawn.get_window_extent().width
            for text in drawn.get_texts():
                text.set_parse_math(True)
            if wide <= 0.8 * ax.figure.bbox.width:
                break


def titled(result: Any, text: str) -> str:
    """Return a title that begins with the name of the instance, if it has one."""
    return text[:1].upper() + text[1:] if result.instance == UNNAMED else f"{result.instance}: {text}"


def one_instance(results: Sequence[Any]) -> None:
    """Raise BadInput if results are of several instances."""
    instances = {result.instance for result in results}
    if len(instances) != 1:
        raise BadInput(f"plot: instances = {sorted(instances)}, must be one; draw each in its own figure")


def count_of_runs(results: Sequence[Any]) -> str:
    """Return how many runs each result has, in words."""
    return " or ".join(f"{count:,}" for count in sorted({result.runs for result in results})) + " runs"


def footnotes(ax: Axes, results: Sequence[Any], also: Sequence[str] = (), what: str | None = None) -> None:
    """Write the notes of the results and the lines of `also` under the axes, after the lines that are there already.

    `what` is the one curve that is shown, if it is one of several.
    """
    note = next((text for text in ax.texts if text.get_gid() == FOOT), None)
    lines = str(note.get_label()).split("\n") if note else []
    lines = list(dict.fromkeys([*lines, *(note for result in results for note in result.notes(what)), *also]))
    if note:
        note.remove()
    if lines:
        size, whole = points(8.5), "\n".join(lines)
        if narrow(ax.figure):  # about half an em for each character
            wide = int(0.95 * 72 * ax.figure.bbox.width / ax.figure.dpi / (0.5 * size))
            more = f"and {len(lines) - MOST_NOTES} more notes" if len(lines) > MOST_NOTES else ""
            lines = [part for line in [*lines[:MOST_NOTES], more] for part in textwrap.wrap(line, wide)]
        left = "figure fraction" if narrow(ax.figure) else "axes fraction"
        place = {"xycoords": (left, ax.xaxis.label), "textcoords": "offset points", "va": "top", "gid": FOOT}
        place["label"] = whole
        ax.annotate(
            "\n".join(lines),
            (0, 0),
            (2 * narrow(ax.figure), -5),
            fontsize=size,
            color=GRAY,
            annotation_clip=False,
            **place,
        )


def plain_text(figure: Figure) -> Figure:
    """Return the figure, with its texts shown literally: a dollar sign in a name does not start a formula."""
    with lab():
        from matplotlib.text import Text

    for text in figure.findobj(Text):
        if text.get_text():  # empty ones are tick labels that Matplotlib fills in later, some of them as powers of 10
            text.set_parse_math(False)
    return figure
