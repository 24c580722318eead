"""The certificate of a session: its recommendation, the guarantee, confidence intervals and unchecked assumptions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxbandit.base import text
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.markup import html_table, view
from jaxbandit.base.types import Numbers
from jaxbandit.decide.sessions.arm_intervals import intervals
from jaxbandit.decide.sessions.session import Session
from jaxbandit.engine.rounds import fit
from jaxbandit.theory.confidence_sequence import unseen

NO_LIMITS = (-math.inf, math.inf)
COVERAGE = 0.95  # of the intervals of a rule without a guarantee
_UNKNOWN = {"mean": math.nan, "low": -math.inf, "high": math.inf}  # of an arm, where its JSON has no such key
_NAMED = 10  # arms of equally many pulls that are named, of which only the number follows


@dataclass(frozen=True)
class Certificate:
    """A session's recommendation with its guarantee and confidence intervals; `str` returns a table.

    With probability `coverage`, the intervals from `low` to `high` contain the mean rewards of all arms simultaneously
    and at all times, so they may be read while the session is running and after the rule has stopped. Without a known
    range or sigma, this is proved for normal rewards only: an arm whose rare event has not occurred yet has an interval
    that does not contain its mean. The rule's guarantee is a separate statement and does not depend on these intervals,
    and so is `unseen`.
    """

    rule: str
    delta: float | None  # None: the rule has no guarantee
    epsilon: float | None
    m: int | None
    proved: bool
    stopped: bool  # the guarantee holds only once the rule has stopped
    recommendation: np.ndarray | None  # int32[m]
    pulls: np.ndarray  # int64[num_arms]
    # float64[num_arms], NaN without a pull; None if pulls are sets of arms or there are contexts
    means: np.ndarray | None
    low: np.ndarray | None  # float64[num_arms], -inf if nothing is known
    high: np.ndarray | None  # float64[num_arms]
    coverage: float | None  # None without intervals
    survivors: np.ndarray | None  # bool[num_arms]
    assumptions: tuple[str, ...]  # of the guarantee and the intervals, which nobody has checked

    @property
    def promise(self) -> str:
        """The rule's guarantee in a sentence; "none" if there is none."""
        if self.delta is None:
            return "none"
        best = "the best" if self.m == 1 else f"the {self.m} best"
        arm = f"{best} or within {self.epsilon:g} of it" if self.epsilon else best
        words = f"the recommended arm is {arm}" if self.m == 1 else f"the recommended arms are {arm}"
        words = f"{words} with probability at least {1 - self.delta:g}"
        if not self.proved:
            words += ", which is not proved"
        return words if self.stopped else f"once the rule stops, {words}; it has not stopped yet"

    @property
    def unseen(self) -> np.ndarray | None:
        """The probability per pull that an event may have although no pull of an arm has shown it, float64[num_arms].

        With probability `coverage`, for all arms at once and at all times, an event that is fixed in advance and has
        not occurred in the pulls of an arm, such as a failure or a reward below a given number, has at most this
        probability. The error probability is divided by the number of arms, because the arms that one looks at in the
        end were chosen by their rewards. None if there are no intervals.
        """
        if self.coverage is None:
            return None
        return unseen(self.pulls, max(1 - self.coverage, 1e-300) / len(self.pulls))

    def rare_events(self, names: Sequence[str] | None = None, pulls: str = "pulls") -> list[str]:
        """Return what may not have been seen of the recommended arms and of the survivors, as sentences.

        Args:
          names: names of the arms. Default: their numbers.
          pulls: what the pulls are, in the plural.
        """
        shares = self.unseen
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
            share = _percent(float(shares[arms[0]]))
            lines.append(f"{named}: {n:,} {pulls}: what happens in fewer than {share} of them may not have been seen")
        return lines

    def to_json(self) -> dict[str, Any]:
        """Return the certificate as plain data; keys that do not apply are absent."""
        content: dict[str, Any] = {"schema": 1, "rule": self.rule, "promise": self.promise, "stopped": self.stopped}
        if self.delta is not None:
            content |= {"delta": self.delta, "epsilon": self.epsilon, "m": self.m, "proved": self.proved}
        if self.recommendation is not None:
            content["recommendation"] = self.recommendation.tolist()
        if self.coverage is not None:
            content["coverage"] = self.coverage
        arms = []
        named = {"mean": self.means, "low": self.low, "high": self.high, "unseen": self.unseen}
        for arm, pulls in enumerate(self.pulls.tolist()):
            known = {k: float(v[arm]) for k, v in named.items() if v is not None and math.isfinite(v[arm])}
            alive = {} if self.survivors is None else {"survives": bool(self.survivors[arm])}
            arms.append({"arm": arm, "pulls": pulls, **known, **alive})
        rare = {"rare_events": lines} if (lines := self.rare_events()) else {}
        return content | {"arms": arms, **rare, "assumptions": list(self.assumptions)}

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
        recommendation = data.get("recommendation")
        return cls(
            rule=data["rule"],
            delta=data.get("delta"),
            epsilon=data.get("epsilon"),
            m=data.get("m"),
            proved=data.get("proved", False),
            stopped=data["stopped"],
            recommendation=None if recommendation is None else np.array(recommendation, np.int32),
            pulls=np.array([arm["pulls"] for arm in arms], np.int64),
            means=column["mean"] if single else None,
            low=column["low"] if single else None,
            high=column["high"] if single else None,
            coverage=data.get("coverage"),
            survivors=np.array([arm["survives"] for arm in arms]) if "survives" in arms[0] else None,
            assumptions=tuple(data["assumptions"]),
        )

    def _rows(self, names: Sequence[str] | None = None) -> list[list[str]]:
        """The headings, followed by one row per arm."""
        header = ["arm", "pulls"] + ["mean"] * (self.means is not None)
        header += [] if self.coverage is None else [f"{self.coverage:.0%} interval"]
        header += ["survives"] * (self.survivors is not None)
        rows = [header]
        for arm, pulls in enumerate(self.pulls.tolist()):
            row = [str(arm) if names is None else names[arm], f"{pulls:,}"]
            row += [_shown(self.means[arm])] if self.means is not None else []
            if self.low is not None and self.high is not None:
                known = math.isfinite(self.low[arm]) or math.isfinite(self.high[arm])
                row += [f"[{_shown(self.low[arm])}, {_shown(self.high[arm])}]" if known else "-"]
            row += [("yes" if self.survivors[arm] else "no")] if self.survivors is not None else []
            rows.append(row)
        return rows

    def table(self, names: Sequence[str] | None = None) -> str:
        """Return the certificate as text.

        Args:
          names: names of the arms. Default: their numbers.
        """
        lines = [f"rule: {self.rule}", f"guarantee: {self.promise}"]
        if self.recommendation is not None:
            lines.append(
                "recommended: " + ", ".join(str(a) if names is None else names[int(a)] for a in self.recommendation)
            )
        lines += ["", text.align(self._rows(names), right=range(1, 3 if self.means is not None else 2))]
        if rare := self.rare_events(names):
            lines += ["", f"{rare_heading(self.coverage)}:", *(f"- {line}" for line in rare)]
        return "\n".join(
            [*lines, "", "assumptions that nobody has checked:", *(f"- {line}" for line in self.assumptions)]
        )

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        named = "none" if self.recommendation is None else ", ".join(map(str, self.recommendation))
        arms = html_table(head, rows, right=range(1, 3 if self.means is not None else 2))
        notes = [
            f"rule: {self.rule}",
            f"guarantee: {self.promise}",
            *([f"{rare_heading(self.coverage)}:", *rare] if (rare := self.rare_events()) else []),
            "assumptions that nobody has checked:",
            *self.assumptions,
        ]
        return view(f"recommended: {named}", arms, notes=notes)


