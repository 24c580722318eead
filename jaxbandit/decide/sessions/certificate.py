"""The certificate of a session: its recommendation, the guarantee, confidence intervals and unchecked assumptions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import text
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.markup import html_table, view
from jaxbandit.base.types import Array, Numbers
from jaxbandit.decide.sessions.session import Session
from jaxbandit.engine.rounds import fit
from jaxbandit.theory.solvers import student

NO_LIMITS = (-math.inf, math.inf)
COVERAGE = 0.95  # of the intervals of a rule without a guarantee
_UNKNOWN = {"mean": math.nan, "low": -math.inf, "high": math.inf}  # of an arm, where its JSON has no such key
_TYPICAL = 20  # pulls at which an interval is as narrow as it can be
_NORMAL = "the rewards of each arm are normal"
_LINEAR = "the means are linear in the features"
# What the proof of a rule assumes beyond what its `rewards` declare.
ASSUMED = {
    "paired_race": (
        "the differences between two arms' rewards with the same index are normal; if only the best arm is skewed, so "
        "that it owes its mean to rare large rewards, the guarantee fails (an error rate of 0.35 was measured at "
        "delta = 0.05)",
    ),
    "kim_nelson": (
        "the rewards with the same index are jointly normal, and independent between arms if `independent` is true",
        "the mean of the best arm exceeds every other mean by at least epsilon",
    ),
    "student_race": (_NORMAL,),
    **dict.fromkeys(
        "lingape m_lingape lingifa xy_static g_static xy_adaptive xy_oracle rage lin_game lazy_track_and_stop".split(),
        (_LINEAR,),
    ),
    **dict.fromkeys(
        "saqm sa_foa icb exhaustive adaptive_full_bandit".split(), ("a set's mean is the sum of its arms' means",)
    ),
}


@dataclass(frozen=True)
class Certificate:
    """A session's recommendation with its guarantee and confidence intervals; `str` returns a table.

    With probability `coverage`, the intervals from `low` to `high` contain the mean rewards of all arms simultaneously
    and at all times, so they may be read while the session is running and after the rule has stopped. The rule's
    guarantee is a separate statement and does not depend on these intervals.
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
        for arm, pulls in enumerate(self.pulls.tolist()):
            named = {"mean": self.means, "low": self.low, "high": self.high}
            known = {k: float(v[arm]) for k, v in named.items() if v is not None and math.isfinite(v[arm])}
            alive = {} if self.survivors is None else {"survives": bool(self.survivors[arm])}
            arms.append({"arm": arm, "pulls": pulls, **known, **alive})
        return content | {"arms": arms, "assumptions": list(self.assumptions)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Certificate":
        """Return the certificate of which `to_json` returned `data`.

        Raises:
          KeyError, IndexError, TypeError, ValueError: `data` is no certificate.
        """
        arms, single = data["arms"], "coverage" in data
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
            "assumptions that nobody has checked:",
            *self.assumptions,
        ]
        return view(f"recommended: {named}", arms, notes=notes)


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
        low, high, taken = _intervals(session, coverage)
        assumptions += taken
    if rule.rewards is not None:
        if rule.rewards.sigma is not None:
            assumptions.append(f"noise is sub-Gaussian with sigma = {_sigma(rule.rewards.sigma)}")
        if rule.rewards.family is not None:
            assumptions.append(f"rewards are of the {rule.rewards.family} family")
    if promise is not None:
        assumptions += ASSUMED.get(rule.name, _undeclared(rule))
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
    """The assumptions of a rule whose name and `rewards` do not determine them."""
    rewards = rule.rewards or Rewards()
    if rewards.sigma is not None or rewards.family is not None or fit.limits(rewards) != NO_LIMITS:
        return ()
    # With the family "student", the only one of these that declares nothing about its rewards.
    if rule.name in ("track_and_stop", "top_two"):
        return (_NORMAL,)
    return ("the assumptions of the rule's proof, which the rule does not declare",)


def _intervals(session: Session, coverage: float) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Confidence sequences of the arms' means, and the assumptions that they add."""
    totals, rewards = session.totals, session.rule.rewards
    n, means = np.maximum(totals.counts, 1), totals.means
    level = (1 - coverage) / session.num_arms
    least, most = fit.limits(rewards)
    sigma = None if rewards is None else rewards.sigma
    if math.isfinite(least) and math.isfinite(most):
        sigma = (most - least) / 2  # Hoeffding's lemma; `tell` checks that rewards are in range
    if sigma is None:
        squares = n * totals.variances
        with session.programs.scope():
            ratio, known = map(np.asarray, _student(n.astype(np.float64), np.log(level), squares, np.abs(means)))
        radius = np.full(len(n), np.inf)
        radius[known] = np.sqrt(totals.variances[known] * ratio[known])
        assumed = [f"{_NORMAL} (for the intervals)"]
    else:
        radius, assumed = mixture_radius(n, sigma, level), []
    radius = np.where(totals.counts > 0, radius, np.inf)
    center = np.where(totals.counts > 0, means, 0.0)
    return np.maximum(center - radius, least), np.minimum(center + radius, most), assumed


def mixture_radius(n: np.ndarray, sigma: Numbers, level: float) -> np.ndarray:
    """Half the width of the normal mixture's confidence sequence of the mean of n sub-Gaussian rewards.

    exp(s S_n - n s^2 sigma^2 / 2), mixed over s by N(0, 1 / (c sigma^2)), is a nonnegative supermartingale with initial
    value 1, where S_n is the centered sum. It therefore reaches 1 / level with probability at most `level`.
    """
    twice = -2 * math.log(level)
    c = _TYPICAL / (twice + math.log1p(twice))
    return np.asarray(sigma) / n * np.sqrt((n + c) * (twice + np.log1p(n / c)))


@jax.jit
def _student(n: Array, log_level: Array, squares: Array, size: Array) -> tuple[Array, Array]:
    """The squared radius divided by the variance, and whether the rewards vary."""
    ratio = student.squared_radius(n, log_level, student.default_c2(log_level))
    return ratio, student.varies(squares, n, size) & jnp.isfinite(ratio)


def _sigma(sigma: Numbers) -> str:
    values = np.unique(np.asarray(sigma, np.float64))
    return f"{values[0]:g}" if len(values) == 1 else f"{values[0]:g} to {values[-1]:g}, by arm"


def _shown(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "-"
