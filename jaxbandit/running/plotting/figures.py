"""The function `plot`, which chooses the figure for each kind of results."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxbandit.running.plotting import budgets, gaps, heat_maps, regret_curves, stopping_times, style, sweeps
from jaxbandit.running.plotting.figure_files import file_name, save_figure
from jaxbandit.running.plotting.style import SIZE, Colors, canvas, plain_text
from jaxbandit.support.domains import check, choice
from jaxbandit.support.refusals import refuse

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STOPPING = {
    "stopping": stopping_times.plot_stopping,
    "samples": stopping_times.plot_samples,
    "error": stopping_times.plot_error,
    "pulls": stopping_times.plot_pulls,
    "gap": gaps.plot_gap,
    "sweep": sweeps.plot_only_sweep,
    "map": heat_maps.plot_map,
}
BESIDES = {name: STOPPING[name] for name in ("pulls", "gap", "sweep", "map")}  # what regret has too
SEVERAL = ("sweep", "gap", "map")  # what is drawn of several instances together


def plot(
    results: Any,
    ax: Axes | None = None,
    *,
    what: str | None = None,
    instance: str | None = None,
    labels: Mapping[str, str] | Sequence[str] | None = None,
    colors: Colors | None = None,
    legend: str | bool | None = None,
    title: str | None = None,
    notes: bool = True,
    **look: Any,
) -> Any:
    """Draw the results of one instance.

    The figure has Matplotlib's `figure.figsize` and `font.size`, if they were set, such as by `jb.style.paper`.

    Args:
      results: a Result, a ResultSet, or a list of Results of the same kind.
      ax: matplotlib Axes, which may already hold other results. Default: the Axes of a new figure.
      what: the quantity to draw. For a fixed horizon, the result's measure "regret" or "feedback" (default),
        "hindsight", or the name of a metric, and "final", a row for each result with the mean at the horizon; for
        algorithms that stop, "stopping" (default), "samples" or "error"; for a fixed budget, "error" (default) or
        "simple_regret". For all but a budget also "pulls" of each arm; "sweep", the mean final regret or the mean
        samples against the parameter that the results sweep, and "map", over two parameters; and "gap", against the
        difference of the two largest means: of the instances of the results, or of each run if it draws its own.
      instance: the instance to draw. Default: that of the first result; for "sweep", "map" and "gap", all of them.
      labels: names to write in place of those of the algorithms: in the order of the results, or by algorithm.
      colors: Matplotlib's colors, in the order of the curves, or by their labels.
      legend: "ends" names each curve of regret at its end; "right" and "above" are beside the axes, "upper left" and
        the like a `loc` of Matplotlib within them; False for none. Default: "ends" or "right", "above" if the figure
        is narrower than 5 inches.
      title: the title. Default: one that says what is drawn, if the figure is 5 inches wide or more.
      notes: whether notes stand below the axes, such as how many runs were left out of a mean.
      **look: options of regret figures: bands = "95 %", "standard error", or "quantiles", in which 90 % of the runs
        are; minimax, whether to draw the minimax rate; and log, whether the axis of the regret is logarithmic.

    Returns:
      The matplotlib Axes. A single regret curve is named in a legend, which is updated when another one is drawn on
      the same Axes; several curves are labeled at their ends.

    Raises:
      ValueError: there are no results, they are of different kinds, there is no such instance, or the results do not
        hold the requested quantity.
    """
    single = hasattr(results, "kind")
    one = single or hasattr(results, "init") or not hasattr(results, "__iter__")  # an environment is a tuple
    some = [results] if one else list(results)
    if wrong := [type(each).__name__ for each in some if not hasattr(each, "kind")]:
        refuse("plot: results", f" is or holds a value of type {wrong[0]}, must be one Result or several")
    kinds = {result.kind for result in some}
    if len(kinds) != 1:
        several = f": results of {len(kinds)} kinds ({', '.join(sorted(kinds))}), must be of one kind"
        refuse("plot", several if kinds else ": no results, must be at least one")
    wanted = some[0].instance if instance is None else instance
    every = what in SEVERAL and instance is None
    shown = [result for result in some if every or result.instance == wanted]
    if not shown:
        check("plot: instance", wanted, choice(dict.fromkeys(result.instance for result in some)))
    if look and (kinds != {"simulate"} or what in BESIDES):
        refuse("plot", f": {', '.join(look)}, only for regret; leave it out")
    if legend == "ends" and (kinds != {"simulate"} or what in BESIDES):
        refuse("plot: legend", " = 'ends', only for curves of regret; leave it out")
    shown = _with_labels(shown, labels)
    for name in colors if isinstance(colors, Mapping) else ():
        check("plot: colors", name, choice(sorted({*style.labels(shown), *(r.algorithm for r in shown)})))
    with style.in_colors(colors):
        axes = _drawn(shown, ax, what, legend, look, alone=single and not look and legend is None)
    if legend is not None and legend != "ends":
        style.legend(axes, legend)
    if title is not None:
        axes.set_title(title, loc="left", fontsize=style.points(11), color=style.INK)
    for text in [] if notes else [text for text in axes.texts if text.get_gid() == style.FOOT]:
        text.remove()
    return axes


def _drawn(shown: list[Any], ax: Any, what: str | None, legend: Any, look: dict[str, Any], alone: bool) -> Any:
    """Draw results of one kind; return the Axes. `alone` draws a curve to which others may be added."""
    if shown[0].kind == "budget":
        return budgets.plot_budget(shown, ax, what=check("plot: what", what or "error", choice(budgets.WORDS)))
    if shown[0].kind == "identify":
        return STOPPING[check("plot: what", what or "stopping", choice(STOPPING))](shown, ax)
    if what in BESIDES:
        return BESIDES[what](shown, ax)
    if what == "final":
        return regret_curves.plot(shown, ax, final=True, **look)
    if alone:
        return regret_curves.plot_one(shown[0], ax, what=what)
    return regret_curves.plot(shown, ax, what=what, legend=legend, **look)


def _with_labels(results: list[Any], labels: Mapping[str, str] | Sequence[str] | None) -> list[Any]:
    """Return the results with other names of their algorithms: in their order, or by what they are called."""
    if labels is None:
        return results
    own = style.labels(results)
    if isinstance(labels, Mapping):
        for name in labels:
            check("plot: labels", name, choice(sorted({*own, *(r.algorithm for r in results)})))
        named = [labels.get(name, labels.get(r.algorithm, r.algorithm)) for name, r in zip(own, results, strict=True)]
    elif isinstance(labels, str) or len(labels) != len(results):
        refuse("plot: labels", f" = {labels!r}, must be {len(results)} names, one for each result")
    else:
        named = labels
    return [dataclasses.replace(r, algorithm=name) for r, name in zip(results, named, strict=True)]


def write_figures(results: Sequence[Any], directory: str | Path, *, suffix: str = "png", **look: Any) -> list[Path]:
    """Write the figures of one experiment into a directory as "png", "pdf" or "svg" files; return their paths.

    For a fixed horizon there is one figure of regret per instance, with the options `look` of `regret_curves.plot`, and
    one of each metric. For algorithms that stop there are three per instance, `samples-` (with error rates),
    `stopping-` and `pulls-`. Both have one per sweep, `sweep-`, and one for each algorithm that sweeps two numbers,
    `map-`. For a fixed budget there are `error-` and `simple_regret-` per instance, if they are known. Where each run
    draws its own instance, there is one more, `gap-`.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, figure in drawn(results, **look):
        paths.append(directory / f"{file_name(name)}.{suffix}")
        save_figure(figure, paths[-1])
    return paths


