"""The sections of a page about the results of an experiment."""

from collections.abc import Iterator, Sequence

import numpy as np

from jaxbandit.base.contract import Outcome
from jaxbandit.lab.report import charts, comparisons, parts
from jaxbandit.lab.report.charts import Chart, Curve
from jaxbandit.lab.report.page import Page
from jaxbandit.running.plotting import figures, stopping_times, sweeps, theory
from jaxbandit.running.plotting.style import labels
from jaxbandit.running.results import names, report
from jaxbandit.running.results.base import Result
from jaxbandit.running.results.budget import BudgetResult
from jaxbandit.running.results.regret import RegretResult
from jaxbandit.running.results.stopping import QUANTILES, StoppingResult
from jaxbandit.support import text
from jaxbandit.support.markup import Html
from jaxbandit.theory import intervals

POINTS, FEWEST, ALL_POINTS = 200, 40, 3200  # of a curve at most and at least, and of all curves of one kind together
SHOWN_ARMS = 60
WORDS = {"regret": "Regret", "feedback": "Mean feedback per round", "hindsight": "Regret in hindsight"}


def add(page: Page, results: Sequence[Result], prefix: str = "", share: int = 1) -> None:
    """Add the sections of an experiment's results to a page.

    Args:
      page: the page.
      results: the results of one experiment.
      prefix: text with which the headings begin.
      share: number of experiments on the page, among which the number of drawn points is divided.
    """
    points = int(np.clip(ALL_POINTS // len(results) // share, FEWEST, POINTS))
    table = report.rows(results)
    main = parts.table(table.caption, table.head, table.rows, labels=table.labels, numbers=table.right)
    page.add(f"{prefix}Results", main, parts.bullets(table.notes), _kinds(results))
    swept = _sweeps(results)
    across = any(sweep.of_instances for sweep in swept)
    if across:
        pictures = [page.figure(figure) for _, figure in figures.drawn(results, points=points)]
        page.add(f"{prefix}Sweep", *_swept(page, swept), *pictures)
    for instance in dict.fromkeys(result.instance for result in results):
        some = [result for result in results if result.instance == instance]
        pictures = [] if across else [page.figure(figure) for _, figure in figures.drawn(some, points=points // 2)]
        show = {"simulate": _regret, "identify": _stopping, "budget": _budget}[some[0].kind]
        own = [] if across else _swept(page, _sweeps(some))
        page.add(prefix + instance, *show(page, some, points), *_pulls(page, some), *own, *pictures)
    page.add(f"{prefix}Paired differences", *comparisons.differences(results))
    page.add(f"{prefix}How runs ended", comparisons.outcomes(results))
    rounds = max((len(r.arrays["checkpoints"]) for r in results if r.kind == "simulate"), default=0)
    if rounds > points:
        page.notes.append(
            f"{prefix}Out of {rounds:,} checkpoints, {points} evenly spaced ones are drawn and tabulated."
        )
    runs = max(result.runs for result in results)
    if runs > points:
        page.notes.append(
            f"{prefix}Distributions of up to {runs:,} runs are drawn with {points} steps at evenly spaced levels."
        )


def _sweeps(results: Sequence[Result]) -> list[sweeps.Sweep]:
    if results[0].kind != "identify":
        return []
    return sweeps.sweeps([r for r in results if isinstance(r, StoppingResult) and len(r.samples())])


def _swept(page: Page, all_sweeps: Sequence[sweeps.Sweep]) -> Iterator[Html | None]:
    """Yield a chart and a table of the mean samples against each swept parameter."""
    for sweep in all_sweeps:
        curves = []
        for order, (label, points) in enumerate(sweep.curves.items()):
            means = [stopping_times.mean_of(result) for _, result in points]
            ends = ([getattr(mean, end) for mean in means] for end in ("value", "low", "high"))
            curves.append(Curve(label, order, [value for value, _ in points], *ends))
        title = f"Mean samples against {sweep.parameter}, with 95 % intervals"
        some = [result for points in sweep.curves.values() for _, result in points]
        note = (
            "If runs are censored, the mean is that of min(samples, max_rounds)."
            if any(r.censored for r in some)
            else ""
        )
        wide_x = charts.is_wide([v for curve in curves for v in curve.x])
        wide_y = charts.is_wide([v for curve in curves for v in curve.y])
        chart = Chart(title, sweep.parameter, "mean samples", curves, "marks", wide_x, wide_y)
        yield page.chart(chart, _curves_table(title, sweep.parameter, curves, note))


def _kinds(results: Sequence[Result]) -> Html | None:
    """Return a table of the rounds by kind for the algorithms that have kinds, or None."""
    with_kinds = [r for r in results if "rounds_by_kind" in r.content()] if results[0].kind == "simulate" else []
    rows = [
        (r.instance, name, kind, f"{share:.4f}")
        for name, r in zip(names.algorithms(with_kinds), with_kinds, strict=True)
        for kind, share in r.content()["rounds_by_kind"].items()
    ]
    if not rows:
        return None
    head = ("instance", "algorithm", "kind", "fraction of rounds")
    return parts.table("Rounds by kind", head, rows, labels=2, numbers=[3])


def _regret(page: Page, results: Sequence[RegretResult], points: int) -> Iterator[Html | None]:
    """Yield the curves of regret or feedback, of regret in hindsight and of metrics, and their final distributions."""
    named = labels(results)
    for what in results[0].curves:
        cells = [(i, r) for i, r in enumerate(results) if what in r.curves]
        curves = [charts.mean_curve(named[i], i, r, what, points) for i, r in cells if r.counted_in(what)]
        rounds = cells[0][1].arrays["checkpoints"]
        keep = charts.thinned(len(rounds), points)
        for _, label, bound, _ in theory.lines([r for _, r in cells], what, minimax=False):
            curves.append(Curve(label, None, rounds[keep], bound[keep]))
        changes = results[0].changes()
        note = f" Means change after rounds {', '.join(f'{c:,}' for c in changes)}." if changes else ""
        words = "Dynamic regret" if what == "regret" and results[0].moves else WORDS.get(what, what)
        title = f"{words}, mean of the runs with 95 % intervals"
        chart = Chart(title, "round", words.lower(), curves, log_x=charts.is_wide(rounds))
        yield page.chart(chart, parts.details(f"Table: {title.lower()}", _curves_table(title, "round", curves, note)))
        last = [(i, r) for i, r in cells if r.per_run(what) is not None and r.counted_in(what)]
        yield from _final(page, named, last, what, words.lower(), points) if last and what != "hindsight" else ()


def _curves_table(title: str, x: str, curves: Sequence[Curve], note: str = "") -> Html:
    """Return a table of all points of curves over a shared axis."""
    places = sorted({value for curve in curves for value in np.asarray(curve.x).tolist()})
    columns = [_by_place(curve) for curve in curves]
    rows = [(_place(place), *(column.get(place, "") for column in columns)) for place in places]
    head = (x, *(curve.label for curve in curves))
    return parts.table(title, head, rows, numbers=range(len(head)), foot=note.strip() or None)


def _place(place: float) -> str:
    return f"{place:,}" if isinstance(place, int) else f"{place:.6g}"


def _by_place(curve: Curve) -> dict[float, str]:
    ends = [curve.low, curve.high] if curve.low is not None and curve.high is not None else []
    columns = [np.asarray(column).tolist() for column in (curve.x, curve.y, *ends)]
    return {place: text.with_interval(*numbers) for place, *numbers in zip(*columns, strict=True)}


def _final(
    page: Page, named: Sequence[str], cells: Sequence[tuple[int, RegretResult]], what: str, words: str, points: int
) -> Iterator[Html | None]:
    """Yield the distribution over runs of a curve at the horizon."""
    values = {i: (r.per_run(what), r.counts(what)) for i, r in cells}
    last = {i: x[counts, -1].astype(np.float64) for i, (x, counts) in values.items() if x is not None}
    curves = [charts.ecdf(named[i], i, values, len(values), points) for i, values in last.items()]
    horizon = int(cells[0][1].arrays["checkpoints"][-1])
    title = f"Distribution over runs of {words} after {horizon:,} rounds"
    rows = []
    for i, values in last.items():
        ordered = np.sort(values)
        marks = [ordered[max(int(np.ceil(q * len(ordered) - 1e-9)), 1) - 1] for q in QUANTILES.values()]
        limits = [_ends(ordered, q) for q in QUANTILES.values()]
        shown = [f"{value:,.4g} {_between(*ends, style=',.4g')}" for value, ends in zip(marks, limits, strict=True)]
        rows.append((named[i], f"{ordered[0]:,.4g}", *shown, f"{ordered[-1]:,.4g}", f"{len(ordered):,}"))
    head = ("algorithm", "smallest", *(f"{100 * q:g} %" for q in QUANTILES.values()), "largest", "runs")
    note = "The 95 % interval of a quantile is between two of the runs; ? is an end for which there are too few."
    quantiles = parts.table(f"{title}: quantiles", head, rows, numbers=range(1, len(head)), foot=note)
    yield page.chart(Chart(title, words, "fraction of runs", curves, shape="step", log_y=None), quantiles)


def _ends(ordered: np.ndarray, level: float) -> tuple[float | None, float | None]:
    """Return the 95 % interval of a quantile of sorted values; None for an end for which there are too few."""
    low, high = intervals.quantile_ranks(level, len(ordered))
    return ordered[low - 1] if low else None, ordered[high - 1] if high <= len(ordered) else None


def _stopping(page: Page, results: Sequence[StoppingResult], points: int) -> Iterator[Html | None]:
    """Yield the distribution of the stopping times, and the error rates beside delta."""
    named = labels(results)
    cells = [(i, r) for i, r in enumerate(results) if len(r.samples())]
    curves = [charts.stopping_curve(named[i], i, r, points) for i, r in cells]
    wide = charts.is_wide(np.concatenate([np.maximum(r.samples(), 1.0) for _, r in cells])) if cells else False
    title = "Fraction of runs that have stopped after n samples, with 95 % intervals"
    rows = []
    for i, r in cells:
        marks = [r.quantile(level) for level in QUANTILES.values()]
        beyond = f"> {r.max_rounds:,}"
        limits = [r.quantile_interval(level) for level in QUANTILES.values()]
        shown = [beyond if mark is None else f"{mark:,}" for mark in marks]
        quantiles = [
            f"{mark} {_between(*ends, beyond * bool(r.censored))}" for mark, ends in zip(shown, limits, strict=True)
        ]
        mean = text.number(float(r.samples().mean()))
        if len(r.samples()) > 1:
            mean = text.with_interval(*(float(r.restricted_mean()[k]) for k in (0, 2, 3)))
        bound = r.lower_bound()
        censored = f"{r.censored:,} of {r.runs:,}"
        least = "" if bound is None else text.number(bound)
        rows.append((named[i], "> " * (r.censored > 0) + mean, *quantiles, censored, least))
    head = ("algorithm", "mean [95 %]", *(f"{100 * q:g} %" for q in QUANTILES.values()), "censored", "lower bound")
    note = "A run that reached max_rounds is censored: quantiles are Kaplan-Meier estimates, and a mean after > is "
    note += (
        "that of min(samples, max_rounds). The 95 % interval of a quantile is between two of the runs; ? is an end for "
    )
    note += "which there are too few. The lower bound is on the mean of any delta-correct algorithm."
    times = parts.table("Stopping times: mean and quantiles", head, rows, numbers=range(1, len(head)), foot=note)
    yield page.chart(Chart(title, "samples", "fraction of runs", curves, shape="step", log_x=wide, log_y=None), times)
    yield _errors(named, results)


def _between(low: float | None, high: float | None, beyond: str = "", style: str = ",") -> str:
    """Return the interval of a quantile as text; `beyond` is its upper end if it is unknown because of censoring."""
    return f"[{'?' if low is None else f'{low:{style}}'}, {beyond or '?' if high is None else f'{high:{style}}'}]"


def _errors(named: Sequence[str], results: Sequence[StoppingResult]) -> Html | None:
    rows = []
    for name, result in zip(named, results, strict=True):
        error, delta = result.error(), result.guarantee.get("delta")
        if error is None:
            continue
        verdict = ""
        if delta is not None:
            verdict = "above" if error.low > delta else "below" if error.high <= delta else "undecided"
        stopped = int(result.ended(Outcome.STOPPED).sum())
        wrong = round(error.value * stopped)
        interval = f"[{error.low:.4f}, {error.high:.4f}]"
        rows.append((name, f"{wrong:,} of {stopped:,}", f"{error.value:.4f}", interval, result.promised, verdict))
    if not rows:
        return None
    head = ("algorithm", "errors", "error rate", "95 % interval", "delta", "rate against delta")
    note = "Rates are over the runs that stopped. Each verdict uses the Clopper-Pearson interval of its row alone."
    return parts.table("Error rate compared with delta", head, rows, numbers=[1, 2, 3, 4], foot=note)


def _budget(page: Page, results: Sequence[BudgetResult], points: int) -> Iterator[Html | None]:
    """Yield the error rate and the simple regret against the budget."""
    named = names.algorithms(results, but="budget")
    order = {name: i for i, name in enumerate(dict.fromkeys(named))}
    for what, words in (("error", "error rate"), ("simple_regret", "simple regret")):
        curves = []
        for name, i in order.items():
            of = [(r.budget, getattr(r, what)()) for n, r in zip(named, results, strict=True) if n == name]
            pairs = sorted((pair for pair in of if pair[1] is not None), key=lambda pair: pair[0])
            ends = ([getattr(value, end) for _, value in pairs] for end in ("value", "low", "high"))
            curves.append(Curve(name, i, [budget for budget, _ in pairs], *ends))
        if not any(len(curve.x) for curve in curves):
            continue
        title = f"{words.capitalize()} against the budget, with 95 % intervals"
        wide = charts.is_wide([r.budget for r in results])
        chart = Chart(title, "budget (number of pulls)", words, curves, shape="marks", log_x=wide)
        yield page.chart(chart, _curves_table(title, "budget", [curve for curve in curves if len(curve.x)]))


def _pulls(page: Page, results: Sequence[Result]) -> Iterator[Html | None]:
    """Yield the mean pulls by arm; of many arms, only those that were pulled most."""
    all_pulls = [charts.mean_pulls(result) for result in results]
    known = [(i, name, pulls) for i, (name, pulls) in enumerate(zip(labels(results), all_pulls, strict=True)) if pulls]
    sizes = {len(pulls[0]) for _, _, pulls in known}
    if len(sizes) != 1 or results[0].kind == "budget":
        return
    (count,) = sizes
    arms = np.arange(count)
    if count > SHOWN_ARMS:
        most = np.max([pulls[0] for _, _, pulls in known], axis=0)
        arms = np.sort(np.argsort(-most, kind="stable")[:SHOWN_ARMS])
        page.notes.append(
            f"{results[0].instance}: out of {count:,} arms, the {SHOWN_ARMS} that were pulled most are shown."
        )
    truth = results[0].truth
    means = results[0].means() if isinstance(results[0], StoppingResult) else truth.get("means")
    means = means if means is not None and len(means) == count else None
    place = np.arange(len(arms))
    curves = []
    for k, (i, name, pulls) in enumerate(known):
        mean, low, high = (column[arms] for column in pulls)
        x = place + (k - (len(known) - 1) / 2) * min(0.12, 0.7 / len(known))
        curves.append(Curve(name, i, x, mean, low, high) if np.isfinite(low).any() else Curve(name, i, x, mean))
    ordered = "sorted_means" in truth
    title = "Mean pulls by arm with 95 % intervals"
    about = ["position of the arm" if ordered else "arm", *(["mean reward"] if means is not None else [])]
    head = [*about, *(curve.label for curve in curves)]
    cells = [list(_by_place(curve).values()) for curve in curves]
    rows = []
    for k, arm in enumerate(arms.tolist()):
        true_mean = [] if means is None else [f"{means[arm]:.6g}"]
        rows.append((str(arm), *true_mean, *(column[k] for column in cells)))
    named = [f"{arm}" for arm in arms.tolist()]
    wide = charts.is_wide([value for curve in curves for value in np.asarray(curve.y).tolist() if value > 0])
    chart = Chart(title, head[0], "pulls", curves, shape="marks", log_x=None, log_y=wide, names=named)
    below = parts.table(title, head, rows, numbers=range(len(head)))
    yield page.chart(chart, below if len(arms) <= 12 else parts.details(f"Table: {title.lower()}", below))
