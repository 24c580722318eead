"""The figure of a search: how many configurations remain, their means with intervals, and the trainings spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit.running.plotting.style import COLORS, GRAY, INK, plain_text, quiet, scale
from jaxbandit.support.extras import lab
from jaxbandit.support.text import in_jupyter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


SHOWN = 20  # largest number of configurations with a row: the survivors, then those with the best means
WIDTH, HEIGHT, ROW = 13.0, 3.2, 0.17  # inches: width, height without rows, and height per row
LABEL = 38  # characters


def plot_tuning(result: Any, figure: Figure | None = None) -> Figure:
    """Draw a TuneResult in three parts into an empty figure; return the figure, by default a new one.

    They are how many configurations were trained in each batch that one decision waits for; the mean score of each
    configuration with its interval, the chosen one in color; and how often each one was trained.
    """
    order = result.ranking()[:SHOWN]
    if figure is None:
        with lab():
            import matplotlib.pyplot as plt

        figure = plt.figure(layout="constrained")
        if in_jupyter():  # which shows a result that is a figure, and once more each figure that is open
            plt.close(figure)
    figure.set_size_inches(WIDTH, HEIGHT + ROW * len(order))
    left, middle, right = figure.subplots(1, 3, width_ratios=(4, 5, 3))
    _left(left, result)
    _means(middle, result, order)
    _spent(right, result, order)
    return plain_text(figure)


def _left(ax: Axes, result: Any) -> None:
    pairs = np.unique(np.stack([result.history["batch"], result.history["config"]]), axis=1)
    batches, left = np.unique(pairs[0], return_counts=True)
    ax.step([*(batches + 1), batches[-1] + 2], [*left, left[-1]], where="post", color=COLORS[0], linewidth=1.6)
    ax.set_xlim(1, batches[-1] + 2)
    locator: Any = ax.xaxis.get_major_locator()
    locator.set_params(integer=True)
    if not scale(ax.yaxis, left):
        ax.set_ylim(bottom=0)
    ax.set_xlabel("batch of trainings")
    quiet(ax, f"Configurations trained, out of {len(result.table['index']):,}")


def _means(ax: Axes, result: Any, order: np.ndarray) -> None:
    location = "quantile" if "quantile" in result.table else "mean"  # what low and high are bounds of
    mean, low, high = (result.table[name][order] for name in (location, "low", "high"))
    for row, (index, at, bottom, top) in enumerate(zip(order, mean, low, high, strict=True)):
        color = COLORS[1] if index == result.index else INK if result.table["survivor"][index] else GRAY
        if np.isfinite(bottom) and np.isfinite(top):
            ax.plot([bottom, top], [row, row], color=color, linewidth=1.6, solid_capstyle="butt")
        ax.plot([at], [row], "o", color=color, markersize=4.5)
    known = np.isfinite(mean)
    if known.any():  # an interval after few trainings may be much wider than all others
        ends = np.concatenate([mean[known], *([e[np.isfinite(e)] for e in (low[:5], high[:5])])])
        spread = float(np.ptp(ends)) or abs(float(ends[0])) or 1.0
        first, last = ax.set_xlim(ends.min() - 0.05 * spread, ends.max() + 0.05 * spread)
        for edge, marker, beyond in ((first, "<", low < first), (last, ">", high > last)):
            for row in np.flatnonzero(beyond & np.isfinite(low) & np.isfinite(high)):  # its interval goes on
                ax.plot([edge], [row], marker, color=GRAY, markersize=4, clip_on=False)
    _rows(ax, len(order), [_label(result, int(i)) for i in order])
    ax.set_xlabel("score")
    shown = f"{location.capitalize()} score" + ("" if np.isnan(low).all() else " with its interval")
    all_of_them = len(result.table["index"])
    quiet(ax, shown if len(order) == all_of_them else f"{shown}: {len(order)} of {all_of_them:,}", along="x")


def _spent(ax: Axes, result: Any, order: np.ndarray) -> None:
    pulls = result.table["pulls"][order]
    colors = [COLORS[1] if i == result.index else COLORS[0] for i in order]
    ax.barh(range(len(order)), pulls, color=colors, height=0.65)
    for row, count in enumerate(pulls):
        ax.annotate(f"{count:,}", (count, row), (3, 0), textcoords="offset points", va="center", fontsize=8, color=GRAY)
    ax.set_xlim(0, 1.15 * max(pulls.max(), 1))
    _rows(ax, len(order), [])
    ax.set_xlabel("trainings")
    quiet(ax, f"Trainings spent, {len(result.history['id']):,} in total", along="x")


def _rows(ax: Axes, rows: int, labels: list[str]) -> None:
    ax.set_yticks(range(len(labels)), labels, fontsize=8)
    ax.set_ylim(rows - 0.5, -0.5)


def _label(result: Any, index: int) -> str:
    text = result.configs.text(index)
    if len(text) <= LABEL:
        return text
    return f"{index}: {text}"[: LABEL - 3] + "..."  # with the number that tables have, since two may begin alike
