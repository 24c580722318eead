"""Running one cell of an experiment: its program, the record that the engine returns, and the result.

The data of an instance and traced hyperparameters are arguments of the compiled program, so that cells that differ in
nothing else share one compilation.
"""

import functools
from typing import Any

import numpy as np

from jaxbandit.base.contract import Algorithm, Environment
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.engine.driver.records import Identified, Record
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.engine.layout import compiling
from jaxbandit.engine.layout.compiled import Same
from jaxbandit.engine.rounds.fit import marks_of
from jaxbandit.engine.rounds.single import Make
from jaxbandit.engine.rounds.step import ContractError
from jaxbandit.lab.experiments.truth import cautions, guarantee, notes
from jaxbandit.lab.specs import metrics
from jaxbandit.lab.specs.arguments import plain
from jaxbandit.lab.specs.entry import has_prior
from jaxbandit.lab.specs.references import is_reference
from jaxbandit.lab.specs.spec import Cell, Experiment
from jaxbandit.running.cell import stopping_result
from jaxbandit.running.instances import instances_of
from jaxbandit.running.results.base import Result
from jaxbandit.running.results.regret import RegretResult
from jaxbandit.running.structures import program_of
from jaxbandit.support.refusals import BadInput
from jaxbandit.support.types import PyTree


def play(experiment: Experiment, cell: Cell, truth: dict[str, Any], **options: Any) -> Result:
    """Run one cell; the options are those of `record_of`."""
    return result_of(experiment, cell, truth, record_of(experiment, cell, **options))


def record_of(experiment: Experiment, cell: Cell, **options: Any) -> Record | Identified:
    """Return the engine's record of one cell.

    `options` are `execution`, `first_run`, `num_runs` and `finished` of the engine. Default: all runs of the
    experiment.
    """
    given: dict[str, Any] = {
        "num_runs": experiment.runs,
        "seed": experiment.seed,
        "precision": experiment.precision,
        "any_rewards": "rewards" in experiment.allow,
    }
    try:
        with compiling.named(f"{cell.algorithm.name} on {cell.instance.name}"):
            _instances(experiment, cell, **{k: x for k, x in options.items() if k in ("first_run", "num_runs")})
            given["metrics"] = metrics.by_name(experiment.metrics)
            if experiment.kind == "identify":
                given["max_rounds"] = experiment.most_rounds(cell)
                return identify_cell(*program(cell), **{**given, **options})
            given |= {name: getattr(experiment, name) for name in ("horizon", "checkpoints", "hindsight")}
            given["keep"] = ("runs",) if experiment.per_run else ()
            return simulate_cell(*program(cell, experiment.replan_late), **{**given, **options})
    except ContractError as error:
        raise BadInput(f"{cell.instance.name}/{cell.algorithm.name}: {' '.join(str(error).split())}") from None


def result_of(experiment: Experiment, cell: Cell, truth: dict[str, Any], record: Record | Identified) -> Result:
    """Return the result of a cell's record."""
    if experiment.kind == "simulate":
        own = _instances(experiment, cell) if experiment.per_run else {}
        return RegretResult.from_record(record, **_labels(experiment, cell), truth=truth, instances=own)
    return stopping_result(
        record,
        guarantee(cell),
        budgeted=bool(experiment.budget),
        **_labels(experiment, cell),
        truth=truth,
        instances=_instances(experiment, cell),
        max_rounds=experiment.most_rounds(cell),
        warnings=cautions(cell, truth.get("candidates", truth.get("means"))) + notes(cell),
    )


def _instances(experiment: Experiment, cell: Cell, **runs: int) -> dict[str, np.ndarray]:
    """Return what runs, by default all, have drawn; a prior of which the factory refuses a draw is a BadInput."""
    if not (has_prior(cell.instance.arguments) or is_reference(cell.instance.type)):
        return {}
    given: dict[str, Any] = {"seed": experiment.seed, "num_runs": experiment.runs, "precision": experiment.precision}
    try:
        return instances_of(_environment(Same(cell.instance)), **{**given, **runs})
    except ValueError as error:
        raise BadInput(f"{cell.instance.name}: {error}") from None


@functools.lru_cache(maxsize=16)  # because an object of its own would be compiled again
def _environment(instance: Same) -> Environment:
    return instance.value.build()


def _labels(experiment: Experiment, cell: Cell) -> dict[str, Any]:
    return {
        "instance": cell.instance.name,
        "algorithm": cell.algorithm.name,
        "params": {name: plain(value) for name, value in cell.params.items()},
        "seed": experiment.seed,
        "precision": experiment.precision,
        **({} if not experiment.allow else marks_of(cell.build(), cell.instance.build(), experiment.allow)),
    }


def program(cell: Cell, late: int = 0) -> tuple[Make, PyTree]:
    """Return the `make` function shared by all cells of one static structure, and this cell's traced arguments.

    A plan of the algorithm may be `late` rounds late.
    """
    make, arguments = program_of(cell.build(), _environment(Same(cell.instance)))
    return _late(make, late) if late else make, arguments


@functools.lru_cache(maxsize=64)  # the engine compiles once per `make` function
def _late(make: Make, late: int) -> Make:
    def pair(arguments: PyTree) -> tuple[Algorithm, Environment]:
        rule, world = make(arguments)
        return rule._replace(replan=rule.replan and rule.replan._replace(late=late)), world

    return pair
