"""The page of a decision between variants of a log of visitors, for whoever decides."""

import numpy as np

from jaxbandit.decide.variants.result import ABResult, Variant
from jaxbandit.lab.report import charts, parts, provenance
from jaxbandit.lab.report.charts import Chart, Curve
from jaxbandit.lab.report.page import Page
from jaxbandit.support.markup import Html, tag
from jaxbandit.support.version import __version__

POINTS = 150  # of a curve
EARLY = 30  # the first part of the pairs, one in 30, is not drawn: its intervals are too wide to show the others
DRAWN = 6  # variants in the chart of differences


def page_of(result: ABResult, name: str) -> Page:
    """Return the page of a decision.

    Args:
      result: the decision.
      name: name of the log, for the title.
    """
    visitors = sum(v.visitors for v in result.variants)
    page = Page(name, [f"{len(result.variants)} variants, {visitors:,} visitors. The control is {result.control}."])
    page.add("Decision", tag("p", tag("strong", result.words)), *_next(result))
    page.add("Variants", page.chart(_means(result)), _variants(result))
    page.add(f"Difference from the control {result.control}", *_differences(page, result))
    page.add("Assumptions, which nobody has checked", parts.bullets(result.assumptions))
    page.add("Notes", parts.bullets(result.notes))
    page.add("How to read this page", parts.bullets(_reading(result)))
    settings = {"delta": result.delta, "epsilon": result.epsilon, "outcomes": result.outcomes}
    if result.split_p is not None:
        settings["p-value of the split"] = f"{result.split_p:.2g}"
    better = {"better": "larger outcomes" if result.maximize else "smaller outcomes", "jaxbandit": __version__}
    page.add("Provenance", provenance.definitions(settings | better))
    return page


def _next(result: ABResult) -> list[Html | None]:
    shown = ", ".join(f"{v.name} to {100 * v.share:.3g} %" for v in result.variants if v.share)
    lines = [f"Show next: {shown} of the visitors."]
    lines += [
        f"{v.name} is worse than another variant, and gets no more visitors." for v in result.variants if v.excluded
    ]
    lines += [f"{v.name} was removed, and cannot be chosen." for v in result.variants if v.removed]
    return [tag("p", lines[0]), parts.bullets(lines[1:])]


def _scale(result: ABResult) -> float:
    return 100.0 if result.outcomes == "0 or 1" else 1.0


def _means(result: ABResult) -> Chart:
    scale, curves = _scale(result), []
    for order, (label, control) in enumerate((("variants", False), ("control", True))):
        some = [(i, v) for i, v in enumerate(result.variants) if (v.name == result.control) == control]
        ends = ([scale * getattr(v, end) for _, v in some] for end in ("mean", "low", "high"))
        curves.append(Curve(label, order, [i for i, _ in some], *ends))
    what = "rate, %" if scale == 100 else f"{result.statistic} of outcomes"
    title = f"{result.statistic.capitalize()} of each variant with its interval"
    names = [v.name for v in result.variants]
    return Chart(title, "variant", what, curves, shape="marks", log_x=None, log_y=None, names=names)


def _variants(result: ABResult) -> Html:
    head = ("variant", "visitors", "open", result.statistic, _sure(result), "costs at most", "next")
    rows = []
    for v in result.variants:
        cost = "excluded" if v.excluded else result.amount(v.costs_at_most, above=True)
        share = "removed" if v.removed else f"{100 * v.share:.3g} %"
        rows.append((
            v.name + " (control)" * (v.name == result.control), f"{v.visitors:,}", f"{v.open:,}", result.mean(v.mean),
            result.ends(v.low, v.high), cost, share,
        ))  # fmt: skip
    return parts.table("Visitors, and what is known of each variant", head, rows, numbers=range(1, 7))


def _differences(page: Page, result: ABResult) -> list[Html | None]:
    scale, others = _scale(result), [v for v in result.variants if v.name != result.control]
    curves = []
    for order, v in enumerate(others[:DRAWN]):
        path = v.path[v.path[:, 0] >= v.pairs / EARLY]
        path = path[np.isfinite(path).all(axis=1)]
        if len(path):
            path = path[charts.thinned(len(path), POINTS)]
            curves.append(Curve(v.name, order, path[:, 0], *(scale * path[:, 1:]).T))
    if len(others) > DRAWN:
        page.notes.append(f"Of {len(others)} differences from the control, the first {DRAWN} are drawn.")
    unit = "points" if scale == 100 else "outcome"
    if curves:
        ends = [min(c.x[0] for c in curves), max(c.x[-1] for c in curves)]
        curves.append(Curve("no difference", None, ends, [0.0, 0.0]))
    title = "Difference from the control, with its interval, as visitors came"
    chart = Chart(title, "pairs of visitors", f"difference, {unit}", curves)
    head = ("variant", f"difference, {unit}", _sure(result), "pairs")
    rows = [_difference(result, v) for v in others]
    foot = (
        "A pair has one visitor of the variant and one of the control, or several of one of them if the planned shares "
        "are not equal. Visitors without a partner are not compared, and neither are open ones."
    )
    return [page.chart(chart), parts.table("Differences from the control", head, rows, numbers=range(1, 4), foot=foot)]


def _difference(result: ABResult, v: Variant) -> tuple[str, ...]:
    sign = "+" if v.difference > 0 else ""
    interval = result.ends(v.difference_low, v.difference_high, difference=True)
    return (v.name, f"{sign}{result.amount(v.difference, unit=False)}", interval, f"{v.pairs:,}")


def _sure(result: ABResult) -> str:
    return f"{100 * (1 - result.delta):g} % interval"


def _reading(result: ABResult) -> list[str]:
    sure = f"{1 - result.delta:g}"
    return [
        "You may look at any time, as often as you like, and stop because of what you see: everything here is true at "
        "all times at once, unless the notes say that the rows have no order.",
        "\u201cCosts at most\u201d is how much worse than the best of all variants one can be, if it is chosen.",
        f"Three statements are made, each true with probability at least {sure}: the decision with all costs; the "
        "intervals of all variants; and the intervals of all differences. An interval of a difference is not the "
        "difference of two intervals, and is shorter.",
        "Open visitors came too recently, or have no outcome yet. No statement counts them as failures.",
    ]
