"""What runs of a fixed horizon leave: regret at checkpoints."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxbandit.bounds.regret import regret_lower_bound
from jaxbandit.refusals import BadInput
from jaxbandit.results import frames
from jaxbandit.results.base import Result
from jaxbandit.stats import intervals


@dataclass(frozen=True, eq=False)
class RegretResult(Result):
    """One cell of a fixed horizon.

    `arrays` holds checkpoints int64[C], mean and variance float64[C] of the regret over runs, and, where
    per-run data was kept, regret [runs, C], pulls int32[runs, K], recommendation [runs, ...] and outcome
    int8[runs]. Of an algorithm that tells its rounds by kind, kinds int32[runs, num_kinds] and kinds_mean.
    """

    kind_names: Sequence[str] = ()  # of a registered algorithm's kinds of rounds

    kind = "simulate"
    array_names = (
        "checkpoints",
        "mean",
        "variance",
        "regret",
        "pulls",
        "pulls_mean",
        "kinds",
        "kinds_mean",
        "recommendation",
        "outcome",
    )

    def interval(self, confidence: float = intervals.CONFIDENCE) -> intervals.Interval:
        """Return the mean regret at the checkpoints with its Student interval; needs at least two runs."""
        return intervals.student(self.arrays["mean"], self.arrays["variance"], self.runs, confidence)

    def lower_bound(self) -> np.ndarray | None:
        """Return log(t) times the instance's regret constant at the checkpoints; None where none is known."""
        constant = self.truth.get("regret_constant")
        return None if constant is None else regret_lower_bound(constant, self.arrays["checkpoints"])

    def at(self, checkpoint: int | float) -> int:
        """Return the position of a checkpoint; ValueError where there is none. A float is a fraction of the horizon."""
        if isinstance(checkpoint, float):
            rounds = self.arrays["checkpoints"]
            return int(np.abs(rounds - checkpoint * rounds[-1]).argmin())
        where = np.flatnonzero(self.arrays["checkpoints"] == checkpoint)
        if not len(where):
            last = int(self.arrays["checkpoints"][-1])
            raise BadInput(f"{self.instance}/{self.algorithm}: no checkpoint at {checkpoint}, the last is {last}")
        return int(where[0])

    def rounds_of(self, kind: str | None) -> np.ndarray:
        """Return the rounds of one kind in each run, float64[runs]; ValueError where there is no such kind."""
        if kind not in self.kind_names:
            known = ", ".join(self.kind_names) or "none: its algorithm has none"
            raise BadInput(f"{self.instance}/{self.algorithm}: kind of rounds = {kind!r}, must be one of {known}")
        return self.arrays["kinds"][:, self.kind_names.index(kind)].astype(np.float64)

    def content(self) -> dict[str, Any]:
        """Return `regret`, `pulls`, `kinds`, `rounds_by_kind` and, where a run went wrong, `outcomes`."""
        # A non-finite run shows in `outcomes`; JSON has no NaN, so its checkpoints are left out.
        keep = np.isfinite(self.arrays["mean"])
        regret = {"at": self.arrays["checkpoints"][keep], "mean": self.arrays["mean"][keep]}
        if self.runs > 1:
            interval = self.interval()
            regret |= {"se": interval.se[keep], "low": interval.low[keep], "high": interval.high[keep]}
        bound = self.lower_bound()
        if bound is not None:
            regret["lower_bound"] = bound[keep]
        content: dict[str, Any] = {"regret": regret}
        for name in ("pulls", "kinds"):
            mean = self.arrays[name].mean(axis=0) if name in self.arrays else self.arrays.get(f"{name}_mean")
            if mean is not None:
                content[name] = {"mean": mean}
        if self.kind_names and "kinds" in content:
            horizon = self.arrays["checkpoints"][-1]
            content["rounds_by_kind"] = dict(zip(self.kind_names, content["kinds"]["mean"] / horizon, strict=True))
            if "kinds" in self.arrays and self.runs > 1:
                errors = self.arrays["kinds"].std(axis=0, ddof=1) / np.sqrt(self.runs) / horizon
                content["rounds_by_kind_se"] = dict(zip(self.kind_names, errors, strict=True))
        outcomes = self.outcomes()
        if outcomes["nonfinite"] or outcomes["precision"]:
            content["outcomes"] = outcomes
        return content

    def to_dataframe(self) -> Any:
        """Return a pandas frame, a row a checkpoint: labels, round, mean, se, low, high, lower_bound."""
        return frames.regret(self)
