"""The result of `search`: the race of the finalists, beside all proposals."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from jaxbandit.decide.tuning.configs import Configs
from jaxbandit.decide.tuning.proposals import Proposals
from jaxbandit.decide.tuning.result import TuneResult
from jaxbandit.decide.tuning.stored_values import data_of, encoded, stored_columns
from jaxbandit.theory.intervals import CONFIDENCE, student

SCOPE = (
    "the guarantee is about the {} finalists: it says neither that the best proposal is one of them, nor anything "
    "about the rest of the space"
)
SINGLE = "its score is that of a single training, the best one of {} proposals, and therefore too good as a rule"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SearchResult(TuneResult):
    """The result of `search`: a TuneResult whose configurations are the finalists.

    The table has two more columns, `proposal`, the number of the proposal, and `first_score`, its score when it was
    proposed, which enters neither its mean nor the certificate.
    """

    # One row per proposal: proposal, score (NaN if it failed or was not trained), attempts, finalist.
    proposals: dict[str, np.ndarray]
    proposed: Configs  # the configuration of each proposal
    proposer: str
    # float64[h], scores of the choice at further seeds; their mean is an unbiased estimate, given the choice.
    further: np.ndarray

    @property
    def claim(self) -> float:
        """By how much the first score of the choice is better than its mean score over fresh seeds; NaN if unknown."""
        if not self.is_certified:
            return float("nan")
        sign = 1 if self.maximize else -1
        return float(sign * (self.table["first_score"][self.index] - self.table["mean"][self.index]))

    def _data(self) -> dict[str, Any]:
        score = self.proposals["score"]
        about: dict[str, Any] = {"proposer": self.proposer, "proposals": len(score), "finalists": self.configs.count}
        if np.isfinite(score).any():
            about["best_first_score"] = (np.nanmax if self.maximize else np.nanmin)(score)
        if np.isfinite(self.claim):
            about["claim"] = self.claim
        if len(self.further):
            about["further"] = {"trainings": len(self.further), **self._further()}
        return {**super()._data(), "search": about}

    def _further(self) -> dict[str, float]:
        """The mean of the further scores with its Student interval."""
        count, mean = len(self.further), float(np.mean(self.further))
        if count < 2:
            return {"mean": mean}
        interval = student(mean, float(np.var(self.further, ddof=1)), count, CONFIDENCE)
        ends = {"low": float(interval.low), "high": float(interval.high)}
        return {"mean": mean, **{name: end for name, end in ends.items() if np.isfinite(end)}}

    def remarks(self) -> tuple[str, ...]:
        """Return what belongs to the numbers of the choice."""
        lines = []
        if not self.is_certified:
            lines.append(SINGLE.format(len(self.proposals["score"])))
        elif np.isfinite(self.claim):
            first, claim = self.table["first_score"][self.index], self.claim
            side = "better than" if claim >= 0 else "worse than"
            lines.append(
                f"its first score, {first:.5g}, was {abs(claim):.2g} {side} its mean score over fresh seeds; first "
                "scores, by which the finalists were selected, are not used"
            )
        if len(self.further):
            known = self._further()
            ends = f" [{known['low']:.5g}, {known['high']:.5g}]" if {"low", "high"} <= known.keys() else ""
            level = f", a Student interval of {CONFIDENCE:.0%}" if ends else ""
            lines.append(
                f"its mean score over {len(self.further)} further seeds, trained after the choice, is "
                f"{known['mean']:.5g}{ends}{level}; this estimate is unbiased"
            )
        return tuple(lines)

    def _arrays(self) -> dict[str, dict[str, np.ndarray]]:
        return {"proposals": {**self.proposals, **stored_columns(self.proposed)}, **super()._arrays()}

    def _about(self) -> dict[str, Any]:
        return {
            **super()._about(),
            "proposed": data_of(self.proposed),
            "proposer": self.proposer,
            "further": encoded(self.further.tolist()),
        }

    def _trainings(self) -> int:
        raced = super()._trainings() if self.is_certified else 0
        return int(self.proposals["attempts"].sum()) + raced + len(self.further)

    def _of(self) -> str:
        count, raced = int(self.proposals["attempts"].sum()), super()._trainings()
        parts = [f"{count:,} of {len(self.proposals['score']):,} proposals ({self.proposer})"]
        if self.is_certified:
            parts.append(f"{raced:,} of {self.configs.count:,} finalists")
        if len(self.further):
            parts.append(f"{len(self.further):,} more of the choice")
        return f": {', '.join(parts)}"


def search_result(
    result: TuneResult, made: Proposals, numbers: list[int], proposer: str, further: np.ndarray, seconds: float
) -> SearchResult:
    """Return the result of a search, given that of its last part, whose configurations are these proposals."""
    scores, attempts = np.array(made.scores), np.array(made.attempts, np.int64)
    known = {field.name: getattr(result, field.name) for field in fields(TuneResult)}
    table = {**result.table, "proposal": np.array(numbers), "first_score": scores[numbers]}
    if result.is_certified:
        scope = SCOPE.format(result.configs.count)
        certificate = result.certificate
        known["certificate"] = replace(certificate, notes=(*certificate.notes, scope))
    waited = made.waited + result.seconds.get("trainings", 0.0)
    known |= {"table": table, "seconds": {"total": seconds, "trainings": waited}}
    known["reused"] = result.reused + made.reused
    finalist = np.isin(np.arange(len(scores)), numbers)
    proposals = {"proposal": np.arange(len(scores)), "score": scores, "attempts": attempts, "finalist": finalist}
    found = SearchResult(**known, proposals=proposals, proposed=made.configs(), proposer=proposer, further=further)
    return replace(found, notes=(*found.remarks(), *result.notes))
