"""What is known of the variants of a log, and the decision."""

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxbandit.decide.variants import guardrails
from jaxbandit.decide.variants.formats import ends, length_of, percent, with_sign
from jaxbandit.decide.variants.guardrails import Guardrail
from jaxbandit.decide.variants.page import sections
from jaxbandit.decide.variants.plans import Plan
from jaxbandit.decide.variants.segments import MANY, Segment
from jaxbandit.support.document import Block, Describable, Document, Notes, Section, Table, finite


@dataclass(frozen=True, eq=False)
class Variant:
    """What is known of a variant at present. Outcomes of 0 and 1 have rates, other outcomes means."""

    name: str
    visitors: int
    open: int  # visitors whose outcome may still change or is not known, and is not used for upper bounds
    mean: float  # or quantile, of visitors whose outcomes are final; one that is not known counts as the least value
    low: float  # interval of it, which holds for all variants and at all times at once; infinite if nothing is stated
    high: float
    pairs: int  # visitors, or groups of them if planned shares differ, that are compared with as many of the control
    difference: float  # mean minus that of the control, over the pairs; 0 for the control
    difference_low: float  # interval of the difference, for all variants and at all times; infinite as above
    difference_high: float
    lift: float  # the difference as a share of the control's mean, 0.05 is 5 %; NaN if that is not above 0
    lift_low: float  # interval of it, for all variants and at all times; infinite as above
    lift_high: float
    costs_at_most: float  # how much worse than the best variant it is at most, inf if nothing is known
    excluded: bool  # another variant is better for sure, at the stated level
    removed: bool
    stage: int  # 0: from the start; otherwise the number of the stage in which it entered
    entry: int  # row of its first visitor, from 0
    share: float  # of the next visitors
    path: np.ndarray  # float64[looks, 4]: pairs, and the difference with its interval at that time


