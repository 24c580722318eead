"""Figures over two parameters that are swept together: mean final regret, or mean samples, as colors of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit.running.plotting.style import INK, SIZE, count_of_runs, footnotes, new_axes, points, quiet
from jaxbandit.running.plotting.sweeps import mean_of, words_of
from jaxbandit.support.refusals import refuse
from jaxbandit.support.text import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 60  # cells with a number in them


def plot_map(results: Sequence[Any], ax: Axes | None = None) -> Axes:
    """Draw the mean of each pair of values of two swept parameters; return the Axes.

    The parameters are those of the algorithm, or arguments of the instance. Each pair of their values must have one
    result, of one algorithm, or a BadInput is raised.
    """
    tables = [{**r.truth.get("arguments", {}), **r.params} for r in results]
    values = {k: sorted({t[k] for t in tables}) for k, v in tables[0].items() if isinstance(v, int | float)}
    varied = {k: v for k, v in values.items() if len(v) > 1}
    if len({r.algorithm for r in results}) > 1 or len(varied) != 2:
        names = ", ".join(varied) or "none"
        refuse("plot: what", f" = 'map', but the results vary {names}, must vary two numbers of one algorithm")
    (across, x), (up, y) = varied.items()
    grid = np.full((len(y), len(x)), np.nan)
    for table, result in zip(tables, results, strict=True):
        grid[y.index(table[up]), x.index(table[across])] = mean_of(result).value
    if np.isnan(grid).any() or len(results) != grid.size:
        refuse("plot: what", f" = 'map', must have one result for each of the {grid.size} pairs of {across} and {up}")
    ax = ax or new_axes(SIZE)
    image = ax.imshow(grid, origin="lower", aspect="auto", cmap="cividis_r")
    ax.set_xticks(range(len(x)), [f"{value:g}" for value in x])
    ax.set_yticks(range(len(y)), [f"{value:g}" for value in y])
    dark = np.mean([grid.min(), grid.max()])
    for row, column in np.ndindex(*grid.shape) if grid.size <= MOST else ():
        color = "white" if grid[row, column] > dark else INK
        text = {"ha": "center", "va": "center", "fontsize": points(8), "color": color}
        ax.text(column, row, number(float(grid[row, column])), **text)
    bar = ax.figure.colorbar(image, ax=ax)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    bar.set_label(words_of(results))
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    quiet(ax, f"{results[0].algorithm}: {words_of(results)}, {count_of_runs(results)}")
    ax.grid(False)
    failed = sum(bool(r.left_out) for r in results)
    footnotes(ax, [], [f"Runs that failed are left out of {failed} of {grid.size} means."] * bool(failed))
    return ax
