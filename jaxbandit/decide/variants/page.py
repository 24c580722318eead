"""The page on an A/B test for whoever decides: the verdict, why, what was checked, and what could not be."""

from typing import Any

import numpy as np

from jaxbandit.decide.variants.formats import ends, percent, with_sign
from jaxbandit.decide.variants.remarks import ENDED
from jaxbandit.support.document import Block, Chart, Curve, Facts, Notes, Section, even_positions
from jaxbandit.support.version import __version__

POINTS = 150  # of a curve
EARLY = 30  # the first part of the pairs, one in 30, is not drawn: its intervals are too wide to show the others
DRAWN = 6  # variants in the chart of differences
PAIR = (
    "A pair has one visitor of the variant and one of the control, or several of one of them if the planned shares are "
    "not equal. Visitors without a partner are not compared, and neither are open ones."
)
READING = (
    "You may look at any time, as often as you like, and stop because of what you see: everything here is true at all "
    "times at once, unless the notes say that the rows have no order.",
    "\u201cCosts at most\u201d is how much worse than the best of all variants one can be, if it is chosen.",
    "Four statements are made, each true with probability at least 1 - delta: the decision with all costs; the "
    "intervals of all variants; those of all differences; and those of all lifts, which are differences in percent of "
    "the control's mean. An interval of a difference is not the difference of two intervals, and is shorter.",
    "Open visitors came too recently, or have no outcome yet. No statement counts them as failures.",
)


def sections(result: Any) -> list[Block]:
    """Return the page of an `ABResult`."""
    visitors, better = sum(v.visitors for v in result.variants), "larger" if result.maximize else "smaller"
    facts = {"delta": result.delta, "epsilon": result.epsilon, "outcomes": result.outcomes}
    facts |= {} if result.split_p is None else {"p-value of the split": f"{result.split_p:.2g}"}
    more, table = result.more_blocks(), result.table()._replace(notes=[PAIR])
    return [
        Notes([f"{len(result.variants)} variants, {visitors:,} visitors.{_control(result)}"]),
        Section("Decision", [Notes([result.words]), *_next(result)]),
        Section("Why", [Notes(_why(result))]),
        Section("What was checked", [Notes([f"{what}: {how}." for what, how in _checks(result).items()])]),
        Section("What could not be checked", [Notes(result.assumptions)]),
        Section("Variants", [_means(result), table]),
        Section(f"Difference from {result.the_control}", _differences(result)),
        *([Section("Guardrails, other metrics and segments", more)] if any(more) else []),
        Section("Notes", [Notes(result.notes)]),
        Section("How to read this page", [Notes(READING)]),
        Section("Provenance", [Facts(facts | {"better": f"{better} outcomes", "jaxbandit": __version__})]),
    ]


def _control(result: Any) -> str:
    """Return which variant is the control, unless its name says it."""
    return "" if result.the_control == "the control" else f" The control is {result.control}."


def _next(result: Any) -> list[Block]:
    """Return what to show next, unless the test has not begun."""
    shown = ", ".join(f"{v.name} to {100 * v.share:.3g} %" for v in result.variants if v.share)
    return [Notes([f"Show next: {shown} of the visitors."])] if len(result.variants) > 1 else []


def _why(result: Any) -> list[str]:
    """Return what the decision rests on, a sentence for each variant."""
    lines, harmful = [], {rail.variant: rail.words for rail in result.guardrails if rail.state == "broken"}
    means = {v.name: result.mean(v.mean) for v in result.variants}
    for v in result.variants:
        if v.name == result.control:
            continue
        line = f"{v.name} has {means[v.name]}, {result.the_control} {means[result.control]}"
        lift = ends(v.lift_low, v.lift_high, percent)
        open_ = "its interval is not known yet" if not result.alerts else "of which no interval is stated"
        known = open_ if lift == "?" else f"with the interval {lift}"
        lines.append(f"{line}: a lift of {with_sign(v.lift, percent)}, {known}.")
        if v.name in harmful:
            lines.append(f"{v.name} does not keep a guardrail ({harmful[v.name]}), and gets no more visitors.")
        elif v.excluded:
            lines.append(f"{v.name} is worse than another variant, and gets no more visitors.")
    lines += [f"T{result.the_control[1:]} is worse than another variant." for v in result.variants
              if v.excluded and v.name == result.control]  # fmt: skip
    return lines + [f"{v.name} was removed, and cannot be chosen." for v in result.variants if v.removed]


def _checks(result: Any) -> dict[str, str]:
    """Return what was tested, and with which result."""
    changed = [line for line in result.notes if "changed over time" in line]
    order = "yes, or nothing speaks against it" if ENDED not in result.assumptions else "no: see the notes"
    split = "not tested, because no shares were planned"
    if result.split_p is not None:
        split = f"{'yes' if result.split_p >= 1e-3 else 'no'} (p = {result.split_p:.2g})"
    return {
        "Visitors were divided as planned": split,
        "Rows are in the order of arrival": order,
        "Differences stay the same over time": "no: see the notes" if changed else "nothing speaks against it",
        "The data contradict an assumption": "yes: see the decision" if result.alerts else "no",
        "Outcomes that are still open": f"{sum(v.open for v in result.variants):,}",
    }


def _means(result: Any) -> Chart:
    scale, curves = 100 if result.is_rate else 1, []
    for order, (label, control) in enumerate((("variants", False), ("control", True))):
        some = [(i, v) for i, v in enumerate(result.variants) if (v.name == result.control) == control]
        three = ([scale * getattr(v, end) for _, v in some] for end in ("mean", "low", "high"))
        curves.append(Curve(label, order, [i for i, _ in some], *three))
    title = f"{result.statistic.capitalize()} of each variant with its interval"
    y, names = "rate, %" if result.is_rate else f"{result.statistic} of outcomes", [v.name for v in result.variants]
    return Chart(title, "variant", y, curves, shape="marks", log_x=None, log_y=None, names=names)


def _differences(result: Any) -> list[Block]:
    others, curves = [v for v in result.variants if v.name != result.control], []
    for order, v in enumerate(others[:DRAWN]):
        path = v.path[(v.path[:, 0] >= v.pairs / EARLY) & np.isfinite(v.path).all(axis=1)]
        path = path[even_positions(len(path), POINTS)] * [1, *[100 if result.is_rate else 1] * 3]
        if len(path):
            curves.append(Curve(v.name, order, *path.T))
    if curves:
        both = [min(c.x[0] for c in curves), max(c.x[-1] for c in curves)]
        curves.append(Curve("no difference", None, both, [0.0, 0.0]))
    title = "Each difference with its interval, as visitors came"
    chart = Chart(title, "pairs of visitors", f"difference, {'points' if result.is_rate else 'outcome'}", curves)
    drawn = f"Of {len(others)} differences from the control, the first {DRAWN} are drawn."
    return [chart, Notes([drawn] if len(others) > DRAWN else [])]
