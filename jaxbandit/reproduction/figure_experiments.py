"""The figures of a paper as experiments, and which of them are run and shown.

[paper.figures.NAME] is a table (see Figure): its instances, algorithms and runs are an experiment of their own, in the
directory of its name. A figure or table `within` another shows some of that one's cells.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from jaxbandit.plotting.regret_curves import Bands
from jaxbandit.refusals import BadInput
from jaxbandit.results.base import ResultSet
from jaxbandit.specs.registry import ENVIRONMENTS


@dataclass(frozen=True)
class Figure:
    """A figure or a table of a paper, as specified in its TOML file."""

    name: str
    title: str
    instances: Sequence[str]
    algorithms: Sequence[str]
    runs: int = 0  # each; 0: those of the figure that it is within, or the paper's
    quick: int | Mapping[str, Any] = 0  # in a hurry: runs; or a table of runs, instances and algorithms
    max_rounds: int = 0  # of a run; 0: the paper's
    horizon: int = 0  # of a run; 0: the paper's
    every: int = 0  # rounds between checkpoints, for regret that is no straight line in log t; 0: the paper's
    budget: Sequence[int] = ()  # pulls that runs are given, a cell each; empty: the paper's
    within: str = ""
    # Samples along the instances; pulls; box plots; what `run` draws; a figure that only runs the cells of others.
    draw: Literal["sweep", "pulls", "boxes", "each", "none"] = "each"
    axis: str = ""  # of a sweep: its label, and the instances' places on it
    at: Sequence[float] = ()
    bands: Bands = "95 %"  # of regret, as are the next two: see plot.plot
    minimax: bool = False
    log: bool = False
    span: bool = False  # features are written in an orthonormal basis of their span, as least squares needs them

    def hurried(self) -> "Figure":
        """Return the figure with its quick settings."""
        at = dict(zip(self.instances, self.at, strict=True)) if self.at else {}
        changed = dataclasses.replace(self, **(self.quick if isinstance(self.quick, Mapping) else {"runs": self.quick}))
        return dataclasses.replace(changed, at=[at[name] for name in changed.instances] if at else ())


def figures_of(paper: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the figures of the table [paper] by name; raise BadInput if two figures run the same cell."""
    figures = {name: Figure(name=name, **table) for name, table in paper["figures"].items()}
    owners: dict[tuple[str, str], str] = {}
    for figure in figures.values():
        for cell in itertools.product(figure.instances, figure.algorithms):
            if not figure.within and owners.setdefault(cell, figure.name) != figure.name:
                raise BadInput(f"figures.{figure.name}: {'/'.join(cell)} is one of figures.{owners[cell]}; use within")
    return figures


def experiments(
    figures: Mapping[str, Figure], target: str = "", *, quick: bool = False, runs: int | None = None
) -> tuple[list[Figure], list[Figure]]:
    """Return the figures to run, with their `runs` settled, and those to show.

    Of a figure within another only the algorithms are run that this one lacks.

    Args:
      figures: of the paper.
      target: one of them alone; default: all. One that is within another is then run whole.
      quick: with their quick settings.
      runs: instead of theirs.
    """
    if target and target not in figures:
        raise BadInput(f"reproduce: figure = {target!r}, must be one of {', '.join(figures)}")
    settled = {name: figure.hurried() if quick else figure for name, figure in figures.items()}
    shown = [f for f in settled.values() if not target or target in (f.name, f.within)]
    run = []
    for figure in shown:
        source = settled[figure.within] if figure.within else figure
        known = source.algorithms if figure.within and figure.name != target else ()
        left = [name for name in figure.algorithms if name not in known]
        if left:
            run.append(dataclasses.replace(figure, algorithms=left, runs=runs or figure.runs or source.runs))
    return run, [figure for figure in shown if figure.draw != "none"]


def experiment(data: Mapping[str, Any], figure: Figure) -> dict[str, Any]:
    """Return the experiment of a figure: its cells of the paper's experiment, with its number of runs."""
    name = f"{data['name']}-{figure.name}"
    part = dict(data) | {"name": name, "runs": figure.runs or data["runs"]}
    for key, wanted in (("instance", figure.instances), ("algorithm", figure.algorithms)):
        tables = {table["name"]: table for table in data[key]}
        part[key] = [tables[name] for name in wanted]
    for key in ("max_rounds", "budget", "horizon"):
        if getattr(figure, key):
            part[key] = getattr(figure, key)
    if figure.every:
        part["checkpoints"] = [*range(figure.every, part["horizon"], figure.every), part["horizon"]]
    if figure.span:
        part["instance"] = [_in_span(table) for table in part["instance"]]
    return part


def _in_span(instance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the linear instance in another basis, in which all inner products are the same."""
    entry = ENVIRONMENTS[instance["type"]]
    description = entry.description()
    if description is None:
        raise BadInput(f"reproduce: span: instance {instance['name']} has no features")
    known = description(**{key: value for key, value in instance.items() if key not in ("name", "type")})
    features, theta = np.asarray(known["features"]), np.asarray(known["theta"])
    basis = np.linalg.svd(features)[2][: np.linalg.matrix_rank(features)]
    return {
        "name": instance["name"],
        "type": "linear",
        "features": (features @ basis.T).tolist(),
        "theta": (basis @ theta).tolist(),
        "noise": "gaussian" if entry.gaussian else "sign",
        "sigma": float(known["sigma"]),
    }


def cells(figure: Figure, results: ResultSet) -> list[Any]:
    """Return the results that a figure shows, in its order, at all budgets."""
    wanted = list(itertools.product(figure.instances, figure.algorithms))
    return [result for cell in wanted for result in results if (result.instance, result.algorithm) == cell]