@dataclass(frozen=True, eq=False)
class ABResult(Describable):
    """The decision between the variants of a log of visitors, and what it rests on; `str` returns it as text.

    `decision` is "ship" (another variant than the control), "keep" (the control) or "go on"; `choice` is the variant
    that costs at most `costs_at_most` against the best one, with probability at least 1 - delta, at this moment and at
    all others at which the log is looked at. The intervals of the means, those of the differences, those of the
    lifts, and the decision are four statements, each of which is true with probability at least 1 - delta. If there are
    `alerts`, nothing is decided.
    """

    variants: tuple[Variant, ...]
    control: str
    choice: str
    decision: str
    costs_at_most: float
    delta: float
    epsilon: float
    maximize: bool
    outcomes: str  # "0 or 1", "in [low, high]" or "numbers"
    statistic: str  # what is compared: "rate", "mean" or such as "0.9-quantile"
    alerts: tuple[str, ...]  # why nothing is decided: what contradicts the assumptions, or the plan of the split
    missing: str  # what has to come before anything is stated, "" if something is
    split_p: float | None  # p-value of the visitors' division if it is as planned; None if no shares were planned
    assumptions: tuple[str, ...]  # that nobody has checked
    notes: tuple[str, ...]
    metric: str  # the column that is compared
    variance_removed: float  # share of the variance that a covariate explains; NaN without one
    guardrails: tuple[Guardrail, ...]  # of each metric that must be kept, and each variant but the control
    other_metrics: tuple["ABResult", ...]  # the same for further metrics, from which nothing is decided
    segments: tuple[Segment, ...]  # differences within segments, from which nothing is decided
    plan: Plan | None  # how many visitors a test takes, if this was asked

    @property
    def shares(self) -> dict[str, float]:
        """What to show next: the share of the visitors of each variant."""
        return {v.name: v.share for v in self.variants}

    @property
    def the_control(self) -> str:
        """The control as it is called in a sentence."""
        return "the control" if self.control.lower() == "control" else f"the control {self.control}"

    @property
    def words(self) -> str:
        """The decision in a sentence or two, after what forbids one; or how long a test takes."""
        if self.plan is not None:
            return self._plan_in_words(self.plan)
        if self.alerts:
            return " ".join(f"{line[0].upper()}{line[1:]}." for line in (*self.alerts, "go on: nothing is decided"))
        sure = f"with probability at least {1 - self.delta:.4g}"
        cost = f"at most {self.amount(self.costs_at_most, above=True)} against the best variant, {sure}"
        why = f"{self.choice} is the best variant {sure}" if self.costs_at_most == 0 else f"this costs {cost}"
        own = [g for g in self.guardrails if g.variant == self.choice]
        open_ = [f"{g.words} ({ends(g.low, g.high, percent)})" for g in own if g.state != "kept"]
        match self.decision:
            case "ship":
                kept = ", ".join(g.words for g in own)
                return f"Ship {self.choice}: {why}{kept and f'; it keeps the guardrails ({kept})'}."
            case "keep":
                return f"Keep {self.the_control}: {why}."
        if math.isinf(self.costs_at_most):
            helps = "; a score_range, a cap or a quantile can say more" if self.statistic == "mean" else ""
            return f"Go on: too few to say: {self.missing}{helps}."
        if open_ and self.costs_at_most <= self.epsilon:
            return f"Go on: {why}, but it is not known yet whether it keeps the guardrails: {', '.join(open_)}."
        limit = f"{100 * self.epsilon:g} points" if self.is_rate else f"{self.epsilon:g}"  # as it was given
        limit = "1 point" if limit == "1 points" else limit
        needed = f"at most {limit}" if self.epsilon else "to know the best variant"
        return f"Go on. To choose {self.choice} now would cost {cost}; the decision needs {needed}."

    def _plan_in_words(self, plan: Plan) -> str:
        """Return how long a test takes, in two sentences."""
        size, base = self.amount(plan.effect, above=True), self.mean(plan.base)
        effect = f"an effect of {size} at the present {self.statistic} of {base}"
        if math.isinf(plan.visitors):
            return f"Plan: for {effect} more than {plan.longest:,} visitors are needed; no longer tests were simulated."
        often = f"{plan.nine_tenths:,.0f}" if math.isfinite(plan.nine_tenths) else f"more than {plan.longest:,}"
        kept = " and keeps the guardrails" if self.guardrails else ""
        words = f"Plan: for {effect} the test takes {plan.visitors:,.0f} visitors in all until it is decided{kept}"
        if math.isfinite(plan.time):
            unit = "days" if plan.in_days else "units of time"
            words += f", or {length_of(plan.time)} {unit} (in 9 of 10 tests {often}"
            words += f", or {length_of(plan.nine_tenths_time)} {unit})" if math.isfinite(plan.nine_tenths_time) else ")"
        else:
            words += f" (in 9 of 10 tests {often})"
        return f"{words}: the median of {plan.tests:,} tests that were simulated by this very rule."

    @property
    def is_rate(self) -> bool:
        """Whether outcomes are 0 or 1, so that means are rates and differences are points."""
        return self.statistic == "rate"

    def amount(self, value: float, *, above: bool = False, unit: bool = True) -> str:
        """Return a difference of means as text, in percentage points for rates; rounded up if `above`."""
        value = 100 * value if self.is_rate else value
        if not math.isfinite(value):
            return "?"
        places = 2 if self.is_rate else 3 - math.floor(math.log10(abs(value))) if value else 0
        if above:
            value = math.ceil(value * 10**places - 1e-9) / 10**places
        shown = f"{value:.{min(max(places, 0), 12)}f}"
        shown = shown.rstrip("0").rstrip(".") if above and "." in shown else shown
        return f"{shown} {'point' if shown == '1' else 'points'}" if self.is_rate and unit else shown

    def mean(self, value: float) -> str:
        """Return a mean as text, in percent if it is a rate."""
        if not math.isfinite(value):
            return "?"
        return f"{100 * value:.2f} %" if self.is_rate else f"{value:.4g}"

    def table(self, *, decides: bool = True) -> Table:
        """Return what is known of each variant; of a metric that does not decide, without what to show next."""
        sure = f"{100 * (1 - self.delta):.4g} % interval"
        apart = "difference, points" if self.is_rate else "difference"
        choice = ("costs at most", "next") if decides else ()
        head = ("variant", "visitors", "open", self.statistic, sure, *choice, apart, sure, "lift", sure, "pairs")
        rows = []
        for v in self.variants:
            amount = functools.partial(self.amount, unit=False)
            difference = ["control", "", "", "", ""]
            if v.name != self.control:
                apart = ends(v.difference_low, v.difference_high, amount)
                lifted = ends(v.lift_low, v.lift_high, percent)
                difference = [
                    with_sign(v.difference, amount),
                    apart,
                    with_sign(v.lift, percent),
                    lifted,
                    f"{v.pairs:,}",
                ]
            state = "removed" if v.removed else "excluded" if v.excluded else self.amount(v.costs_at_most, above=True)
            known = [self.mean(v.mean), ends(v.low, v.high, self.mean)]
            counts = [f"{v.visitors:,}", f"{v.open:,}"]
            rows.append([v.name, *counts, *known, *[state, f"{100 * v.share:.3g} %"][: len(choice)], *difference])
        caption = "Visitors, and what is known" + (f" of {self.metric}" if self.other_metrics else "")
        return Table(head, rows, range(1, len(head)), caption=caption)

    def more_blocks(self) -> list[Block | None]:
        """Return what is known of guardrails, of other metrics, and within segments."""
        found: list[Block | None] = [guardrails.table(self.guardrails, self.delta)]
        said = (*self.assumptions, *self.notes)
        for other in self.other_metrics:
            more = [f"nothing is stated yet: {other.missing}"] if other.missing else []
            more += [line for line in (*other.assumptions, *other.notes) if line not in said]
            blocks = [other.table(decides=False), Notes(more, "Assumes", beside=True)]
            found.append(Section(f"Of {other.metric}, which does not decide", blocks))
        return [*found, *self._of_segments()]

    def _of_segments(self) -> list[Block]:
        if not self.segments:
            return []
        looks, sure = len({(s.column, s.value) for s in self.segments}), f"{100 * (1 - self.delta):.4g} % interval"
        amount, rows = functools.partial(self.amount, unit=False), []
        for s in self.segments:
            apart, lift = ends(s.low, s.high, amount), ends(s.lift_low, s.lift_high, percent)
            shown = with_sign(s.difference, amount)
            rows.append([f"{s.column}: {s.value}", s.variant, f"{s.visitors:,}", shown, apart, lift])
        difference = "difference, points" if self.is_rate else "difference"
        head = ("segment", "variant", "visitors", difference, sure, "lift")
        said = MANY.format(delta=f"{self.delta:.3g}", looks=looks, chance=looks * self.delta)
        return [Table(head, rows, range(2, 6), labels=2, caption="Within segments"), Notes([f"{said}."])]

    def describe(self, *, detail: bool = False) -> Document:
        """Return what the result shows."""
        data: dict[str, Any] = {"schema": 1, "decision": self.decision, "choice": self.choice, "words": self.words}
        data |= {"alerts": self.alerts} | finite({"costs_at_most": self.costs_at_most})
        names = ("control", "delta", "epsilon", "maximize", "outcomes", "statistic", "missing", "split_p")
        data |= finite({"variance_removed": self.variance_removed})
        data |= {name: x for name in names if (x := getattr(self, name)) not in (None, "")}
        data["variants"] = [finite({k: x for k, x in vars(v).items() if k != "path"}) for v in self.variants]
        more = {
            "metric": self.metric if self.other_metrics or self.metric != "outcome" else "",
            "guardrails": [finite(vars(rail)) | {"state": rail.state} for rail in self.guardrails],
            "other_metrics": [other.to_json() for other in self.other_metrics],
            "plan": {} if self.plan is None else finite(vars(self.plan)),
            "segments": [finite(vars(segment)) for segment in self.segments],
        }
        data |= {name: x for name, x in more.items() if x} | {"assumptions": self.assumptions, "notes": self.notes}
        assumed, notes = Notes(self.assumptions, "Assumes", beside=True), Notes(self.notes, "Notes  ", beside=True)
        short = [self.table(), *self.more_blocks(), assumed, notes]
        return Document(self.words, sections(self) if detail else short, data)
