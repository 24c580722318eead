"""A certificate: a recommendation, what is known of it, its guarantee, confidence intervals, unchecked assumptions."""

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jaxbandit.base.contract import Promise
from jaxbandit.decide.core.wording import above, number, percent, rare_heading
from jaxbandit.support.document import Block, Describable, Document, Facts, Notes, Section, Table
from jaxbandit.theory.comparisons.contradiction import contradiction, contradictory
from jaxbandit.theory.confidence_sequence import unseen

_UNKNOWN = {"mean": math.nan, "low": -math.inf, "high": math.inf}  # of an arm, where its JSON has no such key
_NAMED = 10  # arms of equally many pulls that are named, of which only the number follows


@dataclass(frozen=True)
class Certificate(Describable):
    """A recommendation with what is known of it, its guarantee and confidence intervals; `str` returns a table.

    `achieved` is the epsilon that the recommended arms reach: with probability at least `coverage`, the worst of them
    is at most that much below the m-th best, at this moment and at all others, for whatever reason one looks now and
    however the pulls were chosen. The `guarantee` of a rule, `promise` in words, is another statement, on the moment at
    which the rule stops.

    With probability `coverage`, the intervals from `low` to `high` contain the mean rewards of all arms simultaneously
    and at all times. Without a known range or sigma, this is proved for normal rewards only: an arm whose rare event
    has not occurred yet has an interval that does not contain its mean.

    If the data contradict an assumption, `contradiction` says so, which is the first line of every text. Then nothing
    is claimed: `achieved` is inf, no arm is excluded, and an interval that is empty or lacks its estimate is not shown.
    """

    rule: str
    guarantee: Promise | None  # of the rule; it holds only once the rule has stopped
    stopped: bool
    recommendation: np.ndarray | None  # int32[m]
    pulls: np.ndarray  # int64[num_arms]
    # float64[num_arms], NaN without a pull; None if pulls are sets of arms or there are contexts
    means: np.ndarray | None
    low: np.ndarray | None  # float64[num_arms], -inf if nothing is known
    high: np.ndarray | None  # float64[num_arms]
    coverage: float | None  # None without intervals
    survivors: np.ndarray | None  # bool[num_arms]
    assumptions: tuple[str, ...]  # of all these statements, which nobody has checked
    achieved: float | None = None  # inf if nothing is known yet; None with contexts and for sets
    excluded: np.ndarray | None = None  # bool[num_arms], arms that are not among the m best, by the same statement
    needed: int | None = None  # pulls of each arm without which nothing is known
    statistic: str = "mean"  # what `means`, `low`, `high`, `achieved` and the guarantee are about
    # Of what the statistic is, if that is all there is, such as "folds": then all statements are certain.
    over: str = ""
    notes: tuple[str, ...] = ()  # that belong to the numbers
    names: tuple[str, ...] | None = None  # of the arms, for texts
    contradiction: str = ""  # what the data contradict, in a line; "" if nothing

    def __post_init__(self) -> None:
        """Withdraw what is claimed from data that contradict an assumption, and intervals that lack their estimates."""
        low, high = self.low, self.high
        m = 1 if self.recommendation is None else len(self.recommendation)
        error = None if self.coverage is None else 1 - self.coverage
        shown = {"low": low, "high": high, "names": self.names, "delta": error}
        line = self.contradiction or contradiction(excluded=self.excluded, m=m, **shown)
        change = functools.partial(object.__setattr__, self)
        if low is not None and high is not None and (bad := contradictory(low, high, self.means)).any():
            change("low", np.where(bad, -math.inf, low))
            change("high", np.where(bad, math.inf, high))
        if not line:
            return
        change("contradiction", line)
        if self.achieved is not None:
            change("achieved", math.inf)
        if self.excluded is not None:
            change("excluded", np.zeros(len(self.pulls), bool))
        if self.survivors is not None and not self.survivors.any():
            change("survivors", np.ones(len(self.pulls), bool))

    @property
    def known(self) -> str:
        """What is known of the recommendation at this moment, in a sentence; "" if nothing of this kind is said."""
        if self.contradiction:
            return self.contradiction
        if self.achieved is None or self.coverage is None or self.recommendation is None:
            return ""
        one = len(self.recommendation) == 1
        arms, verb = ("the recommended arm", "is") if one else ("the recommended arms", "are")
        if math.isinf(self.achieved):
            if self.over:
                return f"no guarantee: {self.over} are missing, and the range of their scores is not known"
            least = "" if self.needed is None else f": at least {self.needed} pulls of each arm are needed"
            return f"no guarantee: nothing is known of the distance of {arms} from the best{least}"
        best = "the best" if one else f"the {len(self.recommendation)} best"
        what = "" if self.statistic == "mean" else f" by the {self.statistic}"
        place = f"{best}{what}" if self.achieved == 0 else f"within {above(self.achieved)} of {best}{what}"
        sure = self._surely if self.over else f" with probability at least {self.coverage:g}"
        return f"{arms} {verb} {place}{sure}"

    @property
    def promise(self) -> str:
        """The rule's guarantee in a sentence; "none" if there is none, or none any more."""
        if self.guarantee is None:
            return "none"
        if self.contradiction:
            return "none, because the data contradict an assumption"
        delta, epsilon, m, proved, _ = self.guarantee
        if self.over:
            best = f"within {epsilon:g} of the best" if epsilon else "the best"
            words = f"the recommended arm is {best}{self._surely}"
            return words if self.stopped else f"{words}, once the search ends by itself; its budget ended it before"
        best = "the best" if m == 1 else f"the {m} best"
        arm = f"{best} or within {epsilon:g} of {'it' if m == 1 else 'them'}" if epsilon else best
        words = f"the recommended arm is {arm}" if m == 1 else f"the recommended arms are {arm}"
        words = f"{words} with probability at least {1 - delta:g}"
        if not proved:
            words += ", which is not proved"
        return words if self.stopped else f"once the rule stops, {words}; it has not stopped yet"

    @property
    def _surely(self) -> str:
        return f" by its {self.statistic} over these {self.over}, with certainty"

    @property
    def unseen(self) -> np.ndarray | None:
        """The probability per pull that an event may have although no pull of an arm has shown it, float64[num_arms].

        With probability `coverage`, for all arms at once and at all times, an event that is fixed in advance and has
        not occurred in the pulls of an arm, such as a failure or a reward below a given number, has at most this
        probability. None if there are no intervals, or nothing is drawn at random.
        """
        if self.coverage is None or self.over:
            return None
        return unseen(self.pulls, max(1 - self.coverage, 1e-300) / len(self.pulls))

    def rare_events(self, names: Sequence[str] | None = None, pulls: str = "pulls") -> list[str]:
        """Return what may not have been seen of the recommended arms and of the survivors, as sentences.

        Args:
          names: names of the arms. Default: `names`, or their numbers.
          pulls: what the pulls are, in the plural.
        """
        shares, names = self.unseen, self.names if names is None else names
        if shares is None:
            return []
        shown = np.zeros(len(self.pulls), bool) if self.survivors is None else self.survivors.copy()
        if self.recommendation is not None:
            shown[self.recommendation] = True
        lines = []
        for n in np.unique(self.pulls[shown & (self.pulls > 0)])[::-1]:
            arms = np.flatnonzero(shown & (self.pulls == n))
            named = ", ".join(f"arm {a}" if names is None else str(names[a]) for a in arms[:_NAMED].tolist())
            named += f" and {len(arms) - _NAMED:,} more" if len(arms) > _NAMED else ""
            share = percent(float(shares[arms[0]]))
            lines.append(f"{named}: {n:,} {pulls}: what happens in fewer than {share} of them may not have been seen")
        return lines

    def to_json(self) -> dict[str, Any]:
        """Return the certificate as plain data; keys that do not apply are absent."""
        content: dict[str, Any] = {"schema": 1, "rule": self.rule, "promise": self.promise, "stopped": self.stopped}
        if self.contradiction:
            content = {"schema": 1, "contradiction": self.contradiction, **content}
        if self.guarantee is not None:
            delta, epsilon, m, proved, _ = self.guarantee
            content |= {"delta": delta, "epsilon": epsilon, "m": m, "proved": proved}
        if self.recommendation is not None:
            content["recommendation"] = self.recommendation.tolist()
        if self.coverage is not None:
            content["coverage"] = self.coverage
        if self.achieved is not None:
            content["known"] = self.known
            content |= {"achieved_epsilon": self.achieved} if math.isfinite(self.achieved) else {}
            content |= {} if self.needed is None else {"needed": self.needed}
        if self.statistic != "mean":
            content["statistic"] = self.statistic
        if self.over:
            content["over"] = self.over
        arms = []
        columns = {"mean": self.means, "low": self.low, "high": self.high, "unseen": self.unseen}
        for arm, pulls in enumerate(self.pulls.tolist()):
            known = {k: float(v[arm]) for k, v in columns.items() if v is not None and math.isfinite(v[arm])}
            alive = {} if self.survivors is None else {"survives": bool(self.survivors[arm])}
            alive |= {} if self.excluded is None else {"excluded": bool(self.excluded[arm])}
            named = {} if self.names is None else {"name": self.names[arm]}
            arms.append({"arm": arm, **named, "pulls": pulls, **known, **alive})
        more = {"rare_events": self.rare_events(), "notes": list(self.notes)}
        more = {key: lines for key, lines in more.items() if lines}
        return content | {"arms": arms, **more, "assumptions": list(self.assumptions)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Certificate":
        """Return the certificate of which `to_json` returned `data`.

        Raises:
          KeyError, IndexError, TypeError, ValueError: `data` is no certificate.
        """
        arms, single = data["arms"], "coverage" in data
        if single and not 0 < data["coverage"] <= 1:
            raise ValueError(f"coverage = {data['coverage']}, must be in (0, 1]")
        column = {k: np.array([arm.get(k, unknown) for arm in arms], np.float64) for k, unknown in _UNKNOWN.items()}
        recommendation, guarantee = data.get("recommendation"), None
        if "delta" in data:
            guarantee = Promise(data["delta"], data["epsilon"], data["m"], data["proved"])
        return cls(
            rule=data["rule"],
            guarantee=guarantee,
            stopped=data["stopped"],
            recommendation=None if recommendation is None else np.array(recommendation, np.int32),
            pulls=np.array([arm["pulls"] for arm in arms], np.int64),
            means=column["mean"] if single else None,
            low=column["low"] if single else None,
            high=column["high"] if single else None,
            coverage=data.get("coverage"),
            survivors=np.array([arm["survives"] for arm in arms]) if "survives" in arms[0] else None,
            assumptions=tuple(data["assumptions"]),
            achieved=float(data.get("achieved_epsilon", math.inf)) if "known" in data else None,
            excluded=np.array([arm["excluded"] for arm in arms]) if "excluded" in arms[0] else None,
            needed=data.get("needed"),
            statistic=data.get("statistic", "mean"),
            over=data.get("over", ""),
            notes=tuple(data.get("notes", ())),
            names=tuple(str(arm["name"]) for arm in arms) if "name" in arms[0] else None,
            contradiction=data.get("contradiction", ""),
        )

    def with_names(self, names: Sequence[str]) -> "Certificate":
        """Return the certificate with names of the arms, as it shows them."""
        return replace(self, names=tuple(names))

    def facts(self, rare: Sequence[str]) -> list[Block]:
        """Return what a report shows of it besides its arms; `rare` are sentences as `rare_events` returns them."""
        guarantee = {} if self.guarantee is None else self.guarantee._asdict()
        entries = {"rule": self.rule, "guarantee": self.promise, "known": self.known}
        entries |= {name: guarantee.get(name) for name in ("delta", "epsilon", "m")}
        return [
            Notes([self.contradiction] if self.contradiction else []),
            Facts({**entries, "stopped": "yes" if self.stopped else "not yet"}),
            Section("Rare events", [Notes([f"{rare_heading(self.coverage)}:"]), Notes(rare)] if rare else []),
            Notes(self.notes, "Remarks"),
            Notes(self.assumptions, "Assumptions"),
        ]

    def describe(self, *, detail: bool = False) -> Document:
        """Return what the data contradict, what is recommended and stated, the arms, and what is assumed."""
        names = [str(arm) for arm in range(len(self.pulls))] if self.names is None else self.names
        chosen = [] if self.recommendation is None else [names[int(arm)] for arm in self.recommendation]
        title, *lines = [
            *([self.contradiction] if self.contradiction else []),
            *([f"recommended: {', '.join(chosen)}"] if chosen else []),
            f"rule: {self.rule}",
            f"guarantee: {self.promise}",
            *([f"known now: {self.known}"] if self.known and not self.contradiction else []),
        ]
        columns: dict[str, list[str]] = {"arm": list(names), "pulls": [f"{pulls:,}" for pulls in self.pulls.tolist()]}
        if self.means is not None:
            columns[self.statistic] = list(map(number, self.means))
        if self.coverage is not None and self.low is not None and self.high is not None:
            ends = zip(self.low.tolist(), self.high.tolist(), strict=True)
            columns[f"{self.coverage:.0%} interval"] = [
                f"[{number(low)}, {number(high)}]" if math.isfinite(low) or math.isfinite(high) else "-"
                for low, high in ends
            ]
        if self.survivors is not None:
            columns["survives"] = ["yes" if alive else "no" for alive in self.survivors]
        rows, rare = list(zip(*columns.values(), strict=True)), self.rare_events()
        blocks = [
            Notes(lines),
            Table(tuple(columns), rows, right=(1,) if self.means is None else (1, 2), labels=0),
            Notes(rare, rare_heading(self.coverage)) if rare else None,
            Notes(self.notes),
            Notes(self.assumptions, "assumptions that nobody has checked"),
        ]
        return Document(title, blocks, self.to_json())


def guarantee_of(promise: Promise | None) -> Promise | None:
    """Return the promise of a rule with plain numbers, as a certificate holds it."""
    if promise is None:
        return None
    return Promise(float(promise.delta), float(promise.epsilon), int(promise.m), promise.proved)
