"""What all figures share: colors, names of curves, the frame, and the names of files.

The colors are the palette of Okabe and Ito. When they repeat, the lines are dashed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jaxbandit.engine.storage.files import replacing
from jaxbandit.support.extras import lab
from jaxbandit.support.refusals import BadInput
from jaxbandit.theory.intervals import Interval

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
Bands = Literal["95 %", "standard error"]
UNNAMED = "environment"  # the label of an instance without a name
FOOT = "footnotes"


def look(order: int) -> tuple[str, LineStyle]:
    """Return the color and the line style of curve number `order`."""
    return COLORS[order % len(COLORS)], DASHES[order // len(COLORS) % len(DASHES)]


def band(mean: Any, interval: Interval[Any], bands: Bands) -> tuple[Any, Any]:
    """Return the ends of a band around a mean: of its interval, or one standard error to either side."""
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

    return plt.figure(figsize=size, layout="constrained").add_subplot()


def canvas(size: tuple[float, float], layout: str | None = "constrained") -> Figure:
    """Return an empty figure for a file. It is made without pyplot, which needs a display and keeps figures open."""
    with lab():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=160, layout=layout)  # pyright: ignore[reportArgumentType]
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG file: completely or not at all, and never through a link."""
    with replacing(path) as file:
        figure.savefig(file, format="png", bbox_inches="tight", pad_inches=0.15)


def quiet(ax: Axes, title: str, *, along: Literal["x", "y"] = "y") -> None:
    """Set the title and the frame: grid lines at the ticks of axis `along`, and no box."""
    ax.set_title(title, loc="left", fontsize=11, color=INK)
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


def legend(ax: Axes) -> None:
    """Write the legend to the right of the axes."""
    ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)


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
    lines = note.get_text().split("\n") if note else []
    lines = list(dict.fromkeys([*lines, *(note for result in results for note in result.notes(what)), *also]))
    if note:
        note.remove()
    if lines:
        place = {"xycoords": ("axes fraction", ax.xaxis.label), "textcoords": "offset points", "va": "top", "gid": FOOT}
        ax.annotate("\n".join(lines), (0, 0), (0, -5), fontsize=8.5, color=GRAY, annotation_clip=False, **place)


def plain_text(figure: Figure) -> Figure:
    """Return the figure, with its texts shown literally: a dollar sign in a name does not start a formula."""
    with lab():
        from matplotlib.text import Text

    for text in figure.findobj(Text):
        if text.get_text():  # empty ones are tick labels that Matplotlib fills in later, some of them as powers of 10
            text.set_parse_math(False)
    return figure


def file_name(name: str) -> str:
    """Return the name with all characters replaced that are unsuitable for the name of a file."""
    suitable = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
    try:
        os.fsencode(suitable)
    except UnicodeEncodeError:  # Python takes files to be named in the locale's encoding
        return suitable.encode("ascii", "backslashreplace").decode().replace("\\", "-")
    return suitable
