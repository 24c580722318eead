"""The keyword arguments of `simulate` and `identify` that `sweep` passes on, for type checkers and refusals."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Required, TypedDict

from jaxbandit.base.metrics import Metric, Round
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.running.cell import Precision
from jaxbandit.support.refusals import nearest, refuse
from jaxbandit.support.types import Array


class Options(TypedDict, total=False):
    """The arguments that both verbs have."""

    num_runs: Required[int]
    seed: int
    name: str | None
    instance: str | None
    any_rewards: bool
    any_context: bool
    max_failed: float
    precision: Precision | None
    workers: int | None
    devices: Sequence[Any] | None
    executor: Any
    directory: str | Path | None
    progress: bool | None
    execution: Execution


class SimulateOptions(Options, total=False):
    """The arguments of `simulate`, but for its horizon."""

    checkpoints: Sequence[int] | None
    hindsight: bool
    metrics: Mapping[str, Metric | Callable[[Round], Array]] | None
    keep_states: bool | Callable[[Any], Any]
    per_run: bool
    regret_constant: float | None
    replan_late: int


class IdentifyOptions(Options, total=False):
    """The arguments of `identify`, but for its budget, which the factory has."""

    max_rounds: int | None
    epsilon: float | None
    delta: float | None


def check_names(where: str, given: Mapping[str, Any], horizon: object) -> None:
    """Raise BadInput for an option that the verb does not have, and without `num_runs`; name the nearest option."""
    simulated, identified = SimulateOptions.__annotations__, IdentifyOptions.__annotations__
    mine, others = (identified, simulated) if horizon is None else (simulated, identified)
    for name in given:
        if name in others and name not in mine:
            kind = "a fixed horizon; give horizon" if horizon is None else "runs that stop by a rule; leave out horizon"
            refuse(where, f": {name} is an argument of {kind}, or leave out {name}")
        if name not in mine:
            near = nearest(name, ["horizon", *mine, *others])
            refuse(where, f": {name} is no argument, must be one of {', '.join(['horizon', *mine])}{near}")
    if "num_runs" not in given:
        refuse(where, ": num_runs is missing; give the number of runs of each value, such as num_runs = 100")
