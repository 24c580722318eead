"""The engine for runs with a stopping rule, in which freed lanes are refilled so that none waits for the slowest run.

The numbers of a run depend only on (seed, run).
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from jaxbandit.base.arguments import FirstRun, MostPulls, NumRuns, RunSeed
from jaxbandit.base.calls import checked
from jaxbandit.engine.driver.execution import DEFAULT, Execution
from jaxbandit.engine.driver.programs import Call
from jaxbandit.engine.driver.records import STOPPED_RUNS, Identified
from jaxbandit.engine.driver.until_stop import UntilStop
from jaxbandit.engine.rounds.keys import Generator
from jaxbandit.engine.rounds.metrics import METRIC, Given, metrics_by_name
from jaxbandit.engine.rounds.single import Make
from jaxbandit.engine.rounds.states import Keep, is_state, kept_of
from jaxbandit.engine.storage.checkpoint import Finished
from jaxbandit.support import checks
from jaxbandit.support.domains import MAX_ROUNDS
from jaxbandit.support.types import PyTree


@functools.partial(checked, name="identify")
def identify_cell(
    make: Make,
    arguments: PyTree,
    *,
    num_runs: NumRuns,
    first_run: FirstRun = 0,
    seed: RunSeed = 0,
    max_rounds: MostPulls = MAX_ROUNDS,
    precision: Literal["float32", "float64"] = "float64",
    any_rewards: bool = False,
    metrics: Given | None = None,
    keep: Keep = ("runs",),
    implementation: Generator = "threefry4x32",
    execution: Execution = DEFAULT,
    finished: Finished | None = None,
) -> Identified:
    """Play runs first_run, ..., first_run + num_runs - 1 of make(arguments), each until its stopping rule stops it.

    The arguments and errors are those of `simulate_cell`. A run is right-censored after `max_rounds` pulls, in
    [1, MOST_ROUNDS], or in [1, MOST_PULLS] if pulls are made in batches; traced. In float32, the algorithm's `verify`
    checks each stopped run in float64, and max_rounds is at most 2^24. Metrics are recorded when a run ends; `keep`
    has "runs", because they are always kept, and what is kept of their last states.
    """
    checks.precision(precision, "max_rounds", max_rounds)
    call = Call(make, arguments, num_runs, first_run, seed, precision, any_rewards, implementation, execution)
    given, kept = metrics_by_name(metrics, ("run", *STOPPED_RUNS)), kept_of(keep)
    if not kept.runs:
        raise ValueError(f'keep = {keep!r}, must have "runs": they are always kept of runs that stop')
    played = UntilStop(call, max_rounds, given, kept.state)
    played.play(finished)
    arrays: dict[str, Any] = {name: played.arrays.get(name) for name in STOPPED_RUNS} | played.account()
    arrays["samples"] = arrays["samples"].astype(np.int64)
    return Identified(lane_steps=played.lane_steps, more=more(played.arrays, list(given)), **arrays)


def more(arrays: Mapping[str, np.ndarray], metrics: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the arrays of an Identified that have no name of their own: of metrics, in this order, and of states."""
    return {name: arrays[name] for name in (*(METRIC + name for name in metrics), *sorted(filter(is_state, arrays)))}
