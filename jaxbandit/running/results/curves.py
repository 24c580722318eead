"""Curves of runs with a fixed horizon: what is recorded at checkpoints, with its mean and interval over the runs."""

from typing import Any

import numpy as np

from jaxbandit.engine.rounds.metrics import COUNTED, MEAN, METRIC, VARIANCE, included
from jaxbandit.running.results.base import Result
from jaxbandit.running.results.doubts import skewed
from jaxbandit.support import domains, refusals
from jaxbandit.support.refusals import BadInput
from jaxbandit.theory import intervals
from jaxbandit.theory.bounded_mean import bounded_within


class CurvesResult(Result):
    """A result whose runs have values at checkpoints: of its measure, in hindsight, and of metrics.

    Each of these curves has a name, which the argument `what` of the methods takes.
    """

    measure: str

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that were recorded."""
        return tuple(name.removeprefix(MEAN) for name in self.arrays if name.startswith(MEAN))

    @property
    def curves(self) -> tuple[str, ...]:
        """Names of all curves: the measure, "hindsight" if it was recorded, and the metrics."""
        hindsight = ["hindsight"] if "hindsight_mean" in self.arrays else []
        return tuple(dict.fromkeys((self.measure, *hindsight, *self.metrics)))

    def counts(self, what: str | None = None) -> np.ndarray:
        """Return which runs are included in the means of a curve, bool[runs]; by default those without a failure.

        The runs in which a metric is not finite are not included in it. They are not known if no single runs were kept.
        """
        counts, name = super().counts(), f"{METRIC}{what}"
        return included(name, self.arrays[name], counts) if name in self.arrays else counts

    def counted_in(self, what: str | None = None) -> int:
        """Return the number of runs in the means of a curve, by default in those of the measure."""
        name = COUNTED + (what or self.measure)
        return int(self.arrays[name]) if name in self.arrays else self.counted

    def moments(self, what: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and the variance of a curve at the checkpoints, by default of the measure, float64[C]."""
        what = what or self.measure
        domains.check(f"{self.instance}/{self.algorithm}: what", what, domains.choice(self.curves))
        if what in self.metrics:
            return self.arrays[MEAN + what], self.arrays[VARIANCE + what]
        before = "hindsight_" if what == "hindsight" else ""
        return self.arrays[f"{before}mean"], self.arrays[f"{before}variance"]

    def per_run(self, what: str | None = None) -> np.ndarray | None:
        """Return a curve of each run, by default the measure, float[runs, C], with failed runs; None if not kept."""
        what = what or self.measure
        return self.arrays.get(METRIC + what, self.arrays.get(what))

    def averaged(self) -> np.ndarray:
        """Return the regret, or mean feedback, of each run at the last checkpoint."""
        return self._last(self.arrays.get(self.measure), self.counts())

    def interval(
        self, confidence: float = intervals.CONFIDENCE, *, what: str | None = None
    ) -> intervals.Interval[np.ndarray]:
        """Return the mean of a curve, by default the measure, at the checkpoints with its Student interval.

        At a round at which all runs are equal, the ends are infinite. A metric whose limits are known has the interval
        of a bounded variable (`bounded_mean`), if its runs were kept. Fewer than two valid runs raise a ValueError.
        """
        limits, rows = self.limits(what), self.per_run(what)
        student = intervals.student(*self.moments(what), self.counted_in(what), confidence, limits)
        if rows is None or not np.isfinite(limits).all():
            return student
        columns = rows[self.counts(what)].astype(np.float64).T
        ends = [bounded_within(column, *limits, confidence)[-2:] for column in columns]
        low, high = np.array(ends).T
        return student._replace(low=low, high=high)

    def final(self, what: str | None = None) -> intervals.Interval[float]:
        """Return the mean of a curve at the last checkpoint, by default of the measure, with its 95 % interval.

        Its fields `value`, `se`, `low` and `high` are floats: NaN for what is unknown.
        """
        value = float(self.moments(what)[0][-1])
        if self.counted_in(what) < 2:
            return intervals.Interval(value, np.nan, np.nan, np.nan)
        ends = (float(end[-1]) for end in self.interval(what=what)[1:])
        return intervals.Interval(value, *(end if np.isfinite(end) else np.nan for end in ends))

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

    def doubts(self, what: str | None = None) -> list[str]:
        """Return why the mean of a curve, by default of any, or its interval is doubtful, one line each."""
        lines = [] if what in self.metrics else super().doubts()
        for name in self.metrics:
            if what in (None, name):
                counted = self.counted_in(name)
                if lacking := self.counted - counted:
                    lines.append(f"{lacking:,} of {self.runs:,} runs left out of {name}: not finite")
                if not np.isfinite(self.limits(name)).all():
                    lines += skewed(self._last(self.arrays.get(METRIC + name), self.counts(name)), counted, name)
        return lines

    def _last(self, rows: np.ndarray | None, counts: np.ndarray) -> np.ndarray:
        return np.zeros(0) if rows is None else rows[counts, -1].astype(np.float64)

    def known(self, what: str) -> np.ndarray:
        """Return which checkpoints have a finite mean and interval, because JSON cannot hold other numbers."""
        mean, variance = self.moments(what)
        return np.isfinite(mean) & (np.isfinite(variance) if self.counted_in(what) > 1 else True)

    def curve(self, what: str) -> dict[str, Any]:
        """Return a curve as plain data: at, mean, se, low, high, and the number of runs."""
        keep, counted = self.known(what), self.counted_in(what)
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
