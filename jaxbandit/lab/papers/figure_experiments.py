"""The figures of a paper as experiments, and which of them are run and shown.

The instances, algorithms and runs of a table [paper.figures.NAME] (see Figure) form an experiment of their own, which
is stored in the directory NAME. A figure or table that is `within` another one shows some of the cells of that one.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from jaxbandit.lab.specs.registry import ENVIRONMENTS
from jaxbandit.running.plotting.regret_curves import Bands
from jaxbandit.running.results.base import Result, ResultSet
from jaxbandit.support.refusals import BadInput
from jaxbandit.support.types import Json, Table


@dataclass(frozen=True)
class Figure:
    """A figure or a table of a paper, as specified in its TOML file."""

    name: str
    title: str
    instances: Sequence[str]
    algorithms: Sequence[str]
    runs: int = 0  # runs of each cell; 0: as for the figure that it is within, or the paper's
    quick: int | Table = 0  # settings of --quick: runs, or a table of runs, instances and algorithms
    max_rounds: int = 0  # of a run; 0: the paper's
    horizon: int = 0  # of a run; 0: the paper's
    every: int = 0  # rounds between checkpoints, for regret that is not linear in log t; 0: the paper's
    budget: Sequence[int] = ()  # budgets of the runs in pulls, one cell for each; empty: the paper's
    within: str = ""
    # How it is drawn: samples along the instances; pulls; box plots; as `run` draws it; not at all, because it only
    # runs the cells of other figures.
    draw: Literal["sweep", "pulls", "boxes", "each", "none"] = "each"
    axis: str = ""  # label of the axis of a sweep; `at` has the positions of the instances on it
    at: Sequence[float] = ()
    bands: Bands = "95 %"  # of figures of regret, as `minimax` and `log`; see plotting/figures.py
    minimax: bool = False
    log: bool = False
    # Whether features are transformed to an orthonormal basis of their span, as least squares requires.
    span: bool = False

    def hurried(self) -> "Figure":
        """Return the figure with its quick settings."""
        at = dict(zip(self.instances, self.at, strict=True)) if self.at else {}
        changed = dataclasses.replace(self, **(self.quick if isinstance(self.quick, Mapping) else {"runs": self.quick}))
        return dataclasses.replace(changed, at=[at[name] for name in changed.instances] if at else ())


def figures_of(paper: Table) -> dict[str, Figure]:
    """Return the figures of the table [paper] by name; raise BadInput if two figures run the same cell."""
    figures = {name: Figure(name=name, **table) for name, table in paper["figures"].items()}
    owners: dict[tuple[str, str], str] = {}
    for figure in figures.values():
        for cell in itertools.product(figure.instances, figure.algorithms):
            if not figure.within and owners.setdefault(cell, figure.name) != figure.name:
                raise BadInput(
                    f"figures.{figure.name}: {'/'.join(cell)} is already run by figures.{owners[cell]}; use within"
                )
    return figures


def experiments(
    figures: Mapping[str, Figure], target: str = "", *, quick: bool = False, runs: int | None = None
) -> tuple[list[Figure], list[Figure]]:
    """Return the figures to run, with their final numbers of runs, and the figures to show.

    For a figure that is within another one, only the algorithms that the other one lacks are run; all cells of
    `target`, the only figure to run unless it is "". `runs` is the number of runs to use instead of theirs, or None.
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


def experiment(data: Table, figure: Figure) -> Json:
    """Return the experiment of a figure: the figure's cells of the paper's experiment, with its number of runs."""
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


def _in_span(instance: Table) -> Json:
    """Return the linear instance in an orthonormal basis of the span of its features, with the same inner products."""
    arguments = {key: value for key, value in instance.items() if key not in ("name", "type")}
    environment = ENVIRONMENTS[instance["type"]].factory()(**arguments)
    known = environment.known()
    if "features" not in known:
        raise BadInput(f"reproduce: span: instance {instance['name']} has no features")
    features, theta = np.asarray(known["features"]), np.asarray(environment.truth.parameters()["theta"])
    basis = np.linalg.svd(features)[2][: np.linalg.matrix_rank(features)]
    return {
        "name": instance["name"],
        "type": "linear",
        "features": (features @ basis.T).tolist(),
        "theta": (basis @ theta).tolist(),
        "noise": environment.rewards.family,
        "sigma": float(known["sigma"]),
    }


def cells(figure: Figure, results: ResultSet) -> list[Result]:
    """Return the results that a figure shows in the order of the figure, at all budgets."""
    wanted = list(itertools.product(figure.instances, figure.algorithms))
    return [result for cell in wanted for result in results if (result.instance, result.algorithm) == cell]
