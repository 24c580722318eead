"""Figures of regret: mean curves with 95 % bands and the lower bound, one figure an instance.

Each curve is named at its end in its own colour, from the largest regret down, instead of in a legend to be
matched. matplotlib is imported when something is drawn.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from jaxbandit.plotting.style import INK, SIZE, canvas, file_name, labels, look, new_axes, quiet
from jaxbandit.refusals import BadInput, choice
from jaxbandit.stats import intervals

Bands = Literal["95 %", "standard error"]
_LONG = {"lower bound": "asymptotic lower bound", "minimax": "d √t, minimax order"}
LINE_HEIGHT = 0.047  # of the axes: what one label at the curves' end needs


def plot(
    results: Sequence[Any],
    ax: Any = None,
    *,
    bands: Bands = "95 %",
    minimax: bool = False,
    log: bool = False,
) -> Any:
    """Draw the mean regret of several algorithms on one instance.

    Args:
      results: at least one Result, all of one instance.
      ax: matplotlib Axes; default: those of a new figure, made with pyplot so that a notebook shows it.
      bands: about the means: intervals of "95 %", or the "standard error" to either side.
      minimax: draw d sqrt(t) too, the order of the least regret on the worst linear instance of the dimension.
      log: regret on a logarithmic axis, for means that are far apart.

    Returns:
      The Axes.

    Raises:
      ValueError: no results, several instances, or minimax of an instance without features.
    """
    choice("plot: bands", bands, get_args(Bands))
    instances = {r.instance for r in results}
    if len(instances) != 1:
        raise BadInput(f"plot: instances = {sorted(instances)}, must be one; draw them one by one")
    ax = ax or _room(new_axes(SIZE), 0.28)
    names = labels(results)
    ends = []
    for i, (result, name) in enumerate(zip(results, names, strict=True)):
        line = _curve(ax, result, name, i, bands)
        ends.append((float(result.arrays["mean"][-1]), f"{name}  {_value(result, bands)}", line))
    _dress(ax, results[0], bands)
    if log:
        _log_regret(ax, results)
    top = max(end for end, *_ in ends)
    for name, bound, style in _bounds(results, minimax):
        if log and bound[-1] <= 0:
            continue
        (line,) = ax.plot(
            results[0].arrays["checkpoints"], bound, color=INK, linewidth=1.1, linestyle=style, zorder=1.5, label=name
        )
        if bound[-1] <= 1.5 * top:  # farther up it would flatten the curves: let it leave the picture
            ax.set_ylim(top=max(ax.get_ylim()[1], 1.05 * bound[-1]))
        if log or bound[-1] <= 1.5 * top:  # where regret is logarithmic its start may be in the picture
            ends.append((float(bound[-1]), f"{_LONG[name]}  {bound[-1]:,.1f}", line))
    _name_ends(ax, ends)
    return ax


def _bounds(results: Sequence[Any], minimax: bool) -> list[tuple[str, np.ndarray, Any]]:
    """Name, values at the checkpoints, and line style of what theory says of the instance."""
    found = []
    bound = next((b for r in results if (b := r.lower_bound()) is not None), None)
    if bound is not None:
        found.append(("lower bound", bound, (0, (6, 3))))
    if minimax:
        dim = next((d for r in results if (d := r.truth.get("dim")) is not None), None)
        if dim is None:
            raise BadInput(f"plot: minimax: instance {results[0].instance} has no features")
        from jaxbandit.bounds.linear_regret import minimax_linear_regret

        rate = minimax_linear_regret(dim, results[0].arrays["checkpoints"])
        found.append(("minimax", rate, ":"))
    return found


def plot_one(result: Any, ax: Any = None) -> Any:
    """Draw the mean regret of one result, labelled for a legend; return the Axes."""
    new = ax is None
    ax = ax or _room(new_axes(SIZE), 0.0)
    _curve(ax, result, result.algorithm, len(ax.get_lines()))
    _dress(ax, result)
    if new:
        ax.legend(frameon=False, loc="upper left")
    return ax


def plot_results(results: Sequence[Any], directory: str | Path, **look: Any) -> list[Path]:
    """Write one PNG an instance, `regret-INSTANCE.png`, into a directory; return their paths. `look`: as for `plot`."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for instance in dict.fromkeys(r.instance for r in results):
        figure = canvas(SIZE)
        plot([r for r in results if r.instance == instance], _room(figure.add_subplot(), 0.28), **look)
        paths.append(directory / f"regret-{file_name(instance)}.png")
        figure.savefig(paths[-1], bbox_inches="tight", pad_inches=0.15)
    return paths


