"""Ground truth of the instances of an experiment, and warnings and notes about wrongly informed algorithms."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandit.engine.rounds import fit
from jaxbandit.lab.specs.registry import Entry
from jaxbandit.lab.specs.spec import Cell, Experiment, InstanceSpec
from jaxbandit.running import truth
from jaxbandit.running.promises import guarantee_of
from jaxbandit.running.results.judging import means_of_choices

TIE = 1e-12  # means that differ by less, relative to the largest mean, are tied, as in the environments


def truth_of(instance: InstanceSpec, kind: str, *, best_arm: bool = False) -> dict[str, Any]:
    """Return the means of the arms and the theoretical constants of an instance, the costly ones included.

    For runs that stop these are its numeric arguments, so that a figure can use one as its x axis, and the
    characteristic time T* if `best_arm`.
    """
    environment = instance.build()
    if kind == "simulate":
        return truth.truth_of(environment, costly=True)
    facts = truth.truth_of(environment, stops=True)
    numbers = {k: v for k, v in instance.arguments.items() if isinstance(v, int | float)}
    facts["arguments"] = {k: v for k, v in numbers.items() if not isinstance(v, bool)}
    time = truth.characteristic_time_of(environment) if best_arm else None
    return facts if time is None else facts | {"characteristic_time": time}


def guarantee(cell: Cell) -> dict[str, Any]:
    """Return the guarantee of a cell's algorithm as numbers."""
    return dict(_guarantee(cell.algorithm.entry, tuple(cell.arguments.items())))


@functools.lru_cache(maxsize=256)  # calling a factory may be expensive
def _guarantee(entry: Entry, given: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    from jaxbandit.support.numerics import lapack_lock

    with lapack_lock():
        return guarantee_of(entry.build(dict(given)))


def seeks_best_arm(cell: Cell) -> bool:
    """Return whether a cell's algorithm guarantees the single best arm, so that T* is a lower bound on its samples."""
    promised = guarantee(cell)
    return promised.get("m") == 1 and promised["epsilon"] == 0


def cautions(cell: Cell, means: Sequence[float] | None) -> list[str]:
    """Return warnings, one line each, that an algorithm's guarantee may fail on this instance or it may never stop."""
    used, known = cell.arguments, cell.instance.known
    where = f"{cell.instance.name}/{cell.algorithm.name}: "
    if cell.instance.build().transition is not None:
        return [f"{where}the means change from round to round, so no arm is the best one and nothing is guaranteed"]
    lines = []
    for name, what in (("theta_norm", "the norm of theta"), ("sigma", "the noise")):
        if name in used and name in known and used[name] < known[name] * (1 - TIE):
            lines.append(
                f"{where}{name} = {used[name]:g}, but {what} of the instance is {known[name]:g}; delta is guaranteed "
                f"only for {name} >= {known[name]:g}"
            )
    promised = guarantee(cell)
    if means is not None and promised["epsilon"] == 0 and (m := promised.get("m", len(means))) < len(means):
        ordered = np.sort(means)[::-1]
        near = TIE * np.abs(ordered).max()
        tied = np.abs(means - ordered[m]) <= near
        # The algorithm knows that arms with equal features have equal means, so that any of them is correct.
        what = "arms" if used.get("candidates") is None else "candidates"
        rows = used.get("features" if what == "arms" else what)
        alike = rows is not None and len(np.unique(np.asarray(rows)[tied], axis=0)) == 1
        if ordered[m - 1] - ordered[m] <= near and not alike:
            lines.append(
                f"{where}epsilon = 0, but the {what} of rank {m} and {m + 1} are tied at {ordered[m]:g}, so that no "
                "rule with a guarantee stops; give epsilon > 0 or a small max_rounds"
            )
    return lines


def notes(cell: Cell) -> list[str]:
    """Return notes, one line each, on arguments with which an algorithm needs more pulls than it must."""
    if "sigma" not in cell.arguments:  # building the algorithm may take long
        return []
    note = fit.advice(cell.build(), cell.instance.build())
    return [f"{cell.instance.name}/{cell.algorithm.name}: {note}"] if note else []


def notes_of(experiment: Experiment) -> list[str]:
    """Return the notes on all cells of an experiment, each line once."""
    cells = {(c.instance.name, c.algorithm.name, c.arguments.get("sigma")): c for c in experiment.cells()}
    return [line for cell in cells.values() for line in notes(cell)]


def warnings_of(experiment: Experiment) -> list[str]:
    """Return the warnings of all cells of an experiment, each line once."""
    if experiment.kind != "identify":
        return []
    built = {instance.name: instance.build() for instance in experiment.instances}
    means = {name: means_of_choices(truth.truth_of(environment, stops=True)) for name, environment in built.items()}
    lines = [line for cell in experiment.cells() for line in cautions(cell, means[cell.instance.name])]
    return list(dict.fromkeys(lines))
