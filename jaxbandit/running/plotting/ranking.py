"""The figure of many algorithms on one instance: a row for each, with its final mean and interval, the best first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit.running.plotting import theory
from jaxbandit.running.plotting.style import (
    INK,
    Bands,
    band,
    footnotes,
    labels,
    look,
    new_axes,
    points,
    quiet,
    scale,
    titled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WIDTH, HEIGHT, ROW = 8.4, 1.4, 0.2  # inches: width, height without rows, and height of a row


def order(results: Sequence[Any], what: str = "regret") -> list[int]:
    """Return the numbers of the results by increasing final mean; those without a valid run come last."""
    ends = [float(r.moments(what)[0][-1]) if r.counted_in(what) else np.inf for r in results]
    return sorted(range(len(results)), key=lambda i: ends[i])


def size(results: Sequence[Any]) -> tuple[float, float]:
    """Return the size of the figure in inches."""
    return WIDTH, HEIGHT + ROW * len(results)


def plot_ranking(
    results: Sequence[Any],
    values: Sequence[str],
    ax: Axes | None,
    what: str,
    words: tuple[str, str],
    bands: Bands = "95 %",
    minimax: bool = False,
) -> Axes:
    """Draw the final means with their intervals, the smallest first, and the lower bound; return the Axes.

    The axis is logarithmic if the means are far apart and positive. `values` are the final means as text, and `words`
    what the curve `what` is called, in the title and at the axis.
    """
    ax = ax or new_axes(size(results))
    names = labels(results)
    ranks = order(results, what)
    ends = []
    for row, i in enumerate(ranks):
        result = results[i]
        if not result.counted_in(what):
            continue
        mean = float(result.moments(what)[0][-1])
        ends.append(mean)
        if result.counted_in(what) > 1:
            low, high = (float(end[-1]) for end in band(result, what, bands))
            if np.isfinite(low) and np.isfinite(high):
                color = look(0, names[i])[0]
                ax.plot([low, high], [row, row], color=color, linewidth=2.4, alpha=0.6, solid_capstyle="butt")
                ends += [end for end in (low, high) if end > 0]
        ax.plot([mean], [row], "o", color=INK, markersize=3.6)
        ax.annotate(values[i], (1.01, row), xycoords=("axes fraction", "data"), fontsize=points(8.5), color=INK,
                    va="center", annotation_clip=False)  # fmt: skip
    notes = []
    for name, text, bound, style in theory.lines(results, what, minimax):
        if bound[-1] > 0:
            ax.axvline(bound[-1], color=INK, linewidth=1.1, linestyle=style, zorder=1.5)
            ends.append(float(bound[-1]))
            notes += [f"Vertical line: {text}.", *theory.notes(results, name, bound)]
    ax.set_yticks(range(len(ranks)), [names[i] for i in ranks], fontsize=points(8.5))
    ax.set_ylim(len(ranks) - 0.4, -0.6)
    if ends:
        scale(ax.xaxis, ends)
    rounds = int(results[0].arrays["checkpoints"][-1])
    ax.set_xlabel(f"{words[1]} after {rounds:,} rounds")
    text = {"95 %": "95 % intervals", "standard error": "one standard error to either side"}
    text |= {"quantiles": "5 % to 95 % of the runs"}
    quiet(ax, titled(results[0], f"{words[0]} of {results[0].runs:,} runs, {text[bands]}"), along="x")
    ax.tick_params(axis="y", length=0)
    footnotes(ax, results, notes, what)
    return ax
