"""The command `ab`, which decides between the variants of a log of visitors."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, UseAppendAction, arg

from jaxbandit.lab.cli import streams
from jaxbandit.lab.cli.endings import bad_input


@dataclass(frozen=True)
class AB:
    """Decide between the variants of a log of visitors: ship one, keep the control, or go on. Look at any time."""

    log: Annotated[Positional[Path], arg(metavar="LOG")]
    """CSV file with a line of names and one row for each visitor, in the order of arrival."""
    control: str
    """The variant that is in use now."""
    variant: Annotated[str, arg(metavar="COLUMN")] = "variant"
    """Column with the variant of each visitor."""
    outcome: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="COLUMN")] = ()
    """Column with the outcomes: 0 and 1, yes and no, true and false, or numbers; empty if not known yet. Repeatable:
    the first one decides. Default: outcome."""
    guardrails: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="COLUMN=LIFT")] = ()
    """A metric that must be kept, and the lift that is still tolerated: revenue=-0.01 for 1 % less. Repeatable."""
    denominator: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="[OUTCOME=]COLUMN")] = ()
    """Column by which outcomes are divided, such as sessions: ratios of sums are compared. Repeatable."""
    covariate: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="[OUTCOME=]COLUMN")] = ()
    """Column with what is known from before the test; what it explains of outcomes is subtracted. Repeatable."""
    segment: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="COLUMN")] = ()
    """Column with segments, within which differences are shown. Repeatable."""
    time: Annotated[str | None, arg(metavar="COLUMN")] = None
    """Column with the times of the visitors, numbers or dates; the rows are sorted by it."""
    window: Annotated[str | None, arg(metavar="LENGTH")] = None
    """How long after a visit its outcome may still change: 7d, 12h, 30m or 90s, or a number if times are numbers."""
    now: Annotated[str | None, arg(metavar="TIME")] = None
    """The time at which the log was written; default: that of its last visitor."""
    block: Annotated[str | None, arg(metavar="COLUMN")] = None
    """Column with the block of each visitor, if each block has visitors of each variant in random order."""
    unit: Annotated[str | None, arg(metavar="COLUMN")] = None
    """Column that tells who a row is about, such as a user: one who has several rows counts once, by the first."""
    of_unit: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="[COLUMN=]HOW")] = ()
    """The outcome of a unit: the sum of those of its rows (default), whether any of them is not 0, or the last one.
    Repeatable, for each outcome."""
    visitors: Annotated[str | None, arg(metavar="COLUMN")] = None
    """Column with how many visitors a row stands for, in a table of counts."""
    conversions: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="COLUMN")] = ()
    """Column with how many of those visitors converted, in place of an outcome. Repeatable: the first one decides."""
    planned: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="VARIANT=SHARE")] = ()
    """The planned share of a variant. Repeatable; default: equal shares."""
    adaptive: bool = False
    """No shares were planned: they look at outcomes, as with a bandit."""
    delta: Annotated[float, arg(metavar="D")] = 0.05
    """Probability with which the decision may be wrong."""
    epsilon: Annotated[float, arg(metavar="E")] = 0.0
    """What the decision may cost, in units of an outcome: 0.005 is half a percentage point of a rate."""
    range: Annotated[tuple[float, float] | None, arg(metavar="LOW HIGH")] = None
    """The least and the largest possible outcome, if outcomes are not 0 and 1."""
    cap: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="[COLUMN=]C")] = ()
    """Larger outcomes count as this number, which is fixed before looking at the log. Repeatable, for each outcome."""
    quantile: Annotated[float | None, arg(metavar="P")] = None
    """Compare this quantile of the outcomes instead of their mean: 0.5 is the median."""
    minimize: bool = False
    """Smaller outcomes are better."""
    late: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="VARIANT")] = ()
    """A variant that was added after outcomes could have been looked at. Repeatable; default: what the log shows."""
    none_late: bool = False
    """The list of the variants was fixed before anybody looked at outcomes."""
    removed: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="VARIANT")] = ()
    """A variant that is no longer shown: it is not chosen. Repeatable."""
    growth: bool = False
    """It was said in advance that variants may be added."""
    plan: Annotated[float | None, arg(metavar="EFFECT")] = None
    """How many visitors does the test take if one variant is better by this, in units of an outcome?"""
    html: Annotated[Path | None, arg(metavar="FILE", aliases=("-o",))] = None
    """Also write a page of HTML, in one file. An existing report is replaced; any other file is kept, with an error."""
    json: bool = False
    """Print one JSON document instead of the text."""

    def __call__(self) -> int:
        """Decide, and print the result."""
        from jaxbandit.decide.core.goal import Goal
        from jaxbandit.decide.variants.ab import ab
        from jaxbandit.decide.variants.visitors import Columns
        from jaxbandit.support.refusals import refuse

        with bad_input():
            if self.late and self.none_late:
                refuse("--none-late", " says the opposite of --late; give one of them")
            if self.planned and self.adaptive:
                refuse("--adaptive", " says the opposite of --planned; give one of them")
            columns = {name: x for name in Columns._fields if (x := getattr(self, name)) not in (None, ())}
            for name in columns.keys() & {"denominator", "covariate"}:
                columns[name] = _of_metrics(f"--{name}", columns[name])
            result = ab(
                self.log,
                control=self.control,
                columns=columns,
                goal=Goal(
                    delta=self.delta,
                    epsilon=self.epsilon,
                    score_range=self.range,
                    quantile=self.quantile,
                    maximize=not self.minimize,
                ),
                guardrails=_numbers("--guardrails", self.guardrails, "a column and a lift, such as revenue=-0.01"),
                of_unit=_of_metrics("--of-unit", self.of_unit) or "sum",
                cap=_of_metrics("--cap", self.cap, number=True),
                planned="adaptive" if self.adaptive else _shares(self.planned) or "equal",
                window=self.window,
                now=self.now,
                late=() if self.none_late else self.late or None,
                removed=self.removed,
                growth=self.growth,
                plan=self.plan,
            )
            return streams.answer(result, f"A/B test: {self.log.name}", as_json=self.json, html=self.html)


def _shares(planned: tuple[str, ...]) -> dict[str, float]:
    """Return the share of each variant by its name; raise BadInput for what is not a name and a share."""
    allowed = "a variant and its share, such as B=0.05"
    return _numbers("--planned", planned, allowed, above=0.0)


def _numbers(option: str, given: tuple[str, ...], allowed: str, above: float = -math.inf) -> dict[str, float]:
    """Return numbers by name; raise BadInput for what is not a name and a number."""
    from jaxbandit.support.refusals import wrong

    numbers = {}
    for text in given:
        name, sign, number = text.rpartition("=")
        numbers[name] = _number(number) if sign else math.nan
        if not numbers[name] > above:
            wrong(option, text, allowed)
    return numbers


def _number(text: str) -> float:
    """Return a number, NaN for another text."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _of_metrics(option: str, given: tuple[str, ...], *, number: bool = False) -> Any:
    """Return what is given for all outcomes, or by the name of each; None if nothing is."""
    from jaxbandit.support.refusals import refuse, wrong

    pairs = [text.rpartition("=") for text in given]
    if not all(name for name, _, _ in pairs) and len(pairs) > 1:
        refuse(option, " is given several times; name the outcome of each, such as revenue=100")
    values = {name: _number(value) if number else value for name, _, value in pairs}
    for name, value in values.items():
        if value != value:
            wrong(
                option, given[list(values).index(name)], "a number, or an outcome and its number, such as revenue=100"
            )
    return values.get("", values or None)
