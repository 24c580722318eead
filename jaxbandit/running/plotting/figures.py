"""The function `plot`, which chooses the figure for each kind of results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxbandit.running.plotting import budgets, gaps, regret_curves, stopping_times, sweeps
from jaxbandit.running.plotting.style import SIZE, canvas, file_name, plain_text, save_figure
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
}


def plot(
    results: Any,
    ax: Axes | None = None,
    *,
    what: str | None = None,
    instance: str | None = None,
    **look: Any,
) -> Any:
    """Draw the results of one instance.

    Args:
      results: a Result, a ResultSet, or a list of Results of the same kind.
      ax: matplotlib Axes, which may already hold other results. Default: the Axes of a new figure.
      what: the quantity to draw. For a fixed horizon, the result's measure "regret" or "feedback" (default),
        "hindsight", or the name of a metric; for algorithms that stop, "stopping" (default), "samples", "error",
        "pulls" or "sweep"; for a fixed budget, "error" (default) or "simple_regret". "sweep" draws the mean samples
        against the parameter that the results sweep. "gap" draws the mean final regret, or the mean samples, against
        the difference of the two largest means: of the instances of the results, or of each run if it draws its own.
      instance: the instance to draw. Default: that of the first result; for "sweep" and "gap", all of them.
      **look: options of regret figures: bands = "95 %" or "standard error"; minimax, whether to draw the minimax rate;
        and log, whether the axis of the regret is logarithmic.

    Returns:
      The matplotlib Axes. A single regret curve is named in a legend, which is updated when another one is drawn on
      the same Axes; several curves are labeled at their ends.

    Raises:
      ValueError: there are no results, they are of different kinds, there is no such instance, or the results do not
        hold the requested quantity.
    """
    single = hasattr(results, "kind")
    some = [results] if single else list(results)
    kinds = {result.kind for result in some}
    if len(kinds) != 1:
        names = ", ".join(sorted(kinds)) or "none given"
        refuse("plot", f": results of {len(kinds)} kinds ({names}), must be of one kind")
    wanted = some[0].instance if instance is None else instance
    every = what in ("sweep", "gap") and instance is None
    shown = [result for result in some if every or result.instance == wanted]
    if not shown:
        check("plot: instance", wanted, choice(dict.fromkeys(result.instance for result in some)))
    if look and (kinds != {"simulate"} or what == "gap"):
        refuse("plot", f": {', '.join(look)}, only for regret; leave it out")
    if kinds == {"budget"}:
        return budgets.plot_budget(shown, ax, what=check("plot: what", what or "error", choice(budgets.WORDS)))
    if kinds == {"identify"}:
        return STOPPING[check("plot: what", what or "stopping", choice(STOPPING))](shown, ax)
    if what == "gap":
        return gaps.plot_gap(shown, ax)
    if single and not look:
        return regret_curves.plot_one(results, ax, what=what)
    return regret_curves.plot(shown, ax, what=what, **look)


def write_figures(results: Sequence[Any], directory: str | Path, **look: Any) -> list[Path]:
    """Write the figures of one experiment into a directory as PNG files; return their paths.

    For a fixed horizon there is one figure of regret per instance, with the options `look` of `regret_curves.plot`, and
    one of each metric. For algorithms that stop there are three per instance, `samples-` (with error rates),
    `stopping-` and `pulls-`, and one per sweep. For a fixed budget there are `error-` and `simple_regret-` per
    instance, if they are known. Where each run draws its own instance, there is one more, `gap-`.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, figure in drawn(results, **look):
        paths.append(directory / f"{file_name(name)}.png")
        save_figure(figure, paths[-1])
    return paths


def drawn(results: Sequence[Any], *, points: int | None = None, **look: Any) -> Iterator[tuple[str, Figure]]:
    """Yield the name and the matplotlib figure of each file that `write_figures` writes.

    `points` is the largest number of steps in a curve and of dots in a row, which keeps vector graphics small. Default:
    as many as a bitmap resolves. `look` are options of `regret_curves.plot`.
    """
    if results[0].kind == "simulate":
        yield from regret_curves.drawn(results, **look)
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
    for sweep in parameter_sweeps:
        yield f"sweep-{sweep.name}", _figure(sweeps.plot_sweep, sweep)
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
