"""The values of policies on a log, with intervals, diagnostics, and what is assumed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit.decide.logs import estimates
from jaxbandit.decide.logs.arms import Label, count_of
from jaxbandit.decide.logs.estimates import BETTING, NORMAL, Rows
from jaxbandit.decide.logs.policy_value import Estimate, Headline, PolicyValue, percent, stated
from jaxbandit.running.plotting.policy_values import plot_values
from jaxbandit.support.document import Chart, Curve, Document, Facts, Notes, Section, Table
from jaxbandit.support.domains import check, choice
from jaxbandit.support.refusals import python, refuse
from jaxbandit.support.version import __version__
from jaxbandit.theory.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOG = "the log"  # the name of the rewards as they were
READING = (
    "The value of a policy is the mean reward that it would have had. An interval is for its policy alone; the value "
    "of the one that looks best of many is too large.",
    "DR is the doubly robust estimate, IPS inverse propensity scoring, SNIPS the same with weights that sum to 1, "
    "DM the direct method: a model alone.",
    "Normal intervals are approximate, and are dropped where few rows count or the log was written by a rule that "
    "learned. Betting intervals hold for every number of rows, if no weight exceeds the bound that is stated.",
)
WEIGHTS = (
    "Right propensities look like these, or worse, with a probability of at most p, also with few rows and heavy "
    "weights. Few effective rows say that the policy is too far from the one that wrote the log."
)


@dataclass(frozen=True, eq=False, repr=False)
class PolicyDifference(Headline):
    """The value of a policy minus that of another one, or minus the rewards of the log, over the same rows."""

    policy: str
    other: str
    headline: Estimate
    betting: Estimate | None  # None without propensities
    confidence: float

    def describe(self, *, detail: bool = False) -> Document:
        """Return what the difference shows."""
        found = self.headline
        how = f"{percent(self.confidence)} interval: {found.interval}" if found.interval else "no interval"
        line = f"{self.policy} minus {self.other}: {found.words} ({found.estimator}, {how}; {found.about})"
        data = {"policy": self.policy, "other": self.other, "headline": found.to_dict()}
        return Document(line, data=data if self.betting is None else data | {"betting": self.betting.to_dict()})


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Headline):
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
    def headline(self) -> Estimate:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The headline of the only policy."""
        return self.only.headline

    def compare(self, policy: str | None = None, other: str | None = None) -> PolicyDifference:
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
            found, bets = Estimate("DM", "", one.value - two.value, np.nan, np.nan, np.nan, words), None
        else:
            found, bets = self._paired(one.rows, two.rows)
        return PolicyDifference(one.name, two.name, found, bets, self.confidence)

    def _paired(self, a: Rows, b: Rows) -> tuple[Estimate, Estimate]:
        """Return the headline of a difference, and its betting interval."""
        width, mass = self.rewards[1] - self.rewards[0], a.mass + b.mass

        def estimate(
            estimator: str, interval: str, rows: Interval[float], about: str, value: float | None = None
        ) -> Estimate:
            value = width * (rows.value if value is None else value)
            whole = Interval(value, width * rows.se, width * (rows.low - mass), width * (rows.high + mass))
            return stated(estimator, interval, whole, about, None if interval == NORMAL else (-width, width))

        wide = 1 + max(a.bound, b.bound)
        bet = estimates.betting(a.predictable - b.predictable, -wide, wide, self.confidence)
        doubt = a.doubt or b.doubt
        proved = f"not proved: {doubt}" if doubt else "proved, given the largest weights"
        bets = estimate("DR", BETTING, bet, proved)
        if self.adaptive or min(map(estimates.enough, (a, b))) < estimates.ENOUGH:
            return estimate(a.best, BETTING, bet, f"{proved}; the interval is that of DR", a.center - b.center), bets
        return estimate(
            "DR", NORMAL, estimates.normal(a.fitted - b.fitted, self.confidence), "approximate, paired"
        ), bets

    def differences(self) -> list[PolicyDifference]:
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
        about = (
            f"{self.num_rows:,} rows, {count_of(self.arms)}; the mean reward of the log is {self.log.headline.words}"
        )
        if self.policies[0].rows is None:
            return f"No propensities: only the direct method, whose error nothing bounds. {about}"
        about += ", written by a rule that learned" * self.adaptive + "; rewards are costs times -1" * self.costs
        wrong = any(p.headline.contradicted or (p.diagnostics and p.diagnostics.wrong) for p in self.policies)
        return f"Do not use these values: see the notes. {about}" if wrong else about

    def table(self) -> Table:
        """Return the table of values, one row for each policy."""
        sure = f"{percent(self.confidence)} interval"
        head = ("policy", "value", sure, "by", "betting", "ESS", "largest w", "mean w", "p")
        rows = []
        for p in self.policies:
            found = [p.name, *p.headline.cells, p.by]
            if p.diagnostics is not None and p.betting is not None:
                d = p.diagnostics
                weights = [f"{d.ess:.4g}", f"{d.largest_weight:.3g}", f"{d.mean_weight:.3f}", f"{d.p:.2g}"]
                found += [p.betting.cells[1], *weights]
            rows.append(found)
        width = max(map(len, rows))
        rows = [row + [""] * (width - len(row)) for row in rows]
        return Table(head[:width], rows, (1, *range(5, width)), caption="Values")

    def describe(self, *, detail: bool = False) -> Document:
        """Return what the evaluation shows."""
        differences, one = self.differences(), len(self.policies) == 1
        data: dict[str, Any] = {"schema": 1, "rows": self.num_rows, "num_arms": self.num_arms, "arms": list(self.arms)}
        data |= {name: getattr(self, name) for name in ("costs", "rewards", "confidence", "adaptive")}
        data |= {"log": self.log.headline.to_dict(), "policies": [p.to_json() for p in self.policies]}
        data |= {"differences": [d.to_json() for d in differences], "notes": self.notes}
        apart = Notes([] if self.policies[0].rows is None else list(map(str, differences)))
        blocks = [
            self.table(),
            apart,
            self.policies[0].table() if one else None,
            Notes(self.notes, "Notes  ", beside=True),
            Notes(self.assumptions, "Assumes", beside=True),
        ]
        if detail:
            facts = {"rows": f"{self.num_rows:,}", "arms": count_of(self.arms), "jaxbandit": __version__}
            facts["rewards"] = "{:g} to {:g}".format(*self.rewards)
            blocks = [
                Notes([f"{self.first_line}."]),
                Section("Values", [self._chart(), self.table(), Notes(self.notes)]),
                Section("Differences over the same rows", [apart]),
                Section("Diagnostics", [self._weights()]),
                Section("All estimates", [p.table() for p in self.policies]),
                Section("Assumptions, which nobody has checked", [Notes(self.assumptions)]),
                Section("How to read this page", [Notes(READING)]),
                Section("Provenance", [Facts(facts)]),
            ]
        return Document(self.first_line, blocks, data | {"assumptions": self.assumptions})

    def _chart(self) -> Chart:
        shown, curves = [*self.policies, self.log], []
        for order, (label, some) in enumerate((("policies", shown[:-1]), ("rewards as they were", shown[-1:]))):
            ends = ([getattr(p, end) for p in some] for end in ("value", "low", "high"))
            curves.append(Curve(label, order, [shown.index(p) for p in some], *ends))
        title, names = "Value of each policy with its interval", [p.name for p in shown]
        return Chart(title, "policy", "mean reward", curves, shape="marks", log_x=None, log_y=None, names=names)

    def _weights(self) -> Table | None:
        head = ("policy", "effective rows", "largest weight", "mean weight", "p", "share of the largest 1 %",
                "mass without support", "mass on arms never pulled")  # fmt: skip
        rows = [
            [p.name, f"{d.ess:,.4g}", f"{d.largest_weight:.3g}", f"{d.mean_weight:.4g}", f"{d.p:.2g}",
             f"{100 * d.top_share:.3g} %", "not known" if d.unsupported_mass is None else f"{d.unsupported_mass:.3g}",
             f"{d.never_pulled_mass:.3g}"]
            for p in self.policies if (d := p.diagnostics) is not None
        ]  # fmt: skip
        caption = "Diagnostics of the weights"
        return Table(head, rows, range(1, len(head)), caption=caption, notes=[WEIGHTS]) if rows else None
