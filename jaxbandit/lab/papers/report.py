"""A reproduction in plain text: a table for each figure with the published numbers, the notes, and the claims."""

from collections.abc import Mapping, Sequence

from jaxbandit.lab.papers import open_readings, origins
from jaxbandit.lab.papers.tables import computed
from jaxbandit.running.results.doubts import left_out
from jaxbandit.running.results.report import ends, kinds
from jaxbandit.support.document import blocks_as_text
from jaxbandit.support.text import align, number, wrapped
from jaxbandit.support.types import Table

# Columns of a published number. The interval, widened by the margin, decides the verdict.
BESIDE: tuple[str, str, str] = ("published", "prediction interval", "")

Key = tuple[str, str, str, int | None]  # instance, algorithm, quantity and arm of a published number
REGRETS = {"regret": "regret", "hindsight": "regret against the best fixed arm in hindsight"}


def report(content: Table) -> str:
    """Return the summary of a reproduction in plain text."""
    paper = content["paper"]
    head = f"{paper['title']} ({paper['year']})\n{paper['url']}"
    tables = [_figure_table(content, figure) for figure in content["figures"]]
    tables += [computed.text(table) for table in content.get("complexity", [])]
    notes = [wrapped(f"({name})", text) for name, text in paper.get("notes", {}).items()]
    if any("allowed" in entry for entry in content["published"]):
        meaning = (
            "the range in which a published number agrees with ours; it accounts for the noise of "
            f"both, holds jointly with {100 * paper['confidence']:g} % confidence, and includes the margin, if any"
        )
        notes.append(wrapped("prediction interval:", meaning))
    apart = ["\n".join(lines) for lines in (notes, content.get("skipped", []), content.get("longer", [])) if lines]
    readings = [open_readings.text(content["readings"])] if "readings" in content else []
    return "\n\n".join([head, *tables, *apart, _claims_table(content), *readings])


def _figure_table(content: Table, figure: Table) -> str:
    """Return the table of a figure as text."""
    rows = [c for c in content["cells"] if c["instance"] in figure["instances"]]
    rows = [c for c in rows if c["algorithm"] in figure["algorithms"]]
    if content["kind"] == "simulate":
        parts = [
            _regret_table(instance, [c for c in rows if c["instance"] == instance], content["published"], what)
            for instance in figure["instances"]
            for what in REGRETS
            if any(what in c for c in rows if c["instance"] == instance)
        ]
        tables = blocks_as_text(kinds(rows, content["published"]))
        return "\n\n".join([figure["title"], *parts, *([tables] if tables else [])])
    if content["kind"] == "budget":
        return f"{figure['title']}\n{_budget_table(rows)}"
    beside = {(e["instance"], e["algorithm"], e["quantity"], e.get("arm")): e for e in content["published"]}
    lines = _pulls_table(rows, beside) if figure["draw"] == "pulls" else _samples_table(rows, beside)
    counts = " or ".join(f"{runs:,}" for runs in sorted({row["runs"] for row in rows}))
    return "\n".join([f"{figure['title']}; {counts} runs", lines, *_left_out(rows)])


def _samples_table(rows: Sequence[Table], beside: Mapping[Key, Table]) -> str:
    head = ("instance", "algorithm", "mean samples", "95 % interval", "error", "95 % interval", "")
    lines: list[tuple[str, ...]] = [(*head, *BESIDE, f"{BESIDE[0]} error", *BESIDE[1:])]
    for row in rows:
        key = (row["instance"], row["algorithm"])
        samples, error = row.get("samples", {}), row.get("error", {})
        mean = samples.get("mean", samples.get("restricted_mean"))
        censored = row["outcomes"].get("max_rounds", 0)
        lines.append(
            (
                *key,
                "" if mean is None else "> " * (censored > 0) + number(mean),
                ends(samples, "low", "high"),
                f"{error['rate']:.4f}" if error else "",
                f"[{error['low']:.4f}, {error['high']:.4f}]" if error else "",
                f"{censored:,} censored" if censored else "",
                *_beside(beside.get((*key, "samples", None))),
                *_beside(beside.get((*key, "error", None))),
            )
        )
    return _align_columns(lines)


