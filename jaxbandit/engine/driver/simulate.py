"""The engine for a fixed horizon: tiles of runs are played in chunks by a compiled loop that the host calls.

Memory is proportional to runs times checkpoints, not to the horizon. The numbers of a run depend only on (seed, run).
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from jaxbandit.base.arguments import Checkpoints, FirstRun, HorizonOfRuns, NumRuns, RunSeed
from jaxbandit.base.calls import checked
from jaxbandit.engine.driver.execution import DEFAULT, Execution
from jaxbandit.engine.driver.fixed_horizon import FixedHorizon, Recorded
from jaxbandit.engine.driver.programs import Call
from jaxbandit.engine.driver.records import RUNS, Record
from jaxbandit.engine.rounds.keys import Generator
from jaxbandit.engine.rounds.metrics import COUNTED, MEAN, METRIC, VARIANCE, Given, metrics_by_name
from jaxbandit.engine.rounds.moments import Moments
from jaxbandit.engine.rounds.single import Make
from jaxbandit.engine.rounds.states import Keep, is_state, kept_of
from jaxbandit.engine.storage.checkpoint import Finished
from jaxbandit.support import checks
from jaxbandit.support.types import PyTree


@functools.lru_cache(maxsize=8)  # because every value of a sweep asks for the same
def default_checkpoints(horizon: int) -> np.ndarray:
    """Return about 100 logarithmically spaced rounds from 1 to the horizon, int64, not writable."""
    marks = np.unique(np.rint(np.geomspace(1, horizon, 121)).astype(np.int64))
    marks.setflags(write=False)
    return marks


@functools.partial(checked, name="simulate")
def simulate_cell(
    make: Make,
    arguments: PyTree,
    *,
    horizon: HorizonOfRuns,
    num_runs: NumRuns,
    first_run: FirstRun = 0,
    seed: RunSeed = 0,
    checkpoints: Checkpoints | None = None,
    precision: Literal["float32", "float64"] | None = None,
    any_rewards: bool = False,
    hindsight: bool = False,
    metrics: Given | None = None,
    keep: Keep = ("runs",),
    implementation: Generator = "threefry4x32",
    execution: Execution = DEFAULT,
    finished: Finished | None = None,
) -> Record:
    """Play runs first_run, ..., first_run + num_runs - 1 of make(arguments) for horizon rounds.

    Arguments that are not listed are those of `jaxbandit.simulate`. A directory or `finished` of another simulation
    raises a ValueError; after a KeyboardInterrupt the state has been saved in the directory.

    Args:
      make: returns the algorithm and the environment for traced arguments; compiled once per function and shapes, so
        that a call with other numbers does not recompile.
      arguments: any tree of arrays, traced.
      first_run: index of the first run. The numbers of a run do not depend on which call plays it.
      precision: for everything except counts. float32 beyond a horizon of 2^24 raises an error.
      any_rewards: whether to allow rewards that the algorithm is not designed for.
      keep: what is kept of each run besides its outcome: "runs", its regret, pulls and recommendation; and its last
        state, "states", or what a function returns of it. Memory does not grow with num_runs if it is empty.
      implementation: "threefry4x32" (default) or "threefry2x32".
      execution: how the runs are played, without progress bar or executor.
      finished: runs from first_run on that an earlier call has finished, which kept "runs"; only the others are played.
    """
    chosen = checks.precision(precision, "horizon", horizon)
    marks = _checkpoints(checkpoints, horizon)
    call = Call(make, arguments, num_runs, first_run, seed, chosen, any_rewards, implementation, execution)
    given = metrics_by_name(metrics)
    played = FixedHorizon(call, marks, Recorded(hindsight, given, kept_of(keep)))
    played.play(finished)
    arrays, run, moments = played.arrays, played.loop.run, played.moments
    found: dict[str, Any] = {name: arrays.get(name) for name in RUNS} | played.account()
    return Record(
        checkpoints=marks,
        measure=run.recorder.measure or next(iter(given)),
        counted=played.counted,
        phases=run.phases,
        **means(moments),
        pulls_mean=played.mean("pulls"),
        kinds_mean=played.mean("kinds"),
        sums=moments | played.totals,
        more=more(arrays, moments, list(given)),
        **found,
    )


def means(moments: Mapping[str, Moments]) -> dict[str, np.ndarray | None]:
    """Return the means and variances that a Record has by names of its own, of exact sums by name."""
    regret, hindsight = moments.get("regret"), moments.get("hindsight")
    return {
        "mean": None if regret is None else regret.mean(),
        "variance": None if regret is None else regret.variance(),
        "hindsight_mean": None if hindsight is None else hindsight.mean(),
        "hindsight_variance": None if hindsight is None else hindsight.variance(),
    }


def more(
    arrays: Mapping[str, np.ndarray], moments: Mapping[str, Moments], metrics: Sequence[str]
) -> dict[str, np.ndarray]:
    """Return the arrays of a Record that have no name of their own: of metrics, in this order, and of states."""
    found = {}
    for name in metrics:
        own = moments[METRIC + name]
        found |= {METRIC + name: arrays[METRIC + name]} if METRIC + name in arrays else {}
        found |= {MEAN + name: own.mean(), VARIANCE + name: own.variance(), COUNTED + name: np.array(own.count)}
    return found | {name: arrays[name] for name in sorted(filter(is_state, arrays))}


def _checkpoints(checkpoints: Sequence[int] | None, horizon: int) -> np.ndarray:
    if checkpoints is None:
        return default_checkpoints(horizon)
    return np.unique([*checkpoints, horizon]).astype(np.int64)