def drawn(results: Sequence[Any], *, points: int | None = None, **look: Any) -> Iterator[tuple[str, Figure]]:
    """Yield the name and the matplotlib figure of each file that `write_figures` writes.

    `points` is the largest number of steps in a curve and of dots in a row, which keeps vector graphics small. Default:
    as many as a bitmap resolves. `look` are options of `regret_curves.plot`.
    """
    if results[0].kind == "simulate":
        yield from regret_curves.drawn(results, **look)
        counted = [r for r in results if r.counted]
        yield from _sweeps(counted, sweeps.sweeps(counted))
        yield from _gaps(results)
        return
    results = [r for r in results if len(r.samples())]  # without a stopping time there is nothing to draw
    if results and results[0].kind == "budget":
        results = [r for r in results if r.error() is not None]
        for instance in dict.fromkeys(r.instance for r in results):
            some = [r for r in results if r.instance == instance]
            for what in budgets.WORDS:
                yield f"{what}-{instance}", _figure(budgets.plot_budget, some, what=what)
        return
    parameter_sweeps = sweeps.sweeps(results)
    yield from _sweeps(results, parameter_sweeps)
    if any(sweep.of_instances for sweep in parameter_sweeps):
        return
    few = {} if points is None else {"points": points}
    for instance in dict.fromkeys(r.instance for r in results):
        some = [r for r in results if r.instance == instance]
        figure = canvas(stopping_times.rows_size(some))
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        stopping_times.plot_samples(some, left, **few)
        stopping_times.plot_error(some, right)
        right.tick_params(labelleft=False)
        yield f"samples-{instance}", plain_text(figure)
        yield f"stopping-{instance}", _figure(stopping_times.plot_stopping, some, **few)
        if any("pulls" in r.arrays for r in some):
            yield f"pulls-{instance}", _figure(stopping_times.plot_pulls, some)
    yield from _gaps(results)


def _sweeps(results: Sequence[Any], found: Sequence[sweeps.Sweep]) -> Iterator[tuple[str, Figure]]:
    """Yield a figure for each sweep that was found, and a map for each algorithm that sweeps two numbers."""
    for sweep in found:
        yield f"sweep-{sweep.name}", _figure(sweeps.plot_sweep, sweep)
    for instance, algorithm in dict.fromkeys((r.instance, r.algorithm) for r in results):
        some = [r for r in results if (r.instance, r.algorithm) == (instance, algorithm)]
        if heat_maps.is_grid(some):
            yield f"map-{instance}-{algorithm}", _figure(heat_maps.plot_map, some)


def _gaps(results: Sequence[Any]) -> Iterator[tuple[str, Figure]]:
    """Yield a figure against the gap for each instance of which each run draws its own."""
    some = [r for r in results if "gap" in r.arrays and (r.kind != "simulate" or r.per_run("regret") is not None)]
    for instance in dict.fromkeys(r.instance for r in some if r.counted):
        yield f"gap-{instance}", _figure(gaps.plot_gap, [r for r in some if r.instance == instance and r.counted])


def _figure(draw: Callable[..., Axes], shown: Any, **how: Any) -> Figure:
    """Return a figure of one of our functions that draw something on Axes."""
    figure = canvas(SIZE)
    draw(shown, figure.add_subplot(), **how)
    return plain_text(figure)
