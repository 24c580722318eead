"""What is known of the variants of a log, and the decision."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxbandit.support import text
from jaxbandit.support.markup import html_table, view


@dataclass(frozen=True, eq=False)
class Variant:
    """What is known of a variant at present. Outcomes of 0 and 1 have rates, other outcomes means."""

    name: str
    visitors: int
    open: int  # visitors whose outcome may still change or is not known, and is not used for upper bounds
    mean: (
        float  # or quantile, of the visitors whose outcomes are final; one that is not known counts as the least value
    )
    low: float  # interval of it, which holds for all variants and at all times at once; infinite if nothing is stated
    high: float
    pairs: int  # visitors, or groups of them if planned shares differ, that are compared with as many of the control
    difference: float  # mean minus that of the control, over the pairs; 0 for the control
    difference_low: float  # interval of the difference, for all variants and at all times; infinite as above
    difference_high: float
    costs_at_most: float  # how much worse than the best variant it is at most, inf if nothing is known
    excluded: bool  # another variant is better for sure, at the stated level
    removed: bool
    stage: int  # 0: from the start; otherwise the number of the stage in which it entered
    entry: int  # row of its first visitor, from 0
    share: float  # of the next visitors
    path: np.ndarray  # float64[looks, 4]: pairs, and the difference with its interval at that time


@dataclass(frozen=True, eq=False)
class ABResult:
    """The decision between the variants of a log of visitors, and what it rests on; `str` returns it as text.

    `decision` is "ship" (another variant than the control), "keep" (the control) or "go on"; `choice` is the variant
    that costs at most `costs_at_most` against the best one, with probability at least 1 - delta, at this moment and at
    all others at which the log is looked at. The intervals of the means, those of the differences, and the decision are
    three statements, each of which is true with probability at least 1 - delta. If there are `alerts`, nothing is
    decided.
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

    @property
    def shares(self) -> dict[str, float]:
        """What to show next: the share of the visitors of each variant."""
        return {v.name: v.share for v in self.variants}

    @property
    def words(self) -> str:
        """The decision in a sentence or two, after what forbids one."""
        if self.alerts:
            return " ".join(f"{line[0].upper()}{line[1:]}." for line in (*self.alerts, "go on: nothing is decided"))
        sure = f"with probability at least {1 - self.delta:g}"
        cost = f"at most {self.amount(self.costs_at_most, above=True)} against the best variant, {sure}"
        why = f"{self.choice} is the best variant {sure}" if self.costs_at_most == 0 else f"this costs {cost}"
        match self.decision:
            case "ship":
                return f"Ship {self.choice}: {why}."
            case "keep":
                return f"Keep the control {self.choice}: {why}."
        if math.isinf(self.costs_at_most):
            helps = "; outcome_range=, cap= or quantile= can say more" if self.statistic == "mean" else ""
            return f"Go on: too few to say: {self.missing}{helps}."
        needed = f"at most {self._limit}" if self.epsilon else "to know the best variant"
        return f"Go on. To choose {self.choice} now would cost {cost}; the decision needs {needed}."

    @property
    def _limit(self) -> str:
        """Return epsilon as text, as it was given."""
        if self.outcomes != "0 or 1":
            return f"{self.epsilon:g}"
        points = f"{100 * self.epsilon:g}"
        return f"{points} point{'s' * (points != '1')}"

    def amount(self, value: float, *, above: bool = False, unit: bool = True) -> str:
        """Return a difference of means as text, in percentage points for rates; rounded up if `above`."""
        binary = self.outcomes == "0 or 1"
        value = 100 * value if binary else value
        if not math.isfinite(value):
            return "?"
        places = 2 if binary else 3 - math.floor(math.log10(abs(value))) if value else 0
        if above:
            value = math.ceil(value * 10**places - 1e-9) / 10**places
        shown = f"{value:.{min(max(places, 0), 12)}f}"
        shown = shown.rstrip("0").rstrip(".") if above and "." in shown else shown
        return f"{shown} {'point' if shown == '1' else 'points'}" if binary and unit else shown

    def mean(self, value: float) -> str:
        """Return a mean as text, in percent if it is a rate."""
        if not math.isfinite(value):
            return "?"
        return f"{100 * value:.2f} %" if self.outcomes == "0 or 1" else f"{value:.4g}"

    def ends(self, low: float, high: float, *, difference: bool = False) -> str:
        """Return an interval of a mean or of a difference as text; "?" if nothing is stated."""
        if not (math.isfinite(low) or math.isfinite(high)):
            return "?"
        shown = [self.amount(x, unit=False) if difference else self.mean(x) for x in (low, high)]
        return " to ".join(shown)

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and rows of a table of the variants."""
        sure, binary = f"{100 * (1 - self.delta):g} % interval", self.outcomes == "0 or 1"
        head = ["variant", "visitors", "open", self.statistic, sure,
                "difference, points" if binary else "difference", sure, "pairs", "costs at most", "next"]  # fmt: skip
        rows = []
        for v in self.variants:
            control = v.name == self.control
            amount = self.amount(v.difference, unit=False)
            signed = amount if control or v.difference < 0 or amount == "?" else f"+{amount}"
            state = "removed" if v.removed else "excluded" if v.excluded else self.amount(v.costs_at_most, above=True)
            rows.append([
                v.name, f"{v.visitors:,}", f"{v.open:,}", self.mean(v.mean),
                self.ends(v.low, v.high), "control" if control else signed,
                "" if control else self.ends(v.difference_low, v.difference_high, difference=True),
                "" if control else f"{v.pairs:,}", state,
                f"{100 * v.share:.3g} %",
            ])  # fmt: skip
        return head, rows

    def __str__(self) -> str:
        head, rows = self.rows()
        lines = [text.wrapped("Assumes", *self.assumptions)]
        lines += [text.wrapped("Notes  ", *self.notes)] if self.notes else []
        table = text.align([head, *rows], right=range(1, len(head)), keys=1)
        return "\n\n".join([text.printable(self.words), table, *map(_printable_lines, lines)])

    def _repr_html_(self) -> str:
        head, rows = self.rows()
        table = html_table(head, rows, right=range(1, len(head)))
        return view(self.words, table, notes=[*self.notes, *(f"assumes that {line}" for line in self.assumptions)])

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data; what is not known is absent."""
        content: dict[str, Any] = {"schema": 1, "decision": self.decision, "choice": self.choice, "words": self.words}
        content |= {"alerts": list(self.alerts)} | _finite({"costs_at_most": self.costs_at_most})
        names = ("control", "delta", "epsilon", "maximize", "outcomes", "statistic", "missing", "split_p")
        content |= {name: x for name in names if (x := getattr(self, name)) not in (None, "")}
        variants = []
        for v in self.variants:
            entry = {name: value for name, value in vars(v).items() if name != "path"}
            variants.append(_finite(entry))
        return content | {"variants": variants, "assumptions": list(self.assumptions), "notes": list(self.notes)}


def _finite(entries: dict[str, Any]) -> dict[str, Any]:
    return {name: x for name, x in entries.items() if not isinstance(x, float) or math.isfinite(x)}


def _printable_lines(lines: str) -> str:
    return "\n".join(map(text.printable, lines.split("\n")))