def _budget_table(rows: Sequence[Table]) -> str:
    head = ("instance", "algorithm", "budget", "mean samples", "error", "95 % interval", "simple regret", "runs")
    lines: list[tuple[str, ...]] = [head]
    for row in rows:
        error, regret = row.get("error", {}), row.get("simple_regret", {})
        lines.append(
            (
                *(row["instance"], row["algorithm"], number(row["budget"]), number(row["samples"]["mean"])),
                f"{error['rate']:.4f}" if error else "",
                f"[{error['low']:.4f}, {error['high']:.4f}]" if error else "",
                f"{regret['mean']:.2e}" if regret else "",
                f"{row['runs']:,}",
            )
        )
    return _align_columns(lines)


def _pulls_table(rows: Sequence[Table], beside: Mapping[Key, Table]) -> str:
    lines = [("instance", "algorithm", "arm", "mean pulls", "95 % interval", "fraction", *BESIDE)]
    for row in rows:
        pulls = row["pulls"]
        means = pulls.get("mean", pulls.get("restricted_mean"))
        for arm, mean in enumerate(means):
            interval = f"[{number(pulls['low'][arm])}, {number(pulls['high'][arm])}]" if "low" in pulls else ""
            interval = interval if pulls.get("se", [1] * len(means))[arm] else "(all runs equal)"
            entry = beside.get((row["instance"], row["algorithm"], "pulls", arm))
            share = f"{100 * mean / sum(means):.2f} %"
            lines.append((row["instance"], row["algorithm"], str(arm), number(mean), interval, share, *_beside(entry)))
    return _align_columns(lines)


def _beside(entry: Table | None) -> tuple[str, str, str]:
    if entry is None:
        return "", "", ""
    rate = entry["quantity"] == "error"
    value, *allowed = (f"{x:.4f}" if rate else number(x) for x in (entry["value"], *entry.get("allowed", [])))
    note = f" ({entry['note']})" if entry.get("note") else ""
    equal = f"all of ours {number(entry['equal'])}" if "equal" in entry else ""
    return value, f"[{', '.join(allowed)}]" if allowed else equal, origins.verdict_of(entry) + note


def _align_columns(lines: Sequence[tuple[str, ...]]) -> str:
    """Align the columns that are not empty, with numbers to the right."""
    shown = [column for column in zip(*lines, strict=True) if any(column[1:])]
    right = [i for i, column in enumerate(shown) if column[0] not in ("instance", "algorithm", "source", "")]
    keys = sum(column[0] in ("instance", "algorithm") for column in shown)
    return align(list(zip(*shown, strict=True)), right, keys) if shown else "no run is counted"


def _regret_table(instance: str, cells: Sequence[Table], published: Sequence[Table], what: str) -> str:
    """Return a table of one of REGRETS for the cells of one instance, with the published numbers of each cell."""
    entries = [e for e in published if e["instance"] == instance and e["quantity"] == what]
    sources = len({e["source"] for e in entries}) > 1 or any(e.get("origin") == origins.OURS for e in entries)
    rows: list[tuple[str, ...]] = [("algorithm", what, "95 % interval", *BESIDE, "source" if sources else "")]
    known = [cell for cell in cells if cell.get(what, {}).get("mean")]
    for cell in sorted(known, key=lambda c: -c[what]["mean"][-1]):
        regret = cell[what]
        interval = f"[{regret['low'][-1]:,.2f}, {regret['high'][-1]:,.2f}]" if "low" in regret else ""
        interval = "(all runs equal)" if regret["at"][-1] in regret.get("equal", []) else interval
        ours = (cell["algorithm"], f"{regret['mean'][-1]:,.2f}", interval)
        for entry in [e for e in entries if e["algorithm"] == cell["algorithm"]] or [None]:
            rows.append((*ours, *_beside(entry), entry["source"] if entry and sources else ""))
            ours = "", "", ""
    first = cells[0]
    after = f"after {known[0][what]['at'][-1]:,} rounds" if known else "is not known"
    title = f"{instance}: {REGRETS[what]} {after}, {first['runs']:,} runs"
    bound = first[what].get("lower_bound") if what in first else None
    foot = ""
    if bound:
        early = [cell for cell in known if cell[what]["mean"][-1] < bound[-1]]
        foot = f"\nlower bound, log(t) times the constant: {bound[-1]:,.2f}"
        foot += "; it is asymptotic, and a regret here is still below it" if early else ""
    return "\n".join([title, f"{_align_columns(rows)}{foot}", *_left_out(cells)])


