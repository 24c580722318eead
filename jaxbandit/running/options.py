"""The keyword arguments that `simulate` and `identify` share with `sweep`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Required, TypedDict

from jaxbandit.base.calls import unknown
from jaxbandit.base.metrics import Metric, Round
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.rounds.fit import Allow
from jaxbandit.engine.rounds.states import Keep
from jaxbandit.running.cell import Precision
from jaxbandit.support.types import Array


class Options(TypedDict, total=False):
    """The arguments that both verbs have."""

    num_runs: Required[int]
    seed: int
    metrics: Mapping[str, Metric | Callable[[Round], Array]] | None
    keep: Keep
    allow: Allow
    max_failed: float
    precision: Precision | None
    execution: Execution


class SimulateOptions(Options, total=False):
    """The arguments of `simulate`, but for its horizon."""

    checkpoints: Sequence[int] | None
    hindsight: bool


class IdentifyOptions(Options, total=False):
    """The arguments of `identify`, but for its budget, which the factory has."""

    max_rounds: int | None
    epsilon: float | None
    delta: float | None


def check_names(where: str, given: Mapping[str, Any], horizon: object) -> None:
    """Raise a TypeError for an option that the verb does not have, and without `num_runs`."""
    simulated, identified = SimulateOptions.__annotations__, IdentifyOptions.__annotations__
    mine, others = (identified, simulated) if horizon is None else (simulated, identified)
    for name in given:
        if name in others and name not in mine:
            kind = "a fixed horizon; give horizon" if horizon is None else "runs that stop by a rule; leave out horizon"
            raise TypeError(f"{where}: {name} is an argument of {kind}, or leave out {name}")
        if name not in mine:
            unknown(where, name, ["horizon", *mine])
    if "num_runs" not in given:
        raise TypeError(f"{where}: num_runs is missing; give the number of runs of each value, such as num_runs=100")
