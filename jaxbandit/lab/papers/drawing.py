"""Figures of papers: curves, pulls and box plots of samples, in which crosses mark the published numbers.

matplotlib is imported only when a figure is drawn.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit.lab.papers import origins
from jaxbandit.lab.papers.figure_experiments import Figure, cells
from jaxbandit.running.plotting import figures, stopping_times, sweeps
from jaxbandit.running.plotting.figure_files import file_name, save_figure
from jaxbandit.running.plotting.style import INK, SIZE, canvas, legend
from jaxbandit.running.results.base import Result, ResultSet
from jaxbandit.support.types import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Look = dict[str, Any]  # arguments of matplotlib
MARK: Look = {"marker": "x", "color": INK, "linestyle": "none", "markersize": 7, "markeredgewidth": 1.6}
# Of box plots.
SMALL: Look = MARK | {"markersize": 5, "markeredgewidth": 1.4}
BELOW = 0.33  # offset as a fraction of a row, so that our marks stay visible
TITLE, LABELS = 0.55, 0.95  # inches above the first row of panels, and below each row


def write(shown: Sequence[Figure], results: ResultSet, content: Table, directory: Path) -> list[Path]:
    """Write the figures of a paper into a directory; return their paths."""
    paths = []
    for figure in shown:
        if figure.draw == "boxes":
            paths.append(boxes(figure, results, content, directory))
            continue
        if figure.draw == "each":
            look = {"bands": figure.bands, "minimax": figure.minimax, "log": figure.log}
            paths += figures.write_figures(cells(figure, results), directory / figure.name, **look)
            continue
        sheet = canvas(SIZE)
        ax = sheet.add_subplot()
        (_sweep if figure.draw == "sweep" else _pulls)(figure, results, content["published"], ax)
        counts = " or ".join(f"{runs:,}" for runs in sorted({r.runs for r in cells(figure, results)}))
        ax.set_title(f"{figure.title}; {counts} runs, 95 % intervals", loc="left", fontsize=11, color=INK)
        paths.append(directory / f"{file_name(figure.name)}.png")
        save_figure(sheet, paths[-1])
    return paths


def _sweep(figure: Figure, results: ResultSet, published: Sequence[Table], ax: "Axes") -> None:
    places = dict(zip(figure.instances, figure.at, strict=True))
    curves = {name: [(places[i], results[i, name]) for i in figure.instances] for name in figure.algorithms}
    sweeps.plot_sweep(sweeps.Sweep(figure.name, "", figure.axis, curves, of_instances=True), ax)
    ax.set_xticks(list(places.values()), [f"{value:g}" for value in places.values()], minor=False)
    ax.set_xticks([], minor=True)
    theirs = [e for e in published if e["quantity"] == "samples" and e["instance"] in places]
    theirs = [e for e in theirs if e["algorithm"] in figure.algorithms]
    if theirs:
        ax.plot([places[e["instance"]] for e in theirs], [e["value"] for e in theirs], label=_label(theirs), **MARK)
        legend(ax)


def _pulls(figure: Figure, results: ResultSet, published: Sequence[Table], ax: "Axes") -> None:
    shown: list[Any] = cells(figure, results)
    stopping_times.plot_pulls(shown, ax)
    positions = {line.get_label(): np.asarray(line.get_xdata()) for line in ax.get_lines()}
    order = np.argsort(-np.asarray(shown[0].truth["means"]), kind="stable")  # the order of the arms on the axis
    theirs = [e for e in published if e["quantity"] == "pulls" and e["instance"] == shown[0].instance]
    theirs = [e for e in theirs if e["algorithm"] in positions]
    if theirs:
        x = [positions[e["algorithm"]][list(order).index(e["arm"])] for e in theirs]
        ax.plot(x, [e["value"] for e in theirs], label=_label(theirs), **MARK)
        legend(ax)


def _label(theirs: Sequence[Table]) -> str:
    return "published: " + ", ".join(dict.fromkeys(origins.place(e) for e in theirs))


def boxes(figure: Figure, results: ResultSet, content: Table, directory: Path) -> Path:
    """Write the box plots of a figure, one PNG file with a row of panels for each instance; return its path."""
    rows: list[list[Any]] = [
        [r for r in cells(figure, results) if r.instance == instance] for instance in figure.instances
    ]
    width, height = stopping_times.rows_size(rows[0])
    panel = height - LABELS
    whole = TITLE + len(rows) * (panel + LABELS)
    sheet = canvas((width, whole), layout=None)  # all panels have the same height, whatever their labels
    axes = sheet.subplots(len(rows), 2, squeeze=False, sharey="row", width_ratios=(3, 2))
    sheet.subplots_adjust(wspace=0.16, hspace=LABELS / panel, top=1 - TITLE / whole, bottom=LABELS / whole)
    marked = False
    for (left, right), row in zip(axes, rows, strict=True):
        stopping_times.plot_samples(row, left)
        stopping_times.plot_error(row, right)
        right.tick_params(labelleft=False)
        if left.get_xscale() == "linear":
            left.locator_params(axis="x", nbins=5)
        marked |= any([_mark_boxes(left, row, content, "samples"), _mark_boxes(right, row, content, "error")])
    sheet.text(0, 1, figure.title + "   (x: published)" * marked, fontsize=12, color=INK, va="bottom")
    path = directory / f"{file_name(figure.name)}.png"
    save_figure(sheet, path)
    return path


def _mark_boxes(ax: "Axes", row: Sequence[Result], content: Table, quantity: str) -> bool:
    places = {(result.instance, result.algorithm): i for i, result in enumerate(row)}
    theirs = [e for e in content["published"] if e["quantity"] == quantity]
    theirs = [e for e in theirs if (e["instance"], e["algorithm"]) in places]
    at = [places[e["instance"], e["algorithm"]] + BELOW for e in theirs]
    ax.plot([e["value"] for e in theirs], at, zorder=6, clip_on=False, **SMALL)
    if theirs:  # the axes must contain all marks
        (low, high), values = ax.get_xlim(), [e["value"] for e in theirs]
        ax.set_xlim(min(low, 0.92 * min(values)), max(high, 1.04 * max(values)))
    return bool(theirs)
