"""Which figure is drawn of which results: one place that knows both kinds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxbandit.experiments import plot, plot_stopping, plot_sweep
from jaxbandit.experiments.arguments import choice
from jaxbandit.experiments.style import SIZE, canvas, file_name

STOPPING = {
    "stopping": plot_stopping.plot_stopping,
    "samples": plot_stopping.plot_samples,
    "error": plot_stopping.plot_error,
    "pulls": plot_stopping.plot_pulls,
}


def draw(results: Sequence[Any], ax: Any = None, what: str | None = None, *, alone: bool = False, **look: Any) -> Any:
    """Draw results of one instance on `ax`; `alone`: one of them, labelled for a legend. Return the Axes.

    `look`: of several results of regret, as for `plot.plot`.
    """
    if results[0].kind == "simulate":
        choice("plot: what", what or "regret", ("regret",))
        return plot.plot_one(results[0], ax) if alone else plot.plot(results, ax, **look)
    return STOPPING[choice("plot: what", what or "stopping", tuple(STOPPING))](results, ax)


def write_figures(results: Sequence[Any], directory: str | Path, **look: Any) -> list[Path]:
    """Write the PNGs of the results of one experiment into a directory; return their paths.

    Regret has one an instance, `look` as for `plot.plot`. Runs that stop have three: `samples-` (with error rates),
    `stopping-` and `pulls-`; and one for each sweep. Where the instances themselves are a sweep, it takes the place of
    theirs.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    if results[0].kind == "simulate":
        return plot.plot_results(results, directory, **look)
    results = [r for r in results if len(r.samples())]  # without a stopping time there is nothing to draw
    paths = []

    def save(figure: Any, name: str) -> None:
        paths.append(directory / f"{file_name(name)}.png")
        figure.savefig(paths[-1], bbox_inches="tight", pad_inches=0.15)

    found = plot_sweep.sweeps(results)
    for sweep in found:
        figure = canvas(SIZE)
        plot_sweep.plot_sweep(sweep, figure.add_subplot())
        save(figure, f"sweep-{sweep.name}")
    if any(sweep.of_instances for sweep in found):
        return paths
    for instance in dict.fromkeys(r.instance for r in results):
        some = [r for r in results if r.instance == instance]
        figure = canvas(plot_stopping.rows_size(some))
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        plot_stopping.plot_samples(some, left)
        plot_stopping.plot_error(some, right)
        right.tick_params(labelleft=False)
        figure.subplots_adjust(wspace=0.1)
        save(figure, f"samples-{instance}")
        for what in ("stopping", "pulls"):
            if what == "pulls" and not any("pulls" in r.arrays for r in some):
                continue
            figure = canvas(SIZE)
            STOPPING[what](some, figure.add_subplot())
            save(figure, f"{what}-{instance}")
    return paths
