"""Results of runs with a stopping rule: stopping times, recommendations and errors.

A run that reached `max_rounds` is right-censored: its recommendation carries no guarantee. The Kaplan-Meier estimate
equals the empirical distribution below `max_rounds` and is undefined above it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxbandit.base.contract import Outcome
from jaxbandit.engine.driver.records import STOPPED_RUNS
from jaxbandit.engine.rounds.metrics import METRIC
from jaxbandit.running.results import frames
from jaxbandit.running.results.base import Result
from jaxbandit.running.results.doubts import skewed
from jaxbandit.running.results.judging import judged, means_of_choices
from jaxbandit.support import domains
from jaxbandit.support.refusals import BadInput
from jaxbandit.support.text import with_interval
from jaxbandit.theory import intervals
from jaxbandit.theory.bounded_mean import bounded_mean, bounded_within

QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StoppingResult(Result):
    """The result of one cell whose runs end by their stopping rule.

    `arrays` holds `samples` int64[runs], the pulls until the run stopped or was censored; `outcome` int8[runs] with
    codes of `Outcome`; `recommendation` int32[runs, m]; and, if they are known, `shortfall` float[runs], the simple
    regret of the recommendation, `pulls` int32[runs, K] and, for pulls in batches, `batches` int32[runs], the number of
    batches. A metric has the array `metric/NAME` float[runs], its value when the run ended, and last states are the
    arrays `state/FIELD` [runs, ...]. If each run draws its own instance, `drawn/NAME` [runs, ...] are its arguments,
    and `gap` float[runs] is the difference of its two largest means.
    """

    kind = "identify"
    array_names = STOPPED_RUNS

    max_rounds: int
    # The algorithm's guarantee: delta, epsilon, m and proved (False for a heuristic). Without a guarantee only epsilon,
    # above which a simple regret is an error.
    guarantee: Mapping[str, Any]
    lane_utilization: float | None  # ratio of useful to executed lane-steps in the last call; None if it ran nothing
    warnings: list[str]

    @property
    def censored(self) -> int:
        """Number of runs that reached `max_rounds`."""
        return int(self.ended(Outcome.MAX_ROUNDS).sum())

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that were recorded."""
        return tuple(name.removeprefix(METRIC) for name in self.arrays if name.startswith(METRIC))

    def values(self, what: str) -> np.ndarray:
        """Return a metric when each run ended, float64: of the included runs in which it is finite.

        Of a run that reached `max_rounds` it is the value then.
        """
        domains.check(f"{self.instance}/{self.algorithm}: what", what, domains.choice(self.metrics))
        values = self.arrays[METRIC + what].astype(np.float64)
        return values[self.counts() & np.isfinite(values)]

    def means(self) -> list[float] | None:
        """Return the means of the arms, sorted if each run permutes the arms; None if they are unknown."""
        return self.truth.get("means", self.truth.get("sorted_means"))

    def samples(self) -> np.ndarray:
        """Return min(samples, max_rounds) of the runs that stopped or were censored, float64, without failed runs."""
        return self.times()[self.counts()]

    def times(self) -> np.ndarray:
        """Return min(samples, max_rounds) of all runs, float64[runs], whatever the outcome.

        A run that pulls in batches is censored before the batch that would exceed `max_rounds`, and is counted with
        `max_rounds` samples.
        """
        return np.where(self.ended(Outcome.MAX_ROUNDS), self.max_rounds, self.arrays["samples"]).astype(np.float64)

    def averaged(self) -> np.ndarray:
        """Return the samples of each run, unless one is censored: the restricted mean has another interval."""
        return np.zeros(0) if self.censored else self.samples()

    def interval(
        self, confidence: float = intervals.CONFIDENCE, *, what: str | None = None
    ) -> intervals.Interval[float]:
        """Return the mean number of samples, or of the metric `what` when a run stops, with its Student interval.

        A ValueError is raised if a run is censored, because the mean is then unknown.
        """
        if self.censored:
            raise BadInput(
                f"{self.instance}/{self.algorithm}: {self.censored} of {self.runs} runs reached max_rounds = "
                f"{self.max_rounds}, so the mean is unknown; use restricted_mean or a larger max_rounds"
            )
        return self.restricted_mean(confidence, what=what)

    def restricted_mean(
        self, confidence: float = intervals.CONFIDENCE, *, what: str | None = None
    ) -> intervals.Interval[float]:
        """Return the mean of min(samples, max_rounds), a lower bound on the mean, with its interval.

        If no run is censored, it is Student's, and otherwise `bounded_mean` of a variable in [1, max_rounds]. Of a
        metric it is the mean of its values when runs stop or reach `max_rounds`, whose interval is that of a bounded
        variable if its limits are known.
        """
        if what is not None:
            return bounded_within(self.values(what), *self.limits(what), confidence)
        times = self.samples()
        least = min(1.0, times.min(initial=1.0))  # 0 if a run stopped without a pull
        if self.censored:
            return bounded_mean(times, least, self.max_rounds, confidence)
        return intervals.student_of(times, confidence, (least, np.inf))

    def _ordered(self) -> np.ndarray:
        """The stopping times of the included runs in increasing order, float64; infinite if censored."""
        return np.sort(np.where(self.ended(Outcome.STOPPED), self.arrays["samples"], np.inf)[self.counts()])

    def quantile(self, level: float) -> int | None:
        """Return the least n within which a fraction `level` of the runs stopped; None if it is beyond `max_rounds`."""
        times = self._ordered()
        if not len(times):
            return None
        rank = int(np.ceil(level * len(times) - 1e-9))  # 0.95 of 20 runs is the 19th, however 0.95 * 20 is rounded
        value = times[max(rank, 1) - 1]
        return int(value) if np.isfinite(value) else None

    def quantile_interval(
        self, level: float, confidence: float = intervals.CONFIDENCE
    ) -> tuple[int | None, int | None]:
        """Return the interval of the quantile of this level, between two order statistics, for every distribution.

        An end is None if there are too few runs for one, and the upper one if it lies beyond `max_rounds`.
        """
        times = self._ordered()
        if not len(times):
            return None, None
        low, high = intervals.quantile_ranks(level, len(times), confidence)
        return (
            int(min(times[low - 1], self.max_rounds)) if low else None,
            int(times[high - 1]) if high <= len(times) and np.isfinite(times[high - 1]) else None,
        )

    def judged(self) -> np.ndarray | None:
        """Return 1 for each stopped run whose recommendation is wrong, 0 if it is right, NaN if unknown, float64.

        It is wrong if an arm is more than epsilon below the m-th best. Means are compared exactly, as the decimals that
        they are printed as (`judging`), so that any of several arms with equal means is right. Returns None if the
        environment defines no simple regret.
        """
        if "shortfall" not in self.arrays:
            return None
        short = self.arrays["shortfall"][self.ended(Outcome.STOPPED)].astype(self.precision)
        recommended = self.arrays.get("recommendation")
        m = self.guarantee.get("m", 1) if recommended is None else recommended[0].size
        return judged(short, self.guarantee["epsilon"], means_of_choices(self.truth), m)

    def errors(self) -> np.ndarray | None:
        """Return which of the stopped runs recommend a wrong arm, as `judged` says, bool; None if one is unknown."""
        verdicts = self.judged()
        return None if verdicts is None or np.isnan(verdicts).any() else verdicts > 0

    @property
    def unjudged(self) -> int:
        """Number of stopped runs of which it is unknown whether their recommendation is right, as the error then is."""
        verdicts = self.judged()
        return 0 if verdicts is None else int(np.isnan(verdicts).sum())

    def error(self, confidence: float = intervals.CONFIDENCE) -> intervals.Interval[float] | None:
        """Return the error rate of the stopped runs with its Clopper-Pearson interval; None if it is unknown."""
        errors = self.errors()
        if errors is None or not len(errors):
            return None
        return intervals.clopper_pearson(int(errors.sum()), len(errors), confidence)

    def lower_bound(self) -> float | None:
        """Return T* log(1 / (2.4 delta)), a lower bound on the mean samples of every delta-correct algorithm.

        It is for the single best arm. Returns None if T* or delta is unknown, for m > 1, and for epsilon > 0.
        """
        time, delta = self.truth.get("characteristic_time"), self.guarantee.get("delta")
        if time is None or delta is None or self.guarantee["epsilon"] > 0 or self.arrays["recommendation"][0].size > 1:
            return None
        return time * max(float(np.log(1 / (2.4 * delta))), 0.0)

    def content(self) -> dict[str, Any]:
        """Return `samples`, `batches`, `error`, `outcomes`, `pulls`, `lane_utilization`; what is unknown is absent.

        `unjudged` is how many recommendations cannot be judged, if there are any, so that the error is absent.
        """
        times = self.samples()
        mean = "restricted_mean" if self.censored else "mean"
        content: dict[str, Any] = {}
        if len(times):
            samples: dict[str, Any] = {mean: times.mean(), "runs": len(times)}
            if len(times) > 1:
                interval = self.restricted_mean()
                samples |= {"se": interval.se} if interval.se else {}  # of equal runs nothing can be estimated
                samples |= {end: value for end in ("low", "high") if np.isfinite(value := getattr(interval, end))}
                samples["restricted_sd" if self.censored else "sd"] = times.std(ddof=1)
            for name, level in QUANTILES.items():
                found = (self.quantile(level), *self.quantile_interval(level))
                ends = zip((name, f"{name}_low", f"{name}_high"), found, strict=True)
                samples |= {key: n for key, n in ends if n is not None}
            samples |= {"max_rounds": self.max_rounds} if self.censored else {"max": int(times.max())}
            bound = self.lower_bound()
            samples |= {} if bound is None else {"lower_bound": bound}
            content["samples"] = samples
        if "batches" in self.arrays and len(times):
            batches = self.arrays["batches"][self.counts()]
            content["batches"] = {mean: batches.mean(), "min": int(batches.min()), "max": int(batches.max())}
            if len(times) > 1:
                content["batches"]["se"] = batches.std(ddof=1) / np.sqrt(len(batches))
        error = self.error()
        if error is not None:
            content["error"] = {"rate": error.value, "low": error.low, "high": error.high}
            content["error"] |= {"runs": int(self.ended(Outcome.STOPPED).sum())}
            content["error"] |= {k: v for k, v in self.guarantee.items() if k == "delta" or (k == "proved" and not v)}
        content |= {"unjudged": self.unjudged} if self.unjudged else {}
        return content | self._ends(mean) | ({"warnings": self.warnings} if self.warnings else {})

    def _ends(self, mean: str) -> dict[str, Any]:
        """How the runs ended: `outcomes`, and where known `pulls`, whose mean is called `mean`, `lane_utilization`."""
        content: dict[str, Any] = {"outcomes": self.outcomes()}
        if "pulls" in self.arrays and self.counted:
            content["pulls"] = {mean: self.arrays["pulls"][self.counts()].mean(axis=0)}
        if self.metrics:
            content["metrics"] = {name: self._metric(name, mean) for name in self.metrics}
        if self.lane_utilization is not None:
            content["lane_utilization"] = self.lane_utilization
        return content

    def _metric(self, name: str, mean: str) -> dict[str, Any]:
        """The mean of a metric, which is called `mean`, with its interval; what is unknown is absent."""
        values = self.values(name)
        if len(values) < 2:
            return ({mean: float(values[0])} if len(values) else {}) | {"runs": len(values)}
        interval = self.restricted_mean(what=name)
        ends = {"se": interval.se or np.inf, "low": interval.low, "high": interval.high}
        return {mean: interval.value} | {k: float(x) for k, x in ends.items() if np.isfinite(x)} | {"runs": len(values)}

    def doubts(self, what: str | None = None) -> list[str]:
        """Return why the mean of the samples, or of a metric, or its interval is doubtful, one line each."""
        lines = super().doubts()
        for name in self.metrics:
            values = self.values(name)
            if lacking := self.counted - len(values):
                lines.append(f"{lacking:,} of {self.runs:,} runs left out of {name}: not finite")
            lines += [] if np.isfinite(self.limits(name)).all() else skewed(values, len(values), name)
        return lines

    @property
    def promised(self) -> str:
        """The guaranteed error rate as text: "0.05", "0.05 (heuristic)" if it is not proved, "" if there is none."""
        if "delta" not in self.guarantee:
            return ""
        return f"{self.guarantee['delta']:g}" + (" (heuristic)" if not self.guarantee.get("proved", True) else "")

    def headline(self) -> str:
        """Return the result in one line: LinGapE on linear: 6,079 samples [6,003, 6,155], error 0.0 ..."""
        times = self.samples()
        text = "no samples, because no run is valid"
        if len(times):
            low, high = map(float, self.restricted_mean()[-2:]) if len(times) > 1 else (None, None)
            high = np.inf if self.censored else high  # that of the restricted mean bounds no mean of samples
            text = "> " * (self.censored > 0) + f"{with_interval(float(times.mean()), low, high)} samples"
        error = self.error()
        if error is not None:
            text += f", error {error.value:.4f} [{error.low:.4f}, {error.high:.4f}]"
            stopped = int(self.ended(Outcome.STOPPED).sum())
            text += f" of {stopped:,} of {self.runs:,} runs" if stopped < self.runs else ""
            text += f" (delta = {self.promised})" if self.promised else ""
        text += self._unknown_error + self._metrics_text()
        runs = f"{self.runs:,} run{'s' * (self.runs != 1)}"
        censored = f", {self.censored:,} of them censored at {self.max_rounds:,}" if self.censored else ""
        return f"{self.algorithm} on {self.instance}: {text}, {runs}{censored}"

    def _metrics_text(self) -> str:
        """The means of the metrics as text, after a comma; "" without metrics."""
        text = ""
        for name in self.metrics:
            values = self.values(name)
            ends = self.restricted_mean(what=name)[-2:] if len(values) > 1 else ()
            shown = with_interval(float(values.mean()), *map(float, ends)) if len(values) else "of no valid run"
            text += f", {name} {shown}"
        return text

    @property
    def _unknown_error(self) -> str:
        """That the error is unknown and why, or "" if it is not."""
        number = self.unjudged
        return f", error unknown ({number:,} of the recommendations cannot be judged)" if number else ""

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame with one row per run: labels, samples, outcome, recommendation and shortfall."""
        return frames.stopping(self)
