"""Results of runs with a fixed horizon: regret at checkpoints, or mean feedback if the regret is unknown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from jaxbandit.base.contract import Outcome
from jaxbandit.running.results import frames
from jaxbandit.running.results.curves import CurvesResult
from jaxbandit.running.results.doubts import FAULTS
from jaxbandit.support.refusals import BadInput
from jaxbandit.support.text import with_interval
from jaxbandit.theory import intervals
from jaxbandit.theory.bounds.non_stationary import restarting_regret
from jaxbandit.theory.bounds.regret import regret_lower_bound


@dataclass(frozen=True, eq=False, repr=False)
class RegretResult(CurvesResult):
    """The result of one cell with a fixed horizon.

    `arrays` holds `checkpoints` int64[C]; `mean` and `variance` float64[C] of the regret over the included runs;
    `outcome` int8[runs] with codes of `Outcome`; and, if per-run data is kept, `regret` float[runs, C], `pulls`
    int32[runs, K] and `recommendation` [runs, ...]. If the algorithm counts its rounds by kind, there are `kinds`
    int32[runs, num_kinds] and `kinds_mean`. If the regret against the best fixed arm in hindsight was requested, there
    are `hindsight` float[runs, C], `hindsight_mean` and `hindsight_variance` float64[C].

    If not all arms are available in every round, `unavailable` int32[runs] is the first round in which a run had no
    arm, or pulled one that was not available, which ended it; 0 if there is none.

    If the environment does not define regret, `measure` is "feedback". The arrays `feedback` float[runs, C], `mean`
    and `variance` are then those of the feedback per round, averaged over the rounds up to each checkpoint. If the
    feedback is not a number either, `measure` is the name of the first metric.

    If each run draws its own instance, `drawn/NAME` [runs, ...] are its arguments, and `gap` float[runs] is the
    difference of its two largest means.

    A metric has the arrays `metric/NAME` float[runs, C], `metric_mean/NAME` and `metric_variance/NAME` float64[C], and
    `metric_runs/NAME` int64[], the number of runs in its means. Last states are the arrays `state/FIELD` [runs, ...].
    """

    kind_names: Sequence[str] = ()  # names of the algorithm's kinds of rounds
    measure: str = "regret"

    kind = "simulate"
    faults = FAULTS | {Outcome.MAX_ROUNDS: "ended before the last checkpoint"}  # the last only in a replay
    array_names = tuple(
        "checkpoints mean variance regret hindsight hindsight_mean hindsight_variance pulls pulls_mean kinds "
        "kinds_mean recommendation unavailable outcome".split()
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
        words = super().left_out
        for run in np.flatnonzero(rounds)[:1]:
            return f"{words}; no arm available in round {rounds[run]} of run {run}, or not the one pulled"
        return words

    def notes(self, what: str | None = None) -> list[str]:
        """Return notes for the foot of a table or a figure; of a replay also what its interval is about."""
        lines, about = super().notes(what), self.identity.get("replay")
        if about is not None:
            over = f"orders and coins of one log of {about['rows']:,} rows"
            lines.append(f"{self.algorithm}: the interval is over {over}, and says nothing about other logs")
        return lines

    def interval(
        self, confidence: float = intervals.CONFIDENCE, *, what: str | None = None
    ) -> intervals.Interval[np.ndarray]:
        """Return the mean of a curve at the checkpoints with its Student interval.

        Regret is at least 0. At a round at which all runs are equal, no variance can be estimated; the interval of
        regret then ends at t times the largest gap, if the means are known and each round pulls one arm, or else at the
        next upper end. An end without a limit is infinite. `what` is one of `curves`, by default the measure. Fewer
        than two valid runs raise a ValueError.
        """
        if self.measure != "regret" or what not in (None, "regret"):
            return super().interval(confidence, what=what)
        mean, variance = self.moments(what)
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

    @property
    def regret(self) -> intervals.Interval[float]:
        """The mean regret at the last checkpoint with its 95 % interval, as of `final`; a ValueError if undefined."""
        return self.final("regret")

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

    def rounds_of(self, kind: str | None) -> np.ndarray:
        """Return the number of rounds of one kind in each run, float64[runs]; raise ValueError if it is unknown."""
        if kind not in self.kind_names:
            known = ", ".join(self.kind_names) or "none: its algorithm has none"
            raise BadInput(f"{self.instance}/{self.algorithm}: kind of rounds = {kind!r}, must be one of {known}")
        return self.arrays["kinds"][:, self.kind_names.index(kind)].astype(np.float64)

    def content(self) -> dict[str, Any]:
        """Return `regret` or `feedback`, `hindsight`, `metrics`, `pulls`, `kinds`, `rounds_by_kind`, and faults."""
        measured = self.measure not in self.metrics
        content: dict[str, Any] = {self.measure: self.curve(self.measure)} if measured else {}
        bound = self.lower_bound()
        if bound is not None:
            content["regret"]["lower_bound"] = bound[self.known("regret")]
        if (oracle := self.oracle()) is not None:
            content["regret"]["oracle"] = oracle[self.known("regret")]
        if changes := self.changes():
            content["changes"] = changes
        if "hindsight_mean" in self.arrays:
            content["hindsight"] = self.curve("hindsight")
        if self.metrics:
            content["metrics"] = {name: self.curve(name) for name in self.metrics}
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
        text = ", ".join(self._headline(what) for what in self.curves if what != "hindsight")
        horizon = int(self.arrays["checkpoints"][-1])
        rounds = f"{horizon:,} round{'s' * (horizon != 1)}"
        text = f"{self.algorithm} on {self.instance}: {text} after {rounds}, {self.runs:,} run{'s' * (self.runs != 1)}"
        about = self.identity.get("replay")
        if about is None:
            return text
        return f"{text}, replayed in {'orders' if about['order'] != 'as_is' else 'the order'} of the log" + (
            ", which is taken for one of a uniform policy because it has no propensities" * about["uniform"]
        )

    def _headline(self, what: str) -> str:
        """One curve at the horizon in words."""
        words, counted = "mean feedback" if what == "feedback" else what, self.counted_in(what)
        words = "Bayesian regret" if what == "regret" and self.prior else words
        if not counted:
            return f"no {words}, because no run is valid"
        ends = [float(end[-1]) for end in self.interval(what=what)[-2:]] if counted > 1 else []
        return f"{words} {with_interval(float(self.moments(what)[0][-1]), *ends)}"

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame with one row per checkpoint: labels, round, mean, se, low, high, lower_bound.

        A metric has the columns NAME, NAME_se, NAME_low and NAME_high.
        """
        return frames.regret(self)