def _room(ax: Any, room: float) -> Any:
    """Leave a part of the figure free at the right, for names."""
    ax.figure.subplots_adjust(left=0.08, right=0.98 - room, bottom=0.12, top=0.9)
    return ax


def _curve(ax: Any, result: Any, name: str, order: int, bands: Bands = "95 %") -> Any:
    rounds, mean = result.arrays["checkpoints"], result.arrays["mean"]
    colour, style = look(order)
    (line,) = ax.plot(rounds, mean, color=colour, linestyle=style, linewidth=1.6, label=name)
    if result.runs > 1:
        interval = result.interval(intervals.CONFIDENCE)
        low, high = (mean - interval.se, mean + interval.se) if bands == "standard error" else interval[-2:]
        ax.fill_between(rounds, low, high, color=colour, alpha=0.22, linewidth=0)
    return line


def _log_regret(ax: Any, results: Sequence[Any]) -> None:
    """Make the axis of regret logarithmic, from the least regret in the first decade that is shown."""
    rounds = results[0].arrays["checkpoints"]
    first = max(ax.get_xlim()[0], 1)
    shown = np.concatenate([r.arrays["mean"][(rounds >= first) & (rounds <= 10 * first)] for r in results])
    shown = shown[shown > 0]
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter("{x:,.15g}")
    last = max(float(r.arrays["mean"][-1]) for r in results)
    ax.set_ylim(0.8 * shown.min() if len(shown) else None, 1.6 * last)


def _dress(ax: Any, result: Any, bands: Bands = "95 %") -> None:
    """Set scales, words and the quiet frame."""
    rounds = result.arrays["checkpoints"]
    if rounds[-1] >= 100 * rounds[0]:  # regret of log t is a straight line
        first = next((t for t in rounds if t >= 10), rounds[0])
        ax.set_xscale("log")
        ax.set_xlim(first, rounds[-1])
        ax.xaxis.set_major_formatter("{x:,.0f}")
    else:
        ax.set_xlim(rounds[0] if len(rounds) > 1 else 0, rounds[-1])
    ax.set_ylim(bottom=0)
    ax.set_xlabel("round")
    ax.set_ylabel("regret")
    told = "bands of 95 %" if bands == "95 %" else "bands of one standard error"
    quiet(ax, f"{result.instance}: mean regret of {result.runs:,} runs, {told}")


def _name_ends(ax: Any, ends: Sequence[tuple[float, str, Any]]) -> None:
    """Write each name beside its curve's end with a piece of its line, moved as little as may be."""
    ends = sorted(ends, key=lambda end: -end[0])
    ax.set_ylim(*ax.get_ylim())  # what is drawn beside the axes shall not move them
    shares = [min(_height(ax, end[0]), 1.0) for end in ends]
    places = spread(shares, LINE_HEIGHT, 0.0, max(1.0, LINE_HEIGHT * len(ends)))
    beside = ax.transAxes
    for end, (_, text, line), place in zip(shares, ends, places, strict=True):
        look = {"color": line.get_color(), "transform": beside, "clip_on": False, "solid_capstyle": "butt"}
        ax.plot((1.004, 1.03), (end, place), linewidth=0.7, alpha=0.7, **look)
        ax.plot((1.03, 1.075), (place, place), linewidth=1.8, linestyle=line.get_linestyle(), **look)
        ax.text(1.085, place, text, transform=beside, va="center", fontsize=9, color=INK)


def _height(ax: Any, value: float) -> float:
    """Return where on the axes a regret lies, 0 at their foot and 1 at their top."""
    place = ax.transData.transform((ax.get_xlim()[1], value))[1]
    return float(ax.transAxes.inverted().transform((0.0, place))[1])


def spread(values: Sequence[float], height: float, low: float, high: float) -> list[float]:
    """Return places near the falling `values`, in their order, `height` apart, within [low, high]."""
    # Least squares under an order of distances is isotonic: pool neighbours that would overlap at their mean.
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


def _value(result: Any, bands: Bands) -> str:
    mean = float(result.arrays["mean"][-1])
    if result.runs < 2:
        return f"{mean:,.1f}"
    interval = result.interval()
    half = float(interval.se[-1] if bands == "standard error" else interval.high[-1] - mean)
    return f"{mean:,.1f} ± {half:,.1f}" if half >= 0.05 else f"{mean:,.1f}"
