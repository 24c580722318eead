"""The page of an off-policy evaluation: values with intervals, comparisons, diagnostics, and what is assumed."""

from jaxbandit.decide.logs.arms import count_of
from jaxbandit.decide.logs.evaluation import Evaluation
from jaxbandit.decide.logs.policy_value import PolicyValue, cells, percent
from jaxbandit.lab.report import parts, provenance
from jaxbandit.lab.report.charts import Chart, Curve
from jaxbandit.lab.report.page import Page
from jaxbandit.support.markup import Html
from jaxbandit.support.version import __version__


def page_of(result: Evaluation, name: str) -> Page:
    """Return the page of an evaluation.

    Args:
      result: the evaluation.
      name: name of the log, for the title.
    """
    page = Page(name, [f"{result.first_line}."])
    page.add("Values", page.chart(_chart(result)), _values(result), parts.bullets(result.notes))
    page.add("Differences", _differences(result))
    page.add("Diagnostics", _diagnostics(result))
    page.add("All estimates", *(_estimates(p) for p in result.policies))
    page.add("Assumptions, which nobody has checked", parts.bullets(result.assumptions))
    page.add("How to read this page", parts.bullets(_reading(result)))
    settings = {
        "rows": f"{result.num_rows:,}",
        "arms": count_of(result.arms),
        "rewards": "{:g} to {:g}".format(*result.rewards),
    }
    page.add("Provenance", provenance.definitions(settings | {"jaxbandit": __version__}))
    return page


def _chart(result: Evaluation) -> Chart:
    shown = [*result.policies, result.log]
    curves = []
    for order, (label, some) in enumerate((("policies", shown[:-1]), ("rewards as they were", shown[-1:]))):
        ends = ([getattr(p, end) for p in some] for end in ("value", "low", "high"))
        curves.append(Curve(label, order, [shown.index(p) for p in some], *ends))
    title = "Value of each policy with its interval"
    names = [p.name for p in shown]
    return Chart(title, "policy", "mean reward", curves, shape="marks", log_x=None, log_y=None, names=names)


def _values(result: Evaluation) -> Html:
    head, rows = result.table()
    return parts.table("Values", head, rows, numbers=(1, *range(5, len(head))))


def _differences(result: Evaluation) -> Html | None:
    found = [d for d in result.differences() if d.betting is not None]
    if not found:
        return None
    head = ("difference", "value", f"{percent(result.confidence)} interval", "by", "what it rests on")
    rows = []
    for d in found:
        e = d.headline
        by = f"{e.estimator}, {e.interval or 'no interval'}"
        rows.append((f"{d.policy} minus {d.other}", *cells(e.words), by, e.about))
    return parts.table("Differences over the same rows", head, rows, numbers=(1,))


def _diagnostics(result: Evaluation) -> Html | None:
    head = ("policy", "effective rows", "largest weight", "mean weight", "p", "share of the largest 1 %",
            "mass without support", "mass on arms never pulled")  # fmt: skip
    rows = []
    for p in result.policies:
        d = p.diagnostics
        if d is not None:
            beyond = "not known" if d.unsupported_mass is None else f"{d.unsupported_mass:.3g}"
            rows.append((
                p.name, f"{d.ess:,.4g}", f"{d.largest_weight:.3g}", f"{d.mean_weight:.4g}", f"{d.p:.2g}",
                f"{100 * d.top_share:.3g} %", beyond, f"{d.never_pulled_mass:.3g}",
            ))  # fmt: skip
    if not rows:
        return None
    foot = (
        "Right propensities look like these, or worse, with a probability of at most p, also with few rows and heavy "
        "weights. "
        "Few effective rows say that the policy is too far from the one that wrote the log."
    )
    return parts.table("Diagnostics of the weights", head, rows, numbers=range(1, len(head)), foot=foot)


def _estimates(policy: PolicyValue) -> Html:
    head, rows = policy.table()
    return parts.table(f"Estimates of {policy.name}", head, rows, numbers=(1,))


def _reading(result: Evaluation) -> list[str]:
    sure = percent(result.confidence)
    return [
        f"The value of a policy is the mean reward that it would have had. A {sure} interval is for its policy alone; "
        "the value of the one that looks best of many is too large.",
        "DR is the doubly robust estimate, IPS inverse propensity scoring, SNIPS the same with weights that sum to 1, "
        "DM the direct method: a model alone.",
        "Normal intervals are approximate, and are dropped where few rows count or the log was written by a rule that "
        "learned. Betting intervals hold for every number of rows, if no weight exceeds the bound that is stated.",
    ]
