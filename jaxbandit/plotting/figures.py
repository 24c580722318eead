"""Which figure is drawn of which results: one place that knows both kinds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxbandit.plotting import regret_curves, stopping_times, sweeps
from jaxbandit.plotting.style import SIZE, canvas, file_name
from jaxbandit.refusals import choice

STOPPING = {
    "stopping": stopping_times.plot_stopping,
    "samples": stopping_times.plot_samples,
    "error": stopping_times.plot_error,
    "pulls": stopping_times.plot_pulls,
}


def draw(results: Sequence[Any], ax: Any = None, what: str | None = None, *, alone: bool = False, **look: Any) -> Any:
    """Draw results of one instance on `ax`; `alone`: one of them, labelled for a legend. Return the Axes.

    `look`: of several results of regret, as for `regret_curves.plot`.
    """
    if results[0].kind == "simulate":
        choice("plot: what", what or "regret", ("regret",))
        return regret_curves.plot_one(results[0], ax) if alone else regret_curves.plot(results, ax, **look)
    return STOPPING[choice("plot: what", what or "stopping", tuple(STOPPING))](results, ax)


def write_figures(results: Sequence[Any], directory: str | Path, **look: Any) -> list[Path]:
    """Write the PNGs of the results of one experiment into a directory; return their paths.

    Regret has one an instance, `look` as for `regret_curves.plot`. Runs that stop have three: `samples-` (with error
    rates), `stopping-` and `pulls-`; and one for each sweep. Where the instances themselves are a sweep, it takes the
    place of theirs.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    if results[0].kind == "simulate":
        return regret_curves.plot_results(results, directory, **look)
    results = [r for r in results if len(r.samples())]  # without a stopping time there is nothing to draw
    paths = []

    def save(figure: Any, name: str) -> None:
        paths.append(directory / f"{file_name(name)}.png")
        figure.savefig(paths[-1], bbox_inches="tight", pad_inches=0.15)

    found = sweeps.sweeps(results)
    for sweep in found:
        figure = canvas(SIZE)
        sweeps.plot_sweep(sweep, figure.add_subplot())
        save(figure, f"sweep-{sweep.name}")
    if any(sweep.of_instances for sweep in found):
        return paths
    for instance in dict.fromkeys(r.instance for r in results):
        some = [r for r in results if r.instance == instance]
        figure = canvas(stopping_times.rows_size(some))
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        stopping_times.plot_samples(some, left)
        stopping_times.plot_error(some, right)
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
