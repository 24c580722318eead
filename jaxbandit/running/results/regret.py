"""Results of runs with a fixed horizon: regret at checkpoints, or mean feedback if the regret is unknown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from jaxbandit.base import domains, refusals
from jaxbandit.base.refusals import BadInput
from jaxbandit.base.text import with_interval
from jaxbandit.running.results import frames
from jaxbandit.running.results.base import Result
from jaxbandit.theory import intervals
from jaxbandit.theory.bounds.non_stationary import restarting_regret
from jaxbandit.theory.bounds.regret import regret_lower_bound

Measure = Literal["regret", "feedback"]


@dataclass(frozen=True, eq=False, repr=False)
class RegretResult(Result):
    """The result of one cell with a fixed horizon.

    `arrays` holds `checkpoints` int64[C]; `mean` and `variance` float64[C] of the regret over the included runs;
    `outcome` int8[runs] with codes of `Outcome`; and, if per-run data is kept, `regret` float[runs, C], `pulls`
    int32[runs, K] and `recommendation` [runs, ...]. If the algorithm counts its rounds by kind, there are `kinds`
    int32[runs, num_kinds] and `kinds_mean`. If the regret against the best fixed arm in hindsight was requested, there
    are `hindsight` float[runs, C], `hindsight_mean` and `hindsight_variance` float64[C].

    If not all arms are available in every round, `unavailable` int32[runs] is the first round in which a run had no
    arm, or pulled one that was not available, which ended it; 0 if there is none.

    If the environment does not define regret, `measure` is "feedback". The arrays `feedback` float[runs, C], `mean`
    and `variance` are then those of the feedback per round, averaged over the rounds up to each checkpoint.
    """

    kind_names: Sequence[str] = ()  # names of the algorithm's kinds of rounds
    measure: Measure = "regret"

    kind = "simulate"
    array_names = (
        "checkpoints",
        "mean",
        "variance",
        "regret",
        "hindsight",
        "hindsight_mean",
        "hindsight_variance",
        "pulls",
        "pulls_mean",
        "kinds",
        "kinds_mean",
        "recommendation",
        "unavailable",
        "outcome",
    )

    @classmethod
    def from_record(cls, record: Any, **labels: Any) -> Self:
        """Return the result of a record of the engine with the given labels."""
        labels |= {"kind_names": list(record.phases), "measure": record.measure}
        result = super().from_record(record, **labels)
        if record.measure == "feedback":  # the engine returns sums over rounds
            arrays, rounds = result.arrays, result.arrays["checkpoints"]
            averaged = {"mean": arrays["mean"] / rounds, "variance": arrays["variance"] / rounds / rounds}
            if (rows := arrays.pop("regret", None)) is not None:
                averaged["feedback"] = rows / rounds.astype(rows.dtype)
            for array in averaged.values():
                array.setflags(write=False)
            arrays.update(averaged)
        return result

    @property
    def left_out(self) -> str:
        """How many runs are left out of the means and why; "" if none is."""
        rounds = self.arrays.get("unavailable", np.zeros(0, np.int32))
        for run in np.flatnonzero(rounds)[:1]:
            return f"{super().left_out}; no arm available in round {rounds[run]} of run {run}, or not the one pulled"
        return super().left_out

    def averaged(self) -> np.ndarray:
        """Return the regret, or mean feedback, of each run at the last checkpoint."""
        rows = self.arrays.get(self.measure)
        return np.zeros(0) if rows is None else rows[self.counts(), -1].astype(np.float64)

    def interval(self, confidence: float = intervals.CONFIDENCE, *, what: str | None = None) -> intervals.Interval:
        """Return the mean at the checkpoints with its Student interval.

        Regret is at least 0. At a round at which all runs are equal, no variance can be estimated; the interval then
        ends where the runs that were not seen could move the mean: for regret at t times the largest gap, if the means
        are known and each round pulls one arm, or else at the next upper end, because regret never falls. An end for
        which there is no limit is infinite.

        Args:
          confidence: confidence level, in (0, 1).
          what: the result's measure (default), or "hindsight".

        Raises:
          ValueError: there are fewer than two valid runs.
        """
        mean, variance = self.moments(what)
        if self.measure != "regret" or what not in (None, "regret"):
            return intervals.student(mean, variance, self.counted, confidence)
        most = self._largest()
        limits = np.where(mean >= 0, 0.0, -np.inf), np.where(mean <= most, most, np.inf)
        interval = intervals.student(mean, variance, self.counted, confidence, limits)
        places = np.where(np.isnan(interval.high) | np.isfinite(interval.high), np.arange(len(mean)), len(mean))
        following = np.minimum.accumulate(places[::-1])[::-1]
        return interval._replace(high=np.append(interval.high, np.inf)[following])

    def _largest(self) -> np.ndarray:
        """The largest possible regret at the checkpoints, float64[C]; infinite if it is unknown."""
        rounds, means = self.arrays["checkpoints"].astype(np.float64), self.truth.get("means")
        pulls = self.arrays.get("pulls_mean")
        if means is None or self.moves or pulls is None or not np.isclose(pulls.sum(), rounds[-1]):
            return np.full(len(rounds), np.inf)  # several arms in a round can cost more than the largest gap
        return rounds * (max(means) - min(means)) * (1 + 1e-6)  # up to the rounding of float32

    def largest_regret(self, checkpoint: int) -> float:
        """Return the largest possible regret of a run at a checkpoint; infinite if it is unknown, or for feedback."""
        return float(self._largest()[self.at(checkpoint)]) if self.measure == "regret" else np.inf

    def moments(self, what: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and variance of the measure (default) or of "hindsight" at the checkpoints, float64[C]."""
        if what is None or what == self.measure:
            return self.arrays["mean"], self.arrays["variance"]
        measures = (self.measure, *(["hindsight"] if "hindsight_mean" in self.arrays else []))
        domains.check(f"{self.instance}/{self.algorithm}: what", what, domains.choice(measures))
        return self.arrays["hindsight_mean"], self.arrays["hindsight_variance"]

    def per_run(self) -> np.ndarray | None:
        """Return the measure of each run, float[runs, C], including failed runs; None if it was not kept."""
        return self.arrays.get(self.measure)

    def lower_bound(self) -> np.ndarray | None:
        """Return log(t) times the instance's regret constant at the checkpoints; None if the constant is unknown."""
        constant = self.truth.get("regret_constant")
        if constant is None or self.measure != "regret":
            return None
        return regret_lower_bound(constant, self.arrays["checkpoints"])

    @property
    def moves(self) -> bool:
        """Whether the means change over time, so that the regret is against the best arm of each round."""
        return bool(self.truth.get("moves"))

    def changes(self) -> list[int]:
        """Return the change points of the means before the horizon; empty if no schedule is known."""
        starts = self.truth.get("schedule", {}).get("starts", [0])
        return [start for start in starts[1:] if start < self.arrays["checkpoints"][-1]]

    def oracle(self) -> np.ndarray | None:
        """Return the asymptotic regret of an oracle that restarts at each change, at the checkpoints; or None."""
        schedule = self.truth.get("schedule", {})
        if "regret_constants" not in schedule or self.measure != "regret":
            return None
        return restarting_regret(schedule["regret_constants"], schedule["starts"], self.arrays["checkpoints"])

    def at(self, checkpoint: int | None = None, *, fraction: float | None = None) -> int:
        """Return the position of the checkpoint at a round, or nearest to a fraction of the horizon, in (0, 1]."""
        rounds, where = self.arrays["checkpoints"], f"{self.instance}/{self.algorithm}"
        checkpoint = place(where, checkpoint, fraction)
        if fraction is not None:
            return int(np.abs(rounds - fraction * rounds[-1]).argmin())
        if checkpoint is None:
            return len(rounds) - 1
        places = np.flatnonzero(rounds == checkpoint)
        if not len(places):
            raise BadInput(f"{where}: has no checkpoint at {checkpoint}; the last is {int(rounds[-1])}")
        return int(places[0])

    def rounds_of(self, kind: str | None) -> np.ndarray:
        """Return the number of rounds of one kind in each run, float64[runs]; raise ValueError if it is unknown."""
        if kind not in self.kind_names:
            known = ", ".join(self.kind_names) or "none: its algorithm has none"
            raise BadInput(f"{self.instance}/{self.algorithm}: kind of rounds = {kind!r}, must be one of {known}")
        return self.arrays["kinds"][:, self.kind_names.index(kind)].astype(np.float64)

    def content(self) -> dict[str, Any]:
        """Return `regret` or `feedback`, `hindsight`, `changes`, `pulls`, `kinds`, `rounds_by_kind`, and faults."""
        content: dict[str, Any] = {self.measure: self._curve(self.measure)}
        bound = self.lower_bound()
        if bound is not None:
            content["regret"]["lower_bound"] = bound[self._known("regret")]
        if (oracle := self.oracle()) is not None:
            content["regret"]["oracle"] = oracle[self._known("regret")]
        if changes := self.changes():
            content["changes"] = changes
        if "hindsight_mean" in self.arrays:
            content["hindsight"] = self._curve("hindsight")
        counts = self.counts()
        for name in ("pulls", "kinds") if counts.any() else ():
            mean = self.arrays[name][counts].mean(axis=0) if name in self.arrays else self.arrays.get(f"{name}_mean")
            if mean is not None:
                content[name] = {"mean": mean}
        if self.kind_names and "kinds" in content:
            horizon = self.arrays["checkpoints"][-1]
            content["rounds_by_kind"] = dict(zip(self.kind_names, content["kinds"]["mean"] / horizon, strict=True))
            if "kinds" in self.arrays and self.counted > 1:
                errors = self.arrays["kinds"][counts].std(axis=0, ddof=1) / np.sqrt(self.counted) / horizon
                content["rounds_by_kind_se"] = dict(zip(self.kind_names, errors, strict=True))
        return content | ({"outcomes": self.outcomes()} if self.left_out else {})

    def headline(self) -> str:
        """Return the result in one line: UCB1 on bernoulli: regret 101.7 [100.6, 102.7] after 10,000 rounds, ..."""
        words = "mean feedback" if self.measure == "feedback" else self.measure
        text = f"no {words}, because no run is valid"
        if self.counted:
            ends = [float(end[-1]) for end in self.interval()[-2:]] if self.counted > 1 else []
            text = f"{words} {with_interval(float(self.arrays['mean'][-1]), *ends)}"
        horizon = int(self.arrays["checkpoints"][-1])
        rounds = f"{horizon:,} round{'s' * (horizon != 1)}"
        return f"{self.algorithm} on {self.instance}: {text} after {rounds}, {self.runs:,} run{'s' * (self.runs != 1)}"

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame with one row per checkpoint: labels, round, mean, se, low, high, lower_bound."""
        return frames.regret(self)

    def _known(self, what: str) -> np.ndarray:
        """Return which checkpoints have a finite mean and interval, because JSON cannot hold other numbers."""
        mean, variance = self.moments(what)
        return np.isfinite(mean) & (np.isfinite(variance) if self.counted > 1 else True)

    def _curve(self, what: str) -> dict[str, Any]:
        keep, counted = self._known(what), self.counted
        curve = {"at": self.arrays["checkpoints"][keep], "mean": self.moments(what)[0][keep]}
        if counted > 1:
            interval = self.interval(what=what)
            known = np.isfinite(interval.low[keep]) & np.isfinite(interval.high[keep])
            ends = {"low": interval.low[keep], "high": interval.high[keep]}
            curve |= {"se": interval.se[keep]}
            curve |= {name: np.where(known, end, curve["mean"]) for name, end in ends.items()}
            # Rounds at which all runs are equal and nothing bounds them: low and high are then no interval.
            curve |= {} if known.all() else {"equal": curve["at"][~known]}
        return curve | {"runs": counted}


def place(where: str, at: float | None, fraction: float | None) -> int | None:
    """Return the round that `at` specifies, or None if it is None; raise BadInput for invalid arguments."""
    if fraction is not None:
        if at is not None:
            refusals.refuse(where, f": at = {at!r} and fraction = {fraction!r} are both given; give one of them")
        if isinstance(fraction, bool | str) or not 0 < fraction <= 1:
            refusals.refuse(where, f": fraction = {fraction!r}, must be in (0, 1], a fraction of the horizon")
    if at is None:
        return None
    if isinstance(at, int | float | np.integer | np.floating) and not isinstance(at, bool) and float(at).is_integer():
        return int(at)
    return refusals.refuse(where, f": at = {at!r}, must be a round; for half of the horizon, give fraction = 0.5")