def rare_heading(coverage: float | None) -> str:
    """Return the heading of the sentences of `Certificate.rare_events`."""
    return (
        f"rare events that may be unseen (events fixed in advance, such as a failure; with probability {coverage:g} "
        "for all arms at once)"
    )


def certificate(session: Session) -> Certificate:
    """Return the certificate of the session's current recommendation.

    The intervals are confidence sequences of each arm's rewards, at level (1 - coverage) / num_arms each, which remain
    valid under optional stopping and adaptive sampling. For bounded rewards or a known sigma, they are those of the
    normal mixture for sub-Gaussian rewards (Robbins 1970), and otherwise those of the martingale of the t-test (Lai
    1976).
    """
    rule, totals = session.rule, session.totals
    promise, assumptions = rule.promise, ["the rewards of an arm are independent and identically distributed"]
    single = session.programs.set_size is None and not session.programs.needs_context
    coverage = COVERAGE if promise is None else 1 - float(promise.delta)
    low = high = None
    if single:
        low, high, taken = intervals(session, coverage)
        assumptions += taken
    if rule.rewards is not None:
        if rule.rewards.sigma is not None:
            assumptions.append(f"noise is sub-Gaussian with sigma = {_sigma(rule.rewards.sigma)}")
        if rule.rewards.family is not None:
            assumptions.append(f"rewards are of the {rule.rewards.family} family")
    if promise is not None:
        assumptions += rule.assumptions or _undeclared(rule)
        if not promise.proved:
            assumptions.append("the guarantee itself, which is not proved for all instances")
    if session.paired:
        assumptions.append(
            "pulls with the same index used a common key, and pulls with different indices used independent keys"
        )
    return Certificate(
        rule=rule.name or "an algorithm",
        delta=None if promise is None else float(promise.delta),
        epsilon=None if promise is None else float(promise.epsilon),
        m=None if promise is None else promise.m,
        proved=promise is not None and promise.proved,
        stopped=session.stopped,
        recommendation=session.recommendation,
        pulls=totals.counts.copy(),
        means=totals.means if single else None,
        low=low,
        high=high,
        coverage=coverage if single else None,
        survivors=session.survivors,
        assumptions=tuple(dict.fromkeys(assumptions)),
    )


def _undeclared(rule: Algorithm) -> tuple[str, ...]:
    """The assumptions of a rule that declares none, which its `rewards` may be."""
    rewards = rule.rewards or Rewards()
    if rewards.sigma is not None or rewards.family is not None or fit.limits(rewards) != NO_LIMITS:
        return ()
    return ("the assumptions of the rule's proof, which the rule does not declare",)


def _sigma(sigma: Numbers) -> str:
    values = np.unique(np.asarray(sigma, np.float64))
    return f"{values[0]:g}" if len(values) == 1 else f"{values[0]:g} to {values[-1]:g}, by arm"


def _percent(share: float) -> str:
    """A share as a percentage of two digits, rounded up so that it remains a bound."""
    places = max(1 - math.floor(math.log10(100 * share)), 0)
    return f"{math.ceil(100 * share * 10**places - 1e-9) / 10**places:.{places}f} %"


def _shown(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "-"
