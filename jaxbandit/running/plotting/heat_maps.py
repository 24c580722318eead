"""Figures over two parameters that are swept together: mean final regret, or mean samples, as colors of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit.running.plotting.style import INK, SIZE, count_of_runs, footnotes, new_axes, points, quiet
from jaxbandit.running.plotting.sweeps import is_number, mean_of, num_censored, words_of
from jaxbandit.support.refusals import refuse
from jaxbandit.support.text import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 60  # cells with a number in them


def is_grid(results: Sequence[Any]) -> bool:
    """Return whether the results of one algorithm vary two numbers and have each pair of their values once."""
    tables = _tables(results)
    places = _places(tables)
    pairs = {tuple(table[k] for k in places) for table in tables}
    return len(places) == 2 and len(results) == len(pairs) == np.prod([len(values) for values in places.values()])


def _tables(results: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the parameters of the algorithm and the arguments of the instance of each result."""
    return [{**r.truth.get("arguments", {}), **r.params} for r in results]


def _places(tables: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """Return the values of each number that all tables have and that takes several, in order."""
    numbers = [k for k in tables[0] if all(is_number(t.get(k)) for t in tables)]
    values = {k: sorted({t[k] for t in tables}) for k in numbers}
    return {k: v for k, v in values.items() if len(v) > 1}


def plot_map(results: Sequence[Any], ax: Axes | None = None) -> Axes:
    """Draw the mean of each pair of values of two swept parameters; return the Axes.

    The parameters are those of the algorithm, or arguments of the instance. Each pair of their values must have one
    result, of one algorithm, or a BadInput is raised.
    """
    tables = _tables(results)
    varied = _places(tables)
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
    names = [results[0].instance] * (len({r.instance for r in results}) == 1) + [results[0].algorithm]
    quiet(ax, f"{', '.join(names)}: {words_of(results)}, {count_of_runs(results)}")
    ax.grid(False)
    failed = sum(bool(r.left_out) for r in results)
    notes = [f"Runs that failed are left out of {failed} of {grid.size} means."] * bool(failed)
    late = sum(num_censored(r) > 0 for r in results)
    notes += [f"{late} of {grid.size} means are lower bounds, because runs were censored."] * bool(late)
    footnotes(ax, [], notes)
    return ax
