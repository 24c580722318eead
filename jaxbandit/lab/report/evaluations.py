"""The page of an off-policy evaluation: values with intervals, comparisons, diagnostics, and what is assumed."""

from jaxbandit.decide.logs.arms import count_of
from jaxbandit.decide.logs.evaluation import Evaluation
from jaxbandit.decide.logs.policy_value import PolicyValue, cells, percent
from jaxbandit.support.document import Chart, Curve, Document, Facts, Notes, Section, Table
from jaxbandit.support.version import __version__


def page_of(result: Evaluation, name: str) -> Document:
    """Return the report of an evaluation.

    Args:
      result: the evaluation.
      name: name of the log, for the title.
    """
    settings = {
        "rows": f"{result.num_rows:,}",
        "arms": count_of(result.arms),
        "rewards": "{:g} to {:g}".format(*result.rewards),
    }
    sections = [
        Section("Values", [_chart(result), _values(result), Notes(result.notes)]),
        Section("Differences", [_differences(result)]),
        Section("Diagnostics", [_diagnostics(result)]),
        Section("All estimates", [_estimates(p) for p in result.policies]),
        Section("Assumptions, which nobody has checked", [Notes(result.assumptions)]),
        Section("How to read this page", [Notes(_reading(result))]),
        Section("Provenance", [Facts(settings | {"jaxbandit": __version__})]),
    ]
    return Document(name, [Notes([f"{result.first_line}."]), *sections])


def _chart(result: Evaluation) -> Chart:
    shown = [*result.policies, result.log]
    curves = []
    for order, (label, some) in enumerate((("policies", shown[:-1]), ("rewards as they were", shown[-1:]))):
        ends = ([getattr(p, end) for p in some] for end in ("value", "low", "high"))
        curves.append(Curve(label, order, [shown.index(p) for p in some], *ends))
    title = "Value of each policy with its interval"
    names = [p.name for p in shown]
    return Chart(title, "policy", "mean reward", curves, shape="marks", log_x=None, log_y=None, names=names)


def _values(result: Evaluation) -> Table:
    head, rows = result.table()
    return Table(head, rows, right=(1, *range(5, len(head))), caption="Values")


def _differences(result: Evaluation) -> Table:
    found = [d for d in result.differences() if d.betting is not None]
    head = ("difference", "value", f"{percent(result.confidence)} interval", "by", "what it rests on")
    rows = []
    for d in found:
        e = d.headline
        by = f"{e.estimator}, {e.interval or 'no interval'}"
        rows.append((f"{d.policy} minus {d.other}", *cells(e.words), by, e.about))
    return Table(head, rows, right=(1,), caption="Differences over the same rows")


def _diagnostics(result: Evaluation) -> Table:
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
    foot = (
        "Right propensities look like these, or worse, with a probability of at most p, also with few rows and heavy "
        "weights. "
        "Few effective rows say that the policy is too far from the one that wrote the log."
    )
    return Table(head, rows, range(1, len(head)), caption="Diagnostics of the weights", notes=[foot])


def _estimates(policy: PolicyValue) -> Table:
    head, rows = policy.table()
    return Table(head, rows, right=(1,), caption=f"Estimates of {policy.name}")


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
