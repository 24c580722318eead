"""The page of a directory that `jaxbandit reproduce` wrote, with published numbers and claims beside ours."""

from collections.abc import Sequence
from pathlib import Path

from jaxbandit.lab.papers import origins
from jaxbandit.lab.report import experiments, provenance
from jaxbandit.running.results.loading import load_results
from jaxbandit.support.document import Document, Notes, Section
from jaxbandit.support.document import Table as Cells
from jaxbandit.support.types import Table


def page_of(directory: Path, summary: Table) -> Document:
    """Return the page of a reproduction."""
    paper = summary["paper"]
    about = [", ".join(paper.get("authors", [])), f"{paper.get('year', '')}, {paper.get('url', '')}"]
    untested = [f"Not tested: {c['text']} ({origins.place(c)}): {c['reason']}" for c in summary.get("untested", [])]
    untested += summary.get("skipped", [])
    notes = [f"({name}) {note}" for name, note in paper.get("notes", {}).items()]
    sections = [
        Section("Claims", [_claims(summary.get("claims", [])), Notes(untested)]),
        Section("Published numbers", [_published(summary), Notes(notes)]),
    ]
    places = sorted({path.parent for path in directory.rglob("cell-*.json")})
    for part in places:
        results = load_results(part)
        name = part.relative_to(directory).as_posix()
        sections += experiments.sections(results, prefix=f"{name}: ", share=len(places))
        sections.append(Section(f"{name}: Provenance", provenance.of_results(results, part)))
    title = paper.get("title", summary.get("name", directory.name))
    return Document(title, [Notes([line for line in about if line.strip(", ")]), *sections])


def _claims(claims: Sequence[Table]) -> Cells:
    rows = [(str(c.get("id", "")), c.get("text", ""), origins.verdict_of(c), origins.place(c)) for c in claims]
    head = ("claim", "what the paper states", "verdict", "where")
    return Cells(head, rows, caption="Claims of the paper, with verdicts from our confidence intervals")


def _published(summary: Table) -> Cells:
    cells = {(cell["instance"], cell["algorithm"]): cell for cell in summary.get("cells", [])}
    rows = []
    for entry in summary.get("published", []):
        key = entry["instance"], entry["algorithm"]
        value = _ours(cells.get(key, {}), entry)
        allowed = entry.get("allowed", [])
        equal = f"all of ours {entry['equal']:,.6g}" if "equal" in entry else ""
        interval = f"[{', '.join(f'{end:,.6g}' for end in allowed)}]" if allowed else equal
        ours = "" if value is None else f"{value:,.6g}"
        verdict = origins.verdict_of(entry) + (f" ({entry['note']})" if entry.get("note") else "")
        shown = (entry["quantity"], f"{entry['value']:,.6g}", interval, ours, verdict)
        rows.append((*key, *shown, origins.place(entry)))
    head = ("instance", "algorithm", "quantity", "published", "prediction interval", "ours", "verdict", "source")
    note = (
        "A published number agrees if it lies in the prediction interval, which accounts for the noise of both numbers."
    )
    return Cells(head, rows, (3, 4, 5), labels=2, caption="Published numbers compared with ours", notes=[note])


def _ours(cell: Table, entry: Table) -> float | None:
    """Return our value of a published quantity, the last one of a curve; None if it refers to a part of the cell."""
    ours = cell.get(entry["quantity"], {})
    if any(name in entry for name in ("arm", "round", "at")):
        return None
    value = next((ours[name] for name in ("rate", "mean", "restricted_mean") if name in ours), None)
    if isinstance(value, list):
        return value[-1] if value and "at" in ours else None
    return value
