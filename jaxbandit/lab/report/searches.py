"""The page of a directory that `jaxbandit tune` wrote: survivors by batch, means with intervals, certificate."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit.decide.core.wording import rare_heading
from jaxbandit.decide.tuning import loading
from jaxbandit.decide.tuning.store import ABOUT, read_about
from jaxbandit.running.plotting.style import SIZE, canvas, plain_text
from jaxbandit.running.plotting.tuning import plot_tuning
from jaxbandit.support.document import Block, Chart, Curve, Document, Facts, Figure, Notes, Section, fold, is_wide
from jaxbandit.support.document import Table as Cells
from jaxbandit.support.types import Json, Table

DRAWN, SHOWN = 40, 1000  # configurations in the chart and in the table


def page_of(directory: Path) -> Document:
    """Return the report of a finished search."""
    result = loading.load(directory)
    summary, history, count = result.to_json(), result.history, result.configs.count
    rows: list[Json] = summary["configurations"]
    chosen, texts = result.index, {i: result.configs.text(i) for i in range(count)}
    best = f"Chosen: configuration {chosen}, {texts[chosen]}; {_score(summary['chosen'], _statistic(summary))}."
    search = summary.get("search")  # of proposals
    of = f"{search['proposals']:,} proposals by {search['proposer']}, and of finalists" if search else ""
    spent = f"{summary['trainings']:,} training runs of {of or f'{count:,} configurations'}"
    ended = f", ended by {summary['ended_by']}" if "ended_by" in summary else ""
    first = [f"{summary['contradiction'].capitalize()}."] if "contradiction" in summary else []
    certificate = summary.get("certificate")
    statistic = _statistic(summary)
    versions = ", ".join(f"{name} {summary[name]}" for name in ("jaxbandit", "jax") if name in summary)
    better = "larger" if summary["maximize"] else "smaller"
    seeds = f"{len(np.unique(history['seed'])):,}" if "seed" in history else None
    about = {"directory": directory.resolve().name, "versions": versions, "better scores are": better, "seeds": seeds}
    sections = [
        Section("Certificate", [*(promise(certificate) if certificate else ()), Notes(summary["notes"])]),
        Section("Configurations by batch", _by_batch(history, count)),
        Section(f"{statistic.capitalize()} scores", _scores(rows, texts, chosen, statistic)),
        Section("Figure", [Figure(plain_text(plot_tuning(result, canvas(SIZE))))]),
        Section("Provenance", [Facts(about), *_spec(directory)]),
    ]
    lead = Notes([*first, f"Search for the best configuration. {spent}{ended}.", best])
    return Document(directory.resolve().name, [lead, *sections])


def promise(certificate: Table) -> list[Block]:
    """Return the guarantee, rare events and assumptions of a certificate, given as `Certificate.to_json` returns it."""
    known = {"known": certificate["known"]} if "known" in certificate else {}
    entries = {"rule": certificate["rule"], "guarantee": certificate["promise"], **known}
    entries |= {name: certificate.get(name) for name in ("delta", "epsilon", "m")}
    entries |= {"stopped": "yes" if certificate["stopped"] else "not yet"}
    shown: list[Block] = [Facts(entries)]
    if line := certificate.get("contradiction"):
        shown.insert(0, Notes([line]))
    if lines := certificate.get("rare_events"):
        heading = rare_heading(certificate.get("coverage"))
        shown.append(Section("Rare events", [Notes([f"{heading}:"]), Notes(lines)]))
    if lines := certificate.get("notes"):
        shown.append(Notes(lines, "Remarks"))
    if lines := certificate.get("assumptions"):
        shown.append(Notes(lines, "Assumptions"))
    return shown


def _spec(directory: Path) -> list[Block]:
    """Return what the scores of the search have in common."""
    if not (directory / ABOUT).exists():
        return []
    return [fold("Scores of the search", Facts(read_about(directory)))]


def _value(row: Json) -> Any:
    """What a configuration is judged by: a quantile of its scores, or their mean; None if it is not known."""
    return row.get("quantile", row.get("mean"))


def _statistic(summary: Table) -> str:
    return (summary.get("certificate") or {}).get("statistic", "mean")


def _score(row: Json, statistic: str) -> str:
    if (value := _value(row)) is None:
        return "not scored"
    interval = f" [{row['low']:.5g}, {row['high']:.5g}]" if {"low", "high"} <= row.keys() else ""
    return f"{statistic} score {value:.5g}{interval}"


def _by_batch(history: Mapping[str, np.ndarray], count: int) -> list[Block]:
    pairs = np.unique(np.stack([history["batch"], history["config"]]), axis=1)
    batches, left = np.unique(pairs[0], return_counts=True)
    trainings = np.unique(history["batch"], return_counts=True)[1]
    title = (
        f"Configurations trained in each batch, out of {count:,}; a batch is the training runs between two decisions"
    )
    curve = Curve("configurations", 0, np.append(batches + 1, batches[-1] + 2), np.append(left, left[-1]))
    chart = Chart(title, "batch of training runs", "configurations", [curve], shape="step", log_y=is_wide(left))
    rows = [tuple(f"{int(n):,}" for n in row) for row in zip(batches + 1, left, trainings, strict=True)]
    head = ("batch", "configurations trained", "training runs")
    table = Cells(head, rows, right=range(3), caption="Configurations by batch")
    return [chart, table if len(rows) <= 20 else fold("Table: configurations by batch", table)]


def _scores(rows: Sequence[Json], texts: Mapping[int, str], chosen: int, statistic: str) -> list[Block]:
    scored = [row for row in rows if _value(row) is not None][:DRAWN]
    curves = []
    of_chosen = [(i, row) for i, row in enumerate(scored) if row["index"] == chosen]
    others = [(i, row) for i, row in enumerate(scored) if row["index"] != chosen]
    for label, order, some in (("chosen", 1, of_chosen), ("other configurations", 0, others)):
        ends = (
            [_value(row) for _, row in some],
            *([row.get(e, _value(row)) for _, row in some] for e in ("low", "high")),
        )
        curves.append(Curve(label, order, [i for i, _ in some], *ends))
    title = f"{statistic.capitalize()} score of each configuration with its interval, survivors first, then by score"
    named = [f"{row['index']}" for row in scored]
    chart = Chart(title, "configuration", "score", curves, shape="marks", log_x=None, log_y=None, names=named)
    notes = []
    if len(rows) > DRAWN:
        notes.append(f"Out of {len(rows):,} configurations, the first {DRAWN} of the table are drawn.")
    if len(rows) > SHOWN:
        notes.append(
            f"Out of {len(rows):,} configurations, the first {SHOWN:,} are tabulated; table.npz holds all of them."
        )
    cells, first = [], any("first_score" in row for row in rows)  # of proposals
    for row in rows[:SHOWN]:
        left = "chosen" if row["index"] == chosen else "yes" if row["survivor"] else ""
        values = [*([row.get("first_score")] if first else []), _value(row), row.get("low"), row.get("high")]
        numbers = ["" if value is None else f"{value:.6g}" for value in values]
        cells.append((str(row["index"]), texts[row["index"]], f"{row['pulls']:,}", *numbers, left))
    names = (*(["first score"] if first else []), f"{statistic} score", "low", "high")
    head = ("number", "configuration", "training runs", *names, "survives")
    numeric = [0, *range(2, 3 + len(names))]
    return [chart, Cells(head, cells, numeric, labels=2, caption="Configurations", notes=notes)]
