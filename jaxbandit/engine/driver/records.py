"""What the engine returns of a call: arrays of the runs, means over them, and the work that it took."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Runs = np.ndarray | None  # one row for each run; None if it is not known, or not kept


@dataclass(frozen=True, kw_only=True, eq=False)
class CallRecord:
    """What every record says of its call."""

    compile_seconds: float
    run_seconds: float
    run_steps: int  # number of rounds, or of steps, that runs took in this call
    devices: list[str]  # platform of each device
    identity: dict[str, Any]  # everything that the numbers depend on, by name, as plain data


@dataclass(frozen=True, kw_only=True, eq=False)
class Record(CallRecord):
    """The results of a fixed-horizon simulation, as NumPy arrays."""

    checkpoints: np.ndarray  # int64[checkpoints], the last is the horizon
    # "regret"; or "feedback" if the environment does not define regret: then `regret` is the feedback; or the name of
    # the first metric if the feedback is no number: then `regret`, `mean` and `variance` are None
    measure: str
    counted: int  # number of runs that reached the horizon without a failure, over which means are computed
    regret: Runs = None  # float[runs, checkpoints]
    mean: Any = None  # float64[checkpoints], over the runs counted
    variance: Any = None  # float64[checkpoints], divisor counted - 1
    hindsight: Runs = None  # like `regret`, against the best fixed arm in hindsight; None unless recorded
    hindsight_mean: np.ndarray | None = None
    hindsight_variance: np.ndarray | None = None
    pulls: Runs = None  # int32[runs, num_arms]
    pulls_mean: np.ndarray | None = None  # float64[num_arms]
    kinds: Runs = None  # int32[runs, num_kinds], rounds by kind; None also if there are none
    kinds_mean: np.ndarray | None = None  # float64[num_kinds]
    phases: tuple[str, ...] = ()  # names of the kinds of rounds
    recommendation: Runs = None  # [runs, ...]
    outcome: np.ndarray  # int8[runs], Outcome: STOPPED at the horizon, NONFINITE or OUT_OF_RANGE
    unavailable: Runs = None  # int32[runs], see RegretResult; None if all arms are always available
    sums: dict[str, Any] | None = None  # exact sums: Moments of the curves, int64 arrays of pulls and kinds
    # Of metrics and of last states, by the names in `rounds/metrics.py`.
    more: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class Identified(CallRecord):
    """The results of runs with a stopping rule, as NumPy arrays, zero except `outcome` for runs that are NONFINITE."""

    lane_steps: int  # number of steps executed by all lanes, including lanes without a run
    samples: np.ndarray  # int64[runs], number of pulls until the run stopped or was censored
    outcome: np.ndarray  # int8[runs], Outcome
    recommendation: np.ndarray  # [runs, ...]
    shortfall: Runs = None  # float[runs], simple regret; None if the environment does not define it
    pulls: Runs = None  # int32[runs, num_arms], None if the state has no counts
    batches: Runs = None  # int32[runs], number of batches of pulls; None if pulls are single
    # Of metrics when a run ended, [runs], and of last states, [runs, ...], by the names in `rounds/metrics.py`.
    more: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def lane_utilization(self) -> float:
        """Useful divided by executed lane-steps, in (0, 1]; nan if this call had no runs to play."""
        return self.run_steps / self.lane_steps if self.lane_steps else float("nan")


RUNS = ("regret", "hindsight", "pulls", "kinds", "recommendation", "unavailable", "outcome")  # of a Record, by run
STOPPED_RUNS = tuple(Identified.__annotations__)[1:-1]  # of an Identified, by run: between `lane_steps` and `more`
