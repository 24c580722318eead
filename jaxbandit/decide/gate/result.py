"""The result of a gate: pass, fail or undecided, and what is known of the two versions."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxbandit.decide.core.wording import number, percent
from jaxbandit.decide.gate.statement import Bounds
from jaxbandit.support.document import Describable, Document, Notes, Table, finite
from jaxbandit.theory.confidence_sequence import unseen

ENDS = {
    "max_calls": "max_calls allows no further pair",
    "timeout": "the timeout is over",
    "rows": "there are no more rows",
    "interrupted": "interrupted",
}


@dataclass(frozen=True, eq=False)
class GateResult(Describable):
    """Whether a new version is worse than an old one by more than a margin; `str` returns it as text.

    Each bound of the ratio is wrong, at this moment or any other, with probability at most delta. Means have bounds of
    the excess in place of those of the ratio: of the mean of one version minus the margin times that of the other.
    """

    verdict: str  # "pass", "fail" or "undecided"
    why: str  # "decided", "max_calls", "timeout", "rows", or "contradiction" if the data contradict an assumption
    claim: str  # what is compared with the margin, such as "the median of new / old within a pair"
    margin: float
    quantile: float | None
    statistic: str  # "median", "mean" or such as "0.9-quantile"
    maximize: bool
    delta: float
    values: Mapping[str, np.ndarray]  # "old" and "new": float64[pairs], in the order of the pairs
    bounds: Bounds
    seconds: float  # that the gate took, with the calls to warm up
    assumptions: tuple[str, ...]  # that nobody has checked
    notes: tuple[str, ...]
    contradiction: str  # what the data contradict; "" if nothing

    @property
    def calls(self) -> int:
        """Number of calls that count, of both versions."""
        return 2 * len(self.values["old"])

    @property
    def words(self) -> str:
        """The verdict in a sentence."""
        if self.verdict != "undecided":
            says = "at most" if self.verdict == "pass" else "more than"
            sure = f"with probability at least {1 - self.delta:g}"
            return f"{self.verdict}: {self.claim} is {says} {self.margin:g}, {sure}"
        if self.contradiction:
            return f"undecided: {self.contradiction}"
        low, high = self.bounds.ratio_low, self.bounds.ratio_high
        if low > 0 or high < math.inf:
            between = f"is between {low:.4g} and {number(high)}, and the margin is {self.margin:g}"
        elif math.isfinite(self.bounds.excess_low) or math.isfinite(self.bounds.excess_high):
            between = f"is about {number(self.bounds.ratio)}, and may be on either side of the margin {self.margin:g}"
        else:
            between = f"is not known after {self.calls // 2} pairs, which are too few"
        return f"undecided: {self.claim} {between}; {ENDS[self.why]}"

    def rare(self) -> str:
        """Return a sentence on what the calls may not have shown, and what a quantile does not count."""
        share = percent(float(unseen(np.array([self.calls // 2]), self.delta / 2)[0]))
        line = f"what happens in fewer than {share} of the calls of a version may not have been seen"
        return line if self.quantile is None else f"{line}, and a {self.statistic} does not count what is rare"

    def describe(self, *, detail: bool = False) -> Document:
        """Return the verdict, the two versions, the ratio, and what is assumed."""
        k, p, sure = self.bounds, self.quantile, f"each with probability {1 - self.delta:g}"
        values = {name: _location(x, p) for name, x in self.values.items()}
        rows = [(name, f"{self.calls // 2:,}", number(value)) for name, value in values.items()]
        ends = f"ratio: {number(k.ratio)}"
        if not math.isnan(k.ratio_low):
            ends += f", at least {k.ratio_low:.4g} and at most {number(k.ratio_high)}, {sure}"
        else:
            small, large = ("old", "new") if self.maximize else ("new", "old")
            bounds = f"at least {number(k.excess_low)} and at most {number(k.excess_high)}"
            ends += f"; {small} - {self.margin:g} x {large}: {bounds}, {sure}"
        names = ("verdict", "why", "words", "margin", "quantile", "maximize", "delta", "calls", "seconds")
        data: dict[str, Any] = {"schema": 1} | {name: getattr(self, name) for name in names} | finite(values)
        data |= finite(k._asdict()) | {"rare": self.rare(), "assumptions": self.assumptions, "notes": self.notes}
        lines = [ends, f"{self.calls:,} calls, {self.seconds:.3g} s", self.rare(), *self.notes]
        assumed = Notes(self.assumptions, "assumptions that nobody has checked")
        table = Table(("version", "calls", self.statistic), rows, (1, 2))
        return Document(self.words, [table, Notes(lines), assumed], data)


def _location(values: np.ndarray, p: float | None) -> float:
    return float(values.mean() if p is None else np.quantile(values, p, method="inverted_cdf"))
