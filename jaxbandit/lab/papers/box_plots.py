"""Figures of papers as box plots of samples with error rates, in which crosses mark the published numbers.

matplotlib is imported only when a figure is drawn.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxbandit.lab.papers.figure_experiments import Figure, cells
from jaxbandit.running.plotting import stopping_times
from jaxbandit.running.plotting.style import INK, canvas, file_name
from jaxbandit.running.results.base import ResultSet

MARK: dict[str, Any] = {"marker": "x", "color": INK, "linestyle": "none", "markersize": 5, "markeredgewidth": 1.4}
BELOW = 0.33  # offset as a fraction of a row, so that our marks stay visible
TITLE, LABELS = 0.55, 0.95  # inches above the first row of panels, and below each row


def write(figure: Figure, results: ResultSet, content: Mapping[str, Any], directory: Path) -> Path:
    """Write one PNG file with a row of panels for each instance; return its path."""
    rows = [[r for r in cells(figure, results) if r.instance == instance] for instance in figure.instances]
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
        marked |= any([_mark(left, row, content, "samples"), _mark(right, row, content, "error")])
    sheet.text(0, 1, figure.title + "   (x: published)" * marked, fontsize=12, color=INK, va="bottom")
    path = directory / f"{file_name(figure.name)}.png"
    sheet.savefig(path, bbox_inches="tight", pad_inches=0.15)
    return path


def _mark(ax: Any, row: Sequence[Any], content: Mapping[str, Any], quantity: str) -> bool:
    places = {(result.instance, result.algorithm): i for i, result in enumerate(row)}
    theirs = [e for e in content["published"] if e["quantity"] == quantity]
    theirs = [e for e in theirs if (e["instance"], e["algorithm"]) in places]
    at = [places[e["instance"], e["algorithm"]] + BELOW for e in theirs]
    ax.plot([e["value"] for e in theirs], at, zorder=6, clip_on=False, **MARK)
    if theirs:  # the axes must contain all marks
        (low, high), values = ax.get_xlim(), [e["value"] for e in theirs]
        ax.set_xlim(min(low, 0.92 * min(values)), max(high, 1.04 * max(values)))
    return bool(theirs)
