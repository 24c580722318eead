"""The tables that `run` prints, with one row per cell."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jaxbandit.base.contract import Outcome
from jaxbandit.running.results import names
from jaxbandit.support.document import Block, Facts, Section, Table, blocks_as_text, fold, table_of
from jaxbandit.support.text import is_ranking, number, with_interval

LEFT = ("instance", "algorithm", "95 % interval")  # headings of columns of text
Cell = tuple[str, str]  # a heading and a text
CAPTION = "Results, one row for each algorithm on each instance"


def table(results: Sequence[Any], *, timings: bool = False) -> str:
    """Return the results of one experiment as text, with the seconds of each if `timings`."""
    return blocks_as_text(blocks(results, timings=timings))


def blocks(results: Sequence[Any], *, timings: bool = False) -> list[Block]:
    """Return what is shown of results: their table, rounds by kind, how their runs ended, and where they come from."""
    if not results:
        return []
    of_kinds = kinds([result.to_json() for result in results]) if results[0].kind == "simulate" else []
    ends = fold("how the runs ended", outcome_table(results))
    return [rows(results, timings=timings), *of_kinds, ends, fold("where these numbers come from", sources(results))]


def rows(results: Sequence[Any], *, timings: bool = False) -> Table:
    """Return the table of the results of one experiment."""
    return {"simulate": _regret, "identify": _stopping, "budget": _budget}[results[0].kind](results, timings)


def kinds(cells: Sequence[Mapping[str, Any]], published: Sequence[Mapping[str, Any]] = ()) -> list[Section]:
    """Return tables of the rounds by kind for the cells that have kinds, given as `to_json` returns them."""
    cells = [cell for cell in cells if "rounds_by_kind" in cell]
    beside = {(e["instance"], e["algorithm"], e.get("round")): e for e in published if e["quantity"] == "kind"}
    tables = []
    for some in dict.fromkeys(tuple(cell["rounds_by_kind"]) for cell in cells):
        rows = []
        for cell in cells:
            if tuple(cell["rounds_by_kind"]) == some:
                key = cell["instance"], cell["algorithm"]
                rows.append((*key, *(_share(cell, name, beside.get((*key, name))) for name in some)))
        tables.append(Table(("instance", "algorithm", *some), rows, right=range(2, len(some) + 2), labels=2))
    return [Section("fraction of rounds by kind, with one standard error", tables)] if tables else []


def sources(results: Sequence[Any], **more: object) -> Facts:
    """Return where the numbers come from, with what results differ in side by side, and the time spent on all."""
    params = [", ".join(f"{name} = {names.shown(value)}" for name, value in r.params.items()) for r in results]
    spent = {name: sum(r.seconds.get(name, 0.0) for r in results) for name in results[0].seconds}
    facts = {
        "parameters": "; ".join(dict.fromkeys(filter(None, params))),
        "seed": _one(str(r.seed) for r in results),
        "precision": _one(r.precision for r in results),
        "devices": _one(", ".join(r.devices) for r in results),
        "versions": _one(", ".join(f"{name} {version}" for name, version in r.versions.items()) for r in results),
        "seconds": ", ".join(f"{seconds:,.2f} {name}" for name, seconds in spent.items()),
        "run-steps": f"{sum(r.run_steps for r in results):,}",
    }
    return Facts(facts | more)


def _one(texts: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(texts))


def outcome_table(results: Sequence[Any]) -> Table:
    """Return a table of how many runs of each result ended how, of those outcomes that there are."""
    counts = [result.outcomes() for result in results]
    words = {Outcome.STOPPED: "completed", Outcome.MAX_ROUNDS: "censored at max_rounds", **results[0].faults}
    shown = [outcome for outcome in Outcome if any(count[outcome.name.lower()] for count in counts)]
    cells = [
        (r.instance, name, f"{r.runs:,}", *(f"{count[outcome.name.lower()]:,}" for outcome in shown), f"{r.counted:,}")
        for r, name, count in zip(results, names.algorithms(results), counts, strict=True)
    ]
    head = ("instance", "algorithm", "runs", *(words[outcome] for outcome in shown), "in the means")
    return Table(head, cells, right=range(2, len(head)), labels=2, caption="Runs by outcome")


def early(bound: float, rounds: int) -> str:
    """Return a line about an asymptotic lower bound that is larger than a measured regret."""
    return f"lower bound {bound:,.2f}: it is asymptotic, and after {rounds:,} rounds a regret is still below it"


def _regret(results: Sequence[Any], timings: bool) -> Table:
    if is_ranking(r.algorithm for r in results):
        from jaxbandit.running.plotting import ranking  # not above, because a few results need no figures

        places = dict.fromkeys(result.instance for result in results)
        own = [[r for r in results if r.instance == instance] for instance in places]
        results = [some[i] for some in own for i in ranking.order(some, some[0].measure)]
    bounds = [result.lower_bound() for result in results]
    ends = [(float(r.moments()[0][-1]), float(b[-1])) for r, b in zip(results, bounds, strict=True) if b is not None]
    below = [pair for pair in ends if pair[0] < pair[1]]
    rows = _regret_rows(results, with_bound=bool(ends) and not below, timings=timings)
    full = [i for i in range(len(rows[0])) if any(row[i][1] for row in rows)]
    measure = " and ".join(dict.fromkeys(words(result.measure) for result in results))
    runs = _one(f"{r.runs}" for r in results)
    rounds = _one(f"{int(r.arrays['checkpoints'][-1])}" for r in results)
    lines = [f"{runs} runs, {measure} after {rounds} rounds"]
    if any(result.measure == "feedback" for result in results):
        lines.append("mean feedback: per round, because the environment defines no regret")
    if any(result.moves and result.measure == "regret" for result in results):
        lines.append("regret: against the best arm of each round, because the means change")
    if any("hindsight_mean" in result.arrays for result in results):
        lines.append("hindsight: regret against the best fixed arm in hindsight")
    if below:
        lines += dict.fromkeys(early(bound, int(results[0].arrays["checkpoints"][-1])) for _, bound in below)
    shown = [[row[i] for i in full] for row in rows]
    return table_of(shown, LEFT, labels=2, caption=CAPTION, notes=[*lines, *foot(results)])


def words(what: str) -> str:
    """Return the heading of a curve: the name of a metric, or what the curve is."""
    return "mean feedback" if what == "feedback" else what


def _regret_rows(results: Sequence[Any], with_bound: bool, timings: bool) -> list[list[Cell]]:
    """Return the rows of the table; the caller drops the columns that are empty."""
    own = dict.fromkeys(name for r in results for name in r.metrics)
    some_left_out = any(r.left_out for r in results)
    rows = []
    for name, r in zip(names.algorithms(results), results, strict=True):
        row = [("instance", r.instance), ("algorithm", name)]
        for what in ("regret", "feedback", "hindsight", *own):
            mean, interval = _with_interval(r, what) if what in r.curves else ("", "")
            row += [(words(what), mean), ("95 % interval", interval)]
        bound = r.lower_bound() if with_bound else None
        row.append(("lower bound", "" if bound is None else f"{bound[-1]:,.2f}"))
        row.append(("runs", f"{r.counted} of {r.runs}" if some_left_out else ""))
        rows.append(row + timings * _seconds(r))
    return rows


def _seconds(result: Any) -> list[Cell]:
    return [(f"{part} s", f"{result.seconds.get(part, 0.0):.1f}") for part in ("compile", "run")]


def _with_interval(result: Any, what: str) -> tuple[str, str]:
    mean, counted = result.moments(what)[0][-1], result.counted_in(what)
    if counted < 2:
        return (f"{mean:,.2f}", "(one run)") if counted else ("none", "(no valid run)")
    ends = [float(end[-1]) for end in result.interval(what=what)[-2:]]
    if what in result.metrics:  # of any unit, so that the interval sets the decimals
        mean, _, ends = with_interval(float(mean), *ends).partition(" ")
        return mean, ends or "(all runs equal)"
    if not any(map(math.isfinite, ends)):
        return _decimals(mean, what), "(all runs equal)"
    return _decimals(mean, what), f"[{', '.join(_decimals(end, what) for end in ends)}]"


def _decimals(value: float, what: str) -> str:
    if not math.isfinite(value):
        return "?"
    return f"{value:,.4f}" if what == "feedback" else f"{value:,.2f}"


def foot(results: Sequence[Any]) -> list[str]:
    """Return the notes below the table, one line each."""
    instances = {result.instance for result in results}
    lines = [
        f"{r.instance}: means are over instances of which each run draws {', '.join(r.prior)}"
        for r in results
        if r.prior
    ]
    lines += [f"{r.instance}, {note}" if len(instances) > 1 else note for r in results for note in r.notes()]
    return list(dict.fromkeys(lines))


def _share(cell: Mapping[str, Any], name: str, entry: Mapping[str, Any] | None) -> str:
    share = f"{cell['rounds_by_kind'][name]:.4f}"
    if "rounds_by_kind_se" in cell:
        share += f" ± {cell['rounds_by_kind_se'][name]:.4f}"
    return share if entry is None else f"{share} ({entry['value']:g}: {entry.get('verdict', 'quoted, not verified')})"


def _mean(content: Mapping[str, Any]) -> str:
    value = content.get("mean", content.get("restricted_mean"))
    return "" if value is None else "> " * ("restricted_mean" in content) + number(value)


def ends(samples: Mapping[str, Any], low: str, high: str, beyond: str = "") -> str:
    """Return the interval of a number of samples as text, "?" for an end that is unknown, or "" if both are.

    `beyond` is the text of the upper end if it is unknown because runs are censored.
    """
    shown = [number(samples[low]) if low in samples else "", number(samples[high]) if high in samples else beyond]
    return f"[{', '.join(end or '?' for end in shown)}]" if any(shown) else ""


def _stopping(results: Sequence[Any], timings: bool) -> Table:
    batched = any("batches" in result.arrays for result in results)
    metrics = list(dict.fromkeys(name for result in results for name in result.metrics))
    rows = []
    for name, result in zip(names.algorithms(results), results, strict=True):
        content = result.content()
        samples, error = content.get("samples", {}), content.get("error", {})
        mean = samples.get("mean", samples.get("restricted_mean"))
        sd = samples.get("sd", samples.get("restricted_sd"))
        outcomes = {name: count for name, count in content["outcomes"].items() if count}
        beyond = f"> {result.max_rounds:,}" if result.censored else ""
        row = [
            ("instance", result.instance),
            ("algorithm", name),
            ("samples", "" if mean is None else "> " * (result.censored > 0) + number(mean)),
            # The upper end of the restricted mean bounds no mean of samples.
            ("95 % interval", ends(samples, "low", "none" if result.censored else "high")),
            ("sd", "" if sd is None or result.censored else number(sd)),
            ("median", number(samples["q50"]) if "q50" in samples else beyond),
            ("95 % interval", ends(samples, "q50_low", "q50_high", beyond)),
            *([("batches", _mean(content.get("batches", {})))] if batched else []),
            *_error(content, error),
            *_metric_cells(content, metrics),
            ("delta", result.promised),
            ("runs", ", ".join(f"{count} {name}" for name, count in outcomes.items())),
        ]
        lanes = f"{100 * content['lane_utilization']:.0f} %" if "lane_utilization" in content else ""
        rows.append(row + timings * [("lane utilization", lanes), *_seconds(result)])
    lines = ["samples: mean over runs; error: fraction of stopped runs whose simple regret exceeds epsilon"]
    if any(not result.guarantee.get("proved", True) for result in results):
        lines.append("heuristic: it is not proved that the rule keeps its delta")
    lines += _unjudged(results)
    limits = sorted({r.max_rounds for r in results if r.censored})
    lines += [f"{', '.join(metrics)}: when a run ended{', censored or not' * bool(limits)}"] if metrics else []
    if limits:
        most = ", ".join(f"{limit:,}" for limit in limits)
        lines.append(
            f"> and the lower end: mean of min(samples, {most}), because runs reached max_rounds (right-censored); the "
            "mean of all samples has no known upper end"
        )
    return table_of(rows, (*LEFT, "runs"), labels=2, caption=CAPTION, notes=[*lines, *foot(results)])


def _metric_cells(content: Mapping[str, Any], names: Sequence[str]) -> list[Cell]:
    """Return the cells of the metrics of runs that stop, of any unit, so that the interval sets the decimals."""
    cells = []
    for name in names:
        own = content.get("metrics", {}).get(name, {})
        value = own.get("mean", own.get("restricted_mean"))
        ends = [own[end] for end in ("low", "high") if end in own]
        mean, _, around = ("", "", "") if value is None else with_interval(value, *ends).partition(" ")
        cells += [(name, mean), ("95 % interval", around)]
    return cells


def _error(content: Mapping[str, Any], error: Mapping[str, Any]) -> list[Cell]:
    """Return the cells of the error rate."""
    rate = f"{error['rate']:.4f}" if error else "unknown" * ("unjudged" in content)
    return [("error", rate), ("95 % interval", f"[{error['low']:.4f}, {error['high']:.4f}]" if error else "")]


def _unjudged(results: Sequence[Any]) -> list[str]:
    """Return a line on the results whose error is unknown, if there are any."""
    some = [f"{r.algorithm} ({r.unjudged:,} of {r.runs:,} runs)" for r in results if r.unjudged]
    what = "recommendations that cannot be judged, because an arm is beyond epsilon by rounding only, or is not allowed"
    return [f"error unknown: {what}: {', '.join(some)}"] if some else []


def _budget(results: Sequence[Any], timings: bool) -> Table:
    metrics = list(dict.fromkeys(name for result in results for name in result.metrics))
    rows = []
    for name, result in zip(names.algorithms(results, but="budget"), results, strict=True):
        content = result.content()
        error, regret = content.get("error", {}), content.get("simple_regret", {})
        around = f"[{regret['low']:.3g}, {regret['high']:.3g}]" if "high" in regret else ""
        row = [
            ("instance", result.instance),
            ("algorithm", name),
            ("budget", f"{result.budget:,}"),
            ("pulls", number(content["samples"]["mean"]) if "samples" in content else ""),
            *_error(content, error),
            ("simple regret", f"{regret['mean']:.3g}" if regret else ""),
            ("95 % interval", around or "(all runs equal)" * bool(regret)),
            *_metric_cells(content, metrics),
            ("runs", f"{result.counted} of {result.runs}" if result.left_out else f"{result.runs}"),
        ]
        rows.append(row + timings * _seconds(result))
    lines = ["pulls: mean number used of the budget; error: fraction of runs whose simple regret exceeds epsilon"]
    if len({result.budget for result in results}) > 1:
        lines.append("run r has the same random draws for each budget, so the rows are paired and not independent")
    return table_of(rows, LEFT, labels=3, caption=CAPTION, notes=[*lines, *foot(results)])
