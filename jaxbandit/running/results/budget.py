"""Results of runs with a fixed budget of pulls: error rate and simple regret.

Runs with the same seed share random draws, so that `compare` pairs two budgets or two algorithms.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxbandit.base.contract import Outcome
from jaxbandit.running.results import frames
from jaxbandit.running.results.doubts import FAULTS
from jaxbandit.running.results.judging import means_of_choices
from jaxbandit.running.results.stopping import StoppingResult
from jaxbandit.theory import intervals
from jaxbandit.theory.bounded_mean import bounded_within
from jaxbandit.theory.bounds import fixed_budget


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BudgetResult(StoppingResult):
    """The result of one cell with a fixed budget of pulls, after which each run makes its recommendation.

    `arrays` has the entries of a StoppingResult, where `samples` are the pulls that a run used. Runs in which the rule
    asked for more pulls than its budget are left out of all numbers, as are failed runs.
    """

    kind = "budget"
    faults = FAULTS | {Outcome.MAX_ROUNDS: "asked for more than the budget"}

    @property
    def budget(self) -> int:
        """The budget of each run, in pulls."""
        return self.max_rounds

    def shortfalls(self) -> np.ndarray | None:
        """Return the simple regret of each included run, float64; None if it is unknown, if only of one of them."""
        if "shortfall" not in self.arrays:
            return None
        short = self.arrays["shortfall"][self.counts()].astype(np.float64)
        return None if np.isnan(short).any() else short

    def simple_regret(self, confidence: float = intervals.CONFIDENCE) -> intervals.Interval[float] | None:
        """Return the mean simple regret with its interval, whose lower end is at least 0; None if unknown.

        If the means are known, the interval is that of a variable between 0 and the largest gap (`bounded_mean`), and
        otherwise Student's, which is infinite upwards if all runs are equal or there is only one.
        """
        short, means = self.shortfalls(), means_of_choices(self.truth)
        if short is None or not len(short):
            return None
        gap = np.inf if means is None else max(means) - min(means)
        return bounded_within(short, 0.0, gap, confidence)

    def hardness(self) -> tuple[float, float] | None:
        """Return the complexities H1 and H2, which determine the exponent of the error probability; None if unknown."""
        means, m = self.means(), self.arrays["recommendation"][0].size
        if means is None or not 1 <= m < len(means) or "candidates" in self.truth:
            return None
        return fixed_budget.h1(means, m), fixed_budget.h2(means, m)

    def lower_bound(self) -> float | None:
        """Return None, because there is no lower bound on the number of pulls when the budget is fixed."""
        return None

    def content(self) -> dict[str, Any]:
        """Return `budget`, `samples`, `left`, `error`, `simple_regret`, `outcomes` and `pulls`, as far as known."""
        used = self.samples()
        content: dict[str, Any] = {"budget": self.budget}
        if len(used):
            content["samples"] = {"mean": used.mean(), "max": int(used.max()), "runs": len(used)}
            content["left"] = {"mean": self.budget - used.mean()}
        for name, interval in (("error", self.error()), ("simple_regret", self.simple_regret())):
            if interval is not None:
                ends = {"se": interval.se or np.inf, "low": interval.low, "high": interval.high}
                content[name] = {"rate" if name == "error" else "mean": interval.value, "runs": len(used)}
                content[name] |= {key: value for key, value in ends.items() if np.isfinite(value)}
        content |= {"unjudged": self.unjudged} if self.unjudged else {}
        hardness = self.hardness()
        if hardness is not None and np.isfinite(hardness).all():
            content["hardness"] = dict(zip(("h1", "h2"), hardness, strict=True))
        return content | self._ends("mean")

    def headline(self) -> str:
        """Return the result in one line: Successive Rejects on abm1: error 0.183 [0.178, 0.188] with 2,000 pulls ..."""
        text = "no valid run"
        error, regret = self.error(), self.simple_regret()
        if error is not None:
            text = f"error {error.value:.4f} [{error.low:.4f}, {error.high:.4f}]"
        text = self._unknown_error.removeprefix(", ") or text
        if regret is not None:
            text += f", simple regret {regret.value:.3g}"
        text += self._metrics_text()
        runs = f"{self.runs:,} run{'s' * (self.runs != 1)}"
        runs = f"{self.counted:,} of {runs}" if self.counted < self.runs else runs
        return f"{self.algorithm} on {self.instance}: {text} with {self.budget:,} pulls, {runs}"

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame of one row: labels, parameters, budget, pulls used, error and simple regret."""
        return frames.budget(self)
