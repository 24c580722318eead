"""What the engine returns of a call: arrays of the runs, means over them, and the work that it took."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np


class Record(NamedTuple):
    """The results of a fixed-horizon simulation, as NumPy arrays."""

    checkpoints: np.ndarray  # int64[checkpoints], the last is the horizon
    # "regret"; or "feedback" if the environment does not define regret: then `regret` is the feedback; or the name of
    # the first metric if the feedback is no number: then `regret`, `mean` and `variance` are None
    measure: str
    counted: int  # number of runs that reached the horizon without a failure, over which means are computed
    regret: np.ndarray | None  # float[runs, checkpoints], or None if not kept
    mean: Any  # float64[checkpoints], over the runs counted
    variance: Any  # float64[checkpoints], divisor counted - 1
    hindsight: np.ndarray | None  # like `regret`, against the best fixed arm in hindsight; None unless recorded
    hindsight_mean: np.ndarray | None
    hindsight_variance: np.ndarray | None
    pulls: np.ndarray | None  # int32[runs, num_arms], None if not kept or not counted
    pulls_mean: np.ndarray | None  # float64[num_arms]
    kinds: np.ndarray | None  # int32[runs, num_kinds], rounds by kind; None if not kept or there are none
    kinds_mean: np.ndarray | None  # float64[num_kinds]
    phases: tuple[str, ...]  # names of the kinds of rounds
    recommendation: np.ndarray | None  # [runs, ...]
    outcome: np.ndarray  # int8[runs], Outcome: STOPPED at the horizon, NONFINITE or OUT_OF_RANGE
    compile_seconds: float
    run_seconds: float
    run_steps: int  # number of rounds played by this call, over all runs
    devices: list[str]  # platform of each device
    identity: dict[str, Any]  # everything that the numbers depend on, by name, as plain data
    sums: dict[str, Any] | None = None  # exact sums: Moments of the curves, int64 arrays of pulls and kinds
    unavailable: np.ndarray | None = None  # int32[runs], see RegretResult; None if all arms are always available
    # Of metrics and of last states, by the names in `rounds/metrics.py`.
    more: Mapping[str, np.ndarray] = MappingProxyType({})


class Identified(NamedTuple):
    """The results of runs with a stopping rule, as NumPy arrays, zero except `outcome` for runs that are NONFINITE."""

    samples: np.ndarray  # int64[runs], number of pulls until the run stopped or was censored
    outcome: np.ndarray  # int8[runs], base.Outcome
    recommendation: np.ndarray  # [runs, ...]
    shortfall: np.ndarray | None  # float[runs], simple regret; None if the environment does not define it
    pulls: np.ndarray | None  # int32[runs, num_arms], None if the state has no counts
    batches: np.ndarray | None  # int32[runs], number of batches of pulls; None if pulls are single
    compile_seconds: float
    run_seconds: float
    run_steps: int  # number of steps that runs took in this call
    lane_steps: int  # number of steps executed by all lanes, including lanes without a run
    devices: list[str]  # platform of each device
    identity: dict[str, Any]  # everything that the numbers depend on, by name, as plain data

    @property
    def lane_utilization(self) -> float:
        """Useful divided by executed lane-steps, in (0, 1]; nan if this call had no runs to play."""
        return self.run_steps / self.lane_steps if self.lane_steps else float("nan")


STOPPED_RUNS = Identified._fields[: Identified._fields.index("compile_seconds")]  # its arrays, of which none is a mean
