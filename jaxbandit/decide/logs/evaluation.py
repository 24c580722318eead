"""The values of policies on a log, with intervals, diagnostics, and what is assumed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit.decide.logs import estimates
from jaxbandit.decide.logs.arms import Label, count_of
from jaxbandit.decide.logs.estimates import BETTING, NORMAL, Rows
from jaxbandit.decide.logs.policy_value import Estimate, PolicyValue, cells, percent, stated
from jaxbandit.running.plotting.policy_values import plot_values
from jaxbandit.support import text
from jaxbandit.support.domains import check, choice
from jaxbandit.support.markup import html_table, view
from jaxbandit.support.refusals import python, refuse
from jaxbandit.theory.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOG = "the log"  # the name of the rewards as they were


@dataclass(frozen=True, eq=False)
class Difference:
    """The value of a policy minus that of another one, or minus the rewards of the log, over the same rows."""

    policy: str
    other: str
    headline: Estimate
    betting: Estimate | None  # None without propensities
    confidence: float

    @property
    def value(self) -> float:
        """The estimate of the difference."""
        return self.headline.value

    @property
    def low(self) -> float:
        """The lower end of its interval, NaN without one."""
        return self.headline.low

    @property
    def high(self) -> float:
        """The upper end of its interval, NaN without one."""
        return self.headline.high

    def __str__(self) -> str:
        found = self.headline
        how = f"{percent(self.confidence)} interval: {found.interval}" if found.interval else "no interval"
        return f"{self.policy} minus {self.other}: {found.words} ({found.estimator}, {how}; {found.about})"

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain data; what is not known is absent."""
        content = {"policy": self.policy, "other": self.other, "headline": self.headline.to_dict()}
        return content if self.betting is None else content | {"betting": self.betting.to_dict()}


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The values of policies on a log; `str` returns them as text, and `evaluation["name"]` one of them."""

    policies: tuple[PolicyValue, ...]
    log: PolicyValue  # the rewards as they were: their mean, which has no interval if the log is adaptive
    num_rows: int
    arms: tuple[Label, ...]
    rewards: tuple[float, float]
    costs: bool  # whether rewards are the costs of the log times -1
    adaptive: bool
    confidence: float
    assumptions: tuple[str, ...]

    @property
    def num_arms(self) -> int:
        """The number of arms."""
        return len(self.arms)

    def __getitem__(self, name: str) -> PolicyValue:
        names = [p.name for p in self.policies]
        check("evaluation: policy", name, choice(names), written=python)
        return self.policies[names.index(name)]

    @property
    def only(self) -> PolicyValue:
        """The value of the policy, if there is one only."""
        if len(self.policies) != 1:
            names = ", ".join(p.name for p in self.policies)
            refuse("evaluation", f" has {len(self.policies)} policies, choose one by its name: {names}")
        return self.policies[0]

    @property
    def value(self) -> float:
        """The headline estimate of the only policy."""
        return self.only.value

    @property
    def low(self) -> float:
        """The lower end of the interval of the only policy, NaN without one."""
        return self.only.low

    @property
    def high(self) -> float:
        """The upper end of the interval of the only policy, NaN without one."""
        return self.only.high

    def compare(self, policy: str | None = None, other: str | None = None) -> Difference:
        """Return the value of a policy minus that of another one, paired: both are estimated from the same rows.

        The interval is chosen as for a value: normal, or betting if the log was written by a rule that learned or one
        of the two has too few effective rows.

        Args:
          policy: name of a policy; None for the only one.
          other: name of another one. None is the log: its rewards as they were, of the policy that wrote it.

        Raises:
          BadInput: there is no such policy, or the log was written by a rule that learned and `other` is None.
        """
        one = self.only if policy is None else self[policy]
        two = self.log if other is None else self[other]
        if other is None and self.adaptive:
            refuse("compare: other", " = None, must be a policy: the rule that wrote the log learned, and has no value")
        if one.rows is None or two.rows is None:
            words = "no interval: the error of the model is unknown"
            found = Estimate("DM", "", one.value - two.value, np.nan, np.nan, np.nan, words)
            return Difference(one.name, two.name, found, None, self.confidence)
        return self._paired(one, two, one.rows, two.rows)

    def _paired(self, one: PolicyValue, two: PolicyValue, a: Rows, b: Rows) -> Difference:
        width = self.rewards[1] - self.rewards[0]
        wide = 1 + max(a.bound, b.bound)
        bet = estimates.betting(a.predictable - b.predictable, -wide, wide, self.confidence)
        doubt = a.doubt or b.doubt
        proved = f"not proved: {doubt}" if doubt else "proved, given the largest weights"
        mass = a.mass + b.mass
        ends = width * (bet.low - mass), width * (bet.high + mass)
        bets = stated("DR", BETTING, Interval(width * bet.value, width * bet.se, *ends), proved, (-width, width))
        if self.adaptive or min(map(estimates.enough, (a, b))) < estimates.ENOUGH:
            best = Interval(width * (a.center - b.center), width * bet.se, *ends)
            found = stated(a.best, BETTING, best, f"{proved}; the interval is that of DR", (-width, width))
            return Difference(one.name, two.name, found, bets, self.confidence)
        apart = estimates.normal(a.fitted - b.fitted, self.confidence)
        low, high = width * (apart.low - mass), width * (apart.high + mass)
        found = stated("DR", NORMAL, Interval(width * apart.value, width * apart.se, low, high), "approximate, paired")
        return Difference(one.name, two.name, found, bets, self.confidence)

    def differences(self) -> list[Difference]:
        """Return what each policy differs by from the log; from the first policy if the log is adaptive."""
        if not self.adaptive:
            return [self.compare(p.name) for p in self.policies]
        return [self.compare(p.name, self.policies[0].name) for p in self.policies[1:]]

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the value of each policy with its interval and the betting interval; return the Axes."""
        return plot_values(self, ax)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers needs to know: warnings of all policies."""
        several = len(self.policies) > 1
        return tuple(f"{p.name}: {line}" if several else line for p in self.policies for line in p.warnings)

    @property
    def first_line(self) -> str:
        """What was evaluated, and the mean reward of the log."""
        wrong = [p for p in self.policies if p.headline.contradicted or (p.diagnostics and p.diagnostics.wrong)]
        about = (
            f"{self.num_rows:,} rows, {count_of(self.arms)}; the mean reward of the log is {self.log.headline.words}"
        )
        if self.policies[0].rows is None:
            return f"No propensities: only the direct method, whose error nothing bounds. {about}"
        about += ", written by a rule that learned" * self.adaptive + "; rewards are costs times -1" * self.costs
        return f"Do not use these values: see the notes. {about}" if wrong else about

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and rows of the table of values, one row for each policy."""
        sure = f"{percent(self.confidence)} interval"
        head = ["policy", "value", sure, "by", "betting", "ESS", "largest w", "mean w", "p"]
        rows = []
        for p in self.policies:
            found = [p.name, *cells(p.headline.words), p.by]
            if p.diagnostics is not None and p.betting is not None:
                d = p.diagnostics
                found += [cells(p.betting.words)[1], f"{d.ess:.4g}", f"{d.largest_weight:.3g}"]
                found += [f"{d.mean_weight:.3f}", f"{d.p:.2g}"]
            rows.append(found + [""] * (len(head) - len(found)))
        if all(row[-1] == "" for row in rows):
            return head[:4], [row[:4] for row in rows]
        return head, rows

    def __str__(self) -> str:
        head, rows = self.table()
        parts = [self.first_line, text.align([head, *rows], right=(1, *range(5, len(head))), keys=1)]
        differences = self.differences()
        if differences and self.policies[0].rows is not None:
            parts.append("\n".join(map(str, differences)))
        if len(self.policies) == 1:
            parts.append(str(self.policies[0]))
        if self.notes:
            parts.append(text.wrapped("Notes  ", *self.notes))
        parts.append(text.wrapped("Assumes", *self.assumptions))
        return "\n\n".join("\n".join(map(text.printable, part.split("\n"))) for part in parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, rows = self.table()
        table = html_table(head, rows, right=(1, *range(5, len(head))))
        more = [html_table(*p.table(), caption=f"Estimates of {p.name}", right=(1,)) for p in self.policies[:1]]
        tables = more if len(self.policies) == 1 else []
        assumed = [f"assumes that {line}" for line in self.assumptions]
        apart = [str(d) for d in self.differences()] if self.policies[0].rows is not None else []
        return view(self.first_line, table, *tables, notes=[*apart, *self.notes, *assumed])

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as plain data for JSON; what is not known is absent."""
        return {
            "schema": 1,
            "rows": self.num_rows,
            "num_arms": self.num_arms,
            "arms": list(self.arms),
            "costs": self.costs,
            "rewards": list(self.rewards),
            "confidence": self.confidence,
            "adaptive": self.adaptive,
            "log": self.log.headline.to_dict(),
            "policies": [p.to_dict() for p in self.policies],
            "differences": [d.to_dict() for d in self.differences()],
            "notes": list(self.notes),
            "assumptions": list(self.assumptions),
        }

    to_json = to_dict