def _left_out(cells: Sequence[Table]) -> list[str]:
    """Return one line for each cell whose means exclude runs, with their number and the reason."""
    cells_and_words = [(cell, left_out(cell["runs"], cell.get("outcomes", {}))) for cell in cells]
    return [f"{cell['instance']}/{cell['algorithm']}: {words}" for cell, words in cells_and_words if words]


def cost(content: Table, longer: Mapping[int, int]) -> list[str]:
    """Return one line for each other horizon with the estimated time of the same cells. `longer`: horizon -> runs."""
    played = sum(cell["run_steps"] for cell in content["cells"])
    seconds = sum(cell["seconds"]["run"] for cell in content["cells"])
    horizon = max((cell["regret"]["at"][-1] for cell in content["cells"] if cell["regret"]["at"]), default=0)
    lines = []
    for other, runs in longer.items():
        if other == horizon or not played:
            continue
        hours = seconds / played * other * runs * len(content["cells"]) / 3600
        what = f"{hours:.1f} hours" if hours >= 1 else f"{60 * hours:.0f} minutes"
        lines.append(
            f"with --horizon {other} these cells play {runs:,} runs each: at most about {what}, and can be resumed"
        )
    return lines


def _claims_table(content: Table) -> str:
    lines = []
    for claim in content["claims"]:
        text = f"{claim['text']} (in part)" if claim.get("in_part") else claim["text"]
        text = f"{claim['reading']}: {text}" if "reading" in claim else text
        head = f"{claim['id']:<5}  {origins.verdict_of(claim):<9}"
        if origins.is_quoted(claim):
            lines.append(wrapped(head, text, claim["source"]))
            continue
        text = f"{text} (not a claim of the paper)" if claim.get("origin") == origins.OURS else text
        deciding = next(check for check in claim["checks"] if check["verdict"] == claim["verdict"])
        lines.append(wrapped(head, text, f"decided by: {_check_text(deciding)}"))
    confidence = f"all intervals hold jointly with {100 * content['paper']['confidence']:g} % confidence"
    confidence += ", and those of the last tables among themselves" if content.get("complexity") else ""
    left = [
        wrapped("not tested:", f"{item['text']} ({origins.place(item)}): {item['reason']}")
        for item in content["untested"]
    ]
    return "\n".join([f"claims: {_counts(content['claims'])} ({confidence})", *lines, *left])


def _counts(claims: Sequence[Table]) -> str:
    """Return the number of claims of the paper by verdict, and apart from them those without one and our own."""
    ours = [claim for claim in claims if claim.get("origin") == origins.OURS]
    quoted = [claim for claim in claims if origins.is_quoted(claim)]
    parts = [_by_verdict([claim for claim in claims if claim not in ours and claim not in quoted])]
    parts += [f"{len(quoted)} {origins.QUOTED}"] if quoted else []
    parts += [f"of our own {_by_verdict(ours)}"] if ours else []
    return "; ".join(parts)


def _by_verdict(claims: Sequence[Table]) -> str:
    words = ("agrees", "disagrees", "undecided")
    return ", ".join(f"{sum(claim['verdict'] == word for claim in claims)} {word}" for word in words)


def _check_text(check: Table) -> str:
    if "ratio" in check:
        return f"{check['statement']}: ratio {check['ratio']:.3g}"
    if not {"low", "high"} & check.keys():
        return check["statement"]
    ends = [_with_sign(check[name]) if name in check else "?" for name in ("low", "high")]
    return f"{check['statement']}: difference [{', '.join(ends)}]"


def _with_sign(value: float) -> str:
    return f"{value:+,.0f}" if abs(value) >= 1000 else f"{value:+.2f}" if abs(value) >= 1 else f"{value:+.3g}"
