"""The sections of a report about the results of an experiment."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxbandit.lab.report import charts, comparisons
from jaxbandit.running.plotting import figures, stopping_times, sweeps, theory
from jaxbandit.running.plotting.style import labels
from jaxbandit.running.results import names, report
from jaxbandit.running.results.base import Result
from jaxbandit.running.results.budget import BudgetResult
from jaxbandit.running.results.regret import RegretResult
from jaxbandit.running.results.stopping import QUANTILES, StoppingResult
from jaxbandit.support import text
from jaxbandit.support.document import Block, Chart, Curve, Figure, Notes, Section, Table, even_positions, fold, is_wide
from jaxbandit.theory import intervals

POINTS, FEWEST, ALL_POINTS = 200, 40, 3200  # of a curve at most and at least, and of all curves of one kind together
SHOWN_ARMS = 60
WORDS = {"regret": "Regret", "feedback": "Mean feedback per round", "hindsight": "Regret in hindsight"}
LEVELS = tuple(f"{100 * q:g} %" for q in QUANTILES.values())
CENSORED = (
    "A run that reached max_rounds is censored: quantiles are Kaplan-Meier estimates, and a mean after > is that of "
)
CENSORED += (
    "min(samples, max_rounds). The 95 % interval of a quantile is between two of the runs; ? is an end for which "
)
CENSORED += "there are too few."


def sections(results: Sequence[Result], prefix: str = "", share: int = 1) -> list[Section]:
    """Return the sections of an experiment's results; `prefix` begins their headings.

    `share` is the number of experiments on the page, among which the number of drawn points is divided.
    """
    points = int(np.clip(ALL_POINTS // len(results) // share, FEWEST, POINTS))
    kinds = report.kinds([r.to_json() for r in results]) if results[0].kind == "simulate" else []
    found = [Section(f"{prefix}Results", [report.rows(results), *kinds])]
    swept = _sweeps(results)
    across = any(sweep.of_instances for sweep in swept)
    if across:
        found.append(Section(f"{prefix}Sweep", [*_swept(swept), *_figures(results, points)]))
    for instance in dict.fromkeys(result.instance for result in results):
        some = [result for result in results if result.instance == instance]
        show = {"simulate": _regret, "identify": _stopping, "budget": _budget}[some[0].kind]
        blocks: list[Block | None] = [*show(some, points), *_pulls(some)]
        blocks += [] if across else [*_swept(_sweeps(some)), *_figures(some, points // 2)]
        found.append(Section(prefix + instance, blocks))
    found.append(Section(f"{prefix}Paired differences", comparisons.differences(results)))
    parts = []
    if (rounds := max((len(r.arrays["checkpoints"]) for r in results if r.kind == "simulate"), default=0)) > points:
        parts.append(f"Out of {rounds:,} checkpoints, {points} evenly spaced ones are drawn and tabulated.")
    if (runs := max(result.runs for result in results)) > points:
        parts.append(f"Distributions of up to {runs:,} runs are drawn with {points} steps at evenly spaced levels.")
    return [*found, Section(f"{prefix}How runs ended", [report.outcome_table(results), Notes(parts)])]


def _figures(results: Sequence[Result], points: int) -> list[Block]:
    return [Figure(figure) for _, figure in figures.drawn(results, points=points)]


def _sweeps(results: Sequence[Result]) -> list[sweeps.Sweep]:
    if results[0].kind != "identify":
        return []
    return sweeps.sweeps([r for r in results if isinstance(r, StoppingResult) and len(r.samples())])


def _swept(all_sweeps: Sequence[sweeps.Sweep]) -> Iterator[Block]:
    """Yield a chart and a table of the mean samples against each swept parameter."""
    for sweep in all_sweeps:
        curves = [
            charts.interval_curve(label, order, [(value, stopping_times.mean_of(result)) for value, result in points])
            for order, (label, points) in enumerate(sweep.curves.items())
        ]
        title = f"Mean samples against {sweep.parameter}, with 95 % intervals"
        censored = any(result.censored for points in sweep.curves.values() for _, result in points)
        notes = ["If runs are censored, the mean is that of min(samples, max_rounds)."] * censored
        x, y = (is_wide([v for curve in curves for v in getattr(curve, axis)]) for axis in ("x", "y"))
        yield Chart(title, sweep.parameter, "mean samples", curves, "marks", x, y)
        yield _curves_table(title, sweep.parameter, curves, notes)


def _regret(results: Sequence[RegretResult], points: int) -> Iterator[Block]:
    """Yield the curves of regret or feedback, of regret in hindsight and of metrics, and their final distributions."""
    named = labels(results)
    for what in results[0].curves:
        cells = [(i, r) for i, r in enumerate(results) if what in r.curves]
        curves = [charts.mean_curve(named[i], i, r, what, points) for i, r in cells if r.counted_in(what)]
        rounds = cells[0][1].arrays["checkpoints"]
        keep = even_positions(len(rounds), points)
        for _, label, bound, _ in theory.lines([r for _, r in cells], what, minimax=False):
            curves.append(Curve(label, None, rounds[keep], bound[keep]))
        changes = results[0].changes()
        notes = [f"Means change after rounds {', '.join(f'{c:,}' for c in changes)}."] if changes else []
        words = "Dynamic regret" if what == "regret" and results[0].moves else WORDS.get(what, what)
        title = f"{words}, mean of the runs with 95 % intervals"
        yield Chart(title, "round", words.lower(), curves, log_x=is_wide(rounds))
        yield fold(f"Table: {title.lower()}", _curves_table(title, "round", curves, notes))
        last = [(i, r) for i, r in cells if r.per_run(what) is not None and r.counted_in(what)]
        yield from _final(named, last, what, words.lower(), points) if last and what != "hindsight" else ()


def _curves_table(title: str, x: str, curves: Sequence[Curve], notes: Sequence[str] = ()) -> Table:
    """Return a table of all points of curves over a shared axis."""
    places = sorted({value for curve in curves for value in np.asarray(curve.x).tolist()})
    columns = [_by_place(curve) for curve in curves]
    shown = [f"{place:,}" if isinstance(place, int) else f"{place:.6g}" for place in places]
    rows = [(x, *(c.get(place, "") for c in columns)) for x, place in zip(shown, places, strict=True)]
    head = (x, *(curve.label for curve in curves))
    return Table(head, rows, right=range(len(head)), caption=title, notes=notes)


def _by_place(curve: Curve) -> dict[float, str]:
    columns = [np.asarray(x).tolist() for x in (curve.x, curve.y, curve.low, curve.high) if x is not None]
    return {place: text.with_interval(*numbers) for place, *numbers in zip(*columns, strict=True)}


def _final(
    named: Sequence[str], cells: Sequence[tuple[int, RegretResult]], what: str, words: str, points: int
) -> Iterator[Block]:
    """Yield the distribution over runs of a curve at the horizon."""
    values = {i: (r.per_run(what), r.counts(what)) for i, r in cells}
    last = {i: np.sort(x[counts, -1].astype(np.float64)) for i, (x, counts) in values.items() if x is not None}
    curves = [stopping_times.ecdf(named[i], i, values, len(values), points) for i, values in last.items()]
    horizon = int(cells[0][1].arrays["checkpoints"][-1])
    title = f"Distribution over runs of {words} after {horizon:,} rounds"
    rows = []
    for i, ordered in last.items():
        marks = [ordered[max(int(np.ceil(q * len(ordered) - 1e-9)), 1) - 1] for q in QUANTILES.values()]
        ends = [_ends(ordered, q) for q in QUANTILES.values()]
        shown = [f"{mark:,.4g} [{low}, {high}]" for mark, (low, high) in zip(marks, ends, strict=True)]
        rows.append((named[i], f"{ordered[0]:,.4g}", *shown, f"{ordered[-1]:,.4g}", f"{len(ordered):,}"))
    head = ("algorithm", "smallest", *LEVELS, "largest", "runs")
    note = "The 95 % interval of a quantile is between two of the runs; ? is an end for which there are too few."
    yield Chart(title, words, "fraction of runs", curves, shape="step", log_y=None)
    yield Table(head, rows, right=range(1, len(head)), caption=f"{title}: quantiles", notes=[note])


def _ends(ordered: np.ndarray, level: float) -> tuple[str, str]:
    """Return the 95 % interval of a quantile of sorted values; "?" for an end for which there are too few."""
    low, high = intervals.quantile_ranks(level, len(ordered))
    return f"{ordered[low - 1]:,.4g}" if low else "?", f"{ordered[high - 1]:,.4g}" if high <= len(ordered) else "?"


def _stopping(results: Sequence[StoppingResult], points: int) -> Iterator[Block | None]:
    """Yield the distribution of the stopping times, and the error rates beside delta."""
    named = labels(results)
    cells = [(i, r) for i, r in enumerate(results) if len(r.samples())]
    curves = [stopping_times.stopping_curve(named[i], i, r, points) for i, r in cells]
    wide = is_wide(np.concatenate([np.maximum(r.samples(), 1.0) for _, r in cells])) if cells else False
    title = "Fraction of runs that have stopped after n samples, with 95 % intervals"
    yield Chart(title, "samples", "fraction of runs", curves, shape="step", log_x=wide, log_y=None)
    contents = [result.content() | {"runs": result.runs} for result in results]
    names = [(name,) for name in named]
    yield samples_table(("algorithm",), names, contents)
    verdicts = []
    for result in results:
        error, delta = result.error(), result.guarantee.get("delta")
        if error is None or delta is None:
            verdicts.append("")
        else:
            verdicts.append("above" if error.low > delta else "below" if error.high <= delta else "undecided")
    note = "Each verdict uses the Clopper-Pearson interval of its row alone."
    yield error_table(("algorithm",), names, contents, [r.promised for r in results], note, verdicts)


def samples_table(
    head: Sequence[str], rows: Sequence[tuple[str, ...]], cells: Sequence[Mapping[str, Any]]
) -> Table | None:
    """Return a table of means and quantiles of stopping times.

    `head` are the headings of the columns that name a row, as `rows` do; a cell has `samples`, `runs` and `outcomes`.
    """
    lines, bounds = [], False
    for name, cell in zip(rows, cells, strict=True):
        samples, censored = cell.get("samples", {}), cell["outcomes"]["max_rounds"]
        if not samples:
            continue
        mean = samples.get("mean", samples.get("restricted_mean"))
        shown = text.with_interval(mean, samples.get("low", -np.inf), samples.get("high", np.inf))
        beyond = f"> {samples['max_rounds']:,}" if "max_rounds" in samples else ""
        quantiles = [f"{samples[q]:,}" if q in samples else beyond for q in QUANTILES]
        limits = [report.ends(samples, f"{q}_low", f"{q}_high", beyond) for q in QUANTILES]
        bound = text.number(samples["lower_bound"]) if "lower_bound" in samples else ""
        bounds = bounds or bool(bound)
        marks = [f"{mark} {ends}".strip() for mark, ends in zip(quantiles, limits, strict=True)]
        lines.append((*name, "> " * bool(censored) + shown, *marks, f"{censored:,} of {cell['runs']:,}", bound))
    columns = (*head, "mean [95 %]", *LEVELS, "censored", "lower bound")
    notes = [CENSORED, *["The lower bound is on the mean of any delta-correct algorithm."] * bounds]
    right = range(len(head), len(columns))
    return Table(columns, lines, right, len(head), "Samples until a run stops: mean and quantiles", notes)


def error_table(
    head: Sequence[str],
    rows: Sequence[tuple[str, ...]],
    cells: Sequence[Mapping[str, Any]],
    deltas: Sequence[str],
    note: str,
    verdicts: Sequence[str] = (),
) -> Table:
    """Return a table of error rates; the first three arguments are as for `samples_table`."""
    lines = []
    for i, (name, cell) in enumerate(zip(rows, cells, strict=True)):
        if error := cell.get("error"):
            of = f"{round(error['rate'] * error['runs']):,} of {error['runs']:,}"
            interval = f"[{error['low']:.4g}, {error['high']:.4g}]"
            lines.append((*name, of, f"{error['rate']:.4g}", interval, deltas[i], verdicts[i] if verdicts else ""))
    columns = (*head, "errors", "error rate", "95 % interval", "delta", "rate against delta")
    notes = [f"Rates are over the runs that stopped. {note}"]
    return Table(columns, lines, range(len(head), len(head) + 4), len(head), "Error rate compared with delta", notes)


def _budget(results: Sequence[BudgetResult], points: int) -> Iterator[Block]:
    """Yield the error rate and the simple regret against the budget."""
    named = names.algorithms(results, but="budget")
    for what, words in (("error", "error rate"), ("simple_regret", "simple regret")):
        curves = []
        for i, name in enumerate(dict.fromkeys(named)):
            of = [(r.budget, getattr(r, what)()) for n, r in zip(named, results, strict=True) if n == name]
            pairs = sorted((pair for pair in of if pair[1] is not None), key=lambda pair: pair[0])
            curves += [charts.interval_curve(name, i, pairs)] if pairs else []
        if curves:
            title = f"{words.capitalize()} against the budget, with 95 % intervals"
            wide = is_wide([r.budget for r in results])
            yield Chart(title, "budget (number of pulls)", words, curves, shape="marks", log_x=wide)
            yield _curves_table(title, "budget", curves)


def _pulls(results: Sequence[Result]) -> Iterator[Block]:
    """Yield the mean pulls by arm; of many arms, only those that were pulled most."""
    all_pulls = [result.mean_pulls() for result in results]
    known = [(i, name, pulls) for i, (name, pulls) in enumerate(zip(labels(results), all_pulls, strict=True)) if pulls]
    sizes = {len(pulls[0]) for _, _, pulls in known}
    if len(sizes) != 1 or results[0].kind == "budget":
        return
    (count,) = sizes
    arms, notes = np.arange(count), []
    if count > SHOWN_ARMS:
        most = np.max([pulls[0] for _, _, pulls in known], axis=0)
        arms = np.sort(np.argsort(-most, kind="stable")[:SHOWN_ARMS])
        notes = [f"Out of {count:,} arms, the {SHOWN_ARMS} that were pulled most are shown."]
    truth = results[0].truth
    means = results[0].means() if isinstance(results[0], StoppingResult) else truth.get("means")
    means = means if means is not None and len(means) == count else None
    curves = []
    for k, (i, name, pulls) in enumerate(known):
        mean, _, low, high = (column[arms] for column in pulls)
        x = np.arange(len(arms)) + (k - (len(known) - 1) / 2) * min(0.12, 0.7 / len(known))
        curves.append(Curve(name, i, x, mean, low, high) if np.isfinite(low).any() else Curve(name, i, x, mean))
    title = "Mean pulls by arm with 95 % intervals"
    about = ["position of the arm" if "sorted_means" in truth else "arm", *(["mean reward"] * (means is not None))]
    head = [*about, *(curve.label for curve in curves)]
    cells = [list(_by_place(curve).values()) for curve in curves]
    true = [[f"{means[arm]:.6g}"] if means is not None else [] for arm in arms]
    rows = [(f"{arm}", *true[k], *(column[k] for column in cells)) for k, arm in enumerate(arms)]
    wide = is_wide([value for curve in curves for value in np.asarray(curve.y).tolist() if value > 0])
    named = [f"{arm}" for arm in arms]
    yield Chart(title, head[0], "pulls", curves, shape="marks", log_x=None, log_y=wide, names=named)
    table = Table(head, rows, right=range(len(head)), caption=title, notes=notes)
    yield table if len(arms) <= 12 else fold(f"Table: {title.lower()}", table)
