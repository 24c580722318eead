"""The page of a directory that `jaxbandit audit` wrote: a verdict for each rule, its error rate beside delta."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from jaxbandit.base.contract import Outcome
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage.json_files import read_json
from jaxbandit.lab.auditing.cell import CONSERVATIVE, CONSISTENT, UNDECIDED, VIOLATES, Finding
from jaxbandit.lab.report import provenance
from jaxbandit.lab.report.experiments import error_table, samples_table
from jaxbandit.running.results import names, report
from jaxbandit.running.results.base import ResultSet
from jaxbandit.running.results.doubts import FAULTS
from jaxbandit.support.document import Chart, Curve, Document, Notes, Section, Table, is_wide
from jaxbandit.support.refusals import BadInput
from jaxbandit.support.types import Table as Content

AUDIT = "audit.json"
COLORS = {CONSERVATIVE: 0, VIOLATES: 1, CONSISTENT: 2, UNDECIDED: 3}  # places in the palette of the charts
ENDED = ("stopped", "max_rounds")  # outcomes of runs that have a stopping time, which may be censored


@dataclass(frozen=True)
class _Cell:
    """The content of audit.json about one cell, with those attributes of a result that the shared tables read."""

    instance: str
    algorithm: str
    params: Content
    runs: int
    seed: int
    precision: str
    devices: Sequence[str]
    versions: Mapping[str, str]
    seconds: Mapping[str, float]
    run_steps: int
    warnings: Sequence[str]
    samples: Content  # empty if no run has a stopping time
    error: Content  # empty if no run stopped
    finding: Finding
    counts: Mapping[str, int]

    kind: ClassVar[str] = "identify"
    faults: ClassVar[Mapping[Outcome, str]] = FAULTS

    @property
    def counted(self) -> int:
        return sum(self.counts[name] for name in ENDED)

    @property
    def errors(self) -> int:
        """Number of stopped runs whose recommendation was wrong."""
        return round(self.error["rate"] * self.error["runs"]) if self.error else 0

    @property
    def unjudged(self) -> int:
        """Number of runs that did not stop by their rule, so that they may have been right or wrong."""
        return self.runs - self.counts["stopped"]

    @property
    def promised(self) -> str:
        return f"{self.finding.delta:g}" + ("" if self.error.get("proved", True) else " (heuristic)")

    def outcomes(self) -> Mapping[str, int]:
        return self.counts


def page_of(directory: Path) -> Document:
    """Return the document of an audit that has ended."""
    path = directory / AUDIT
    content = read_json(path, storage.RECOMPUTE)
    try:
        cells = [_cell(content, cell) for cell in content["cells"]]
        return _document(directory, content["name"], cells)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise BadInput(f"{path}: damaged ({type(error).__name__}: {error}); delete it and run again") from None


def _cell(content: Content, cell: Content) -> _Cell:
    labels = {name: cell[name] for name in ("instance", "algorithm", "params", "runs", "seconds", "run_steps")}
    about = {name: cell.get(name, content[name]) for name in ("seed", "precision", "devices")}
    finding = {name: cell["audit"][name] for name in ("verdict", "low", "high", "delta", "confidence", "runs")}
    return _Cell(
        **labels,
        **about,
        versions={name: content[name] for name in ("jaxbandit", "jax")},
        warnings=cell.get("warnings", []),
        samples=cell.get("samples", {}),
        error=cell.get("error", {}),
        finding=Finding(**finding, settled=True),
        counts=cell["outcomes"],
    )


def _document(directory: Path, name: str, cells: Sequence[_Cell]) -> Document:
    verdicts = Counter(cell.finding.verdict for cell in cells)
    counts = ", ".join(f"{verdict}: {verdicts[verdict]:,}" for verdict in COLORS if verdicts[verdict])
    runs = f"{sum(cell.runs for cell in cells):,} runs, seed {cells[0].seed}."
    which = "1 cell" if len(cells) == 1 else f"{len(cells):,} cells"
    about = [f"Audit of stopping rules: {which}, each one algorithm on one instance, {runs}", f"Verdicts: {counts}."]
    named = names.algorithms(cells)
    head, rows = ("instance", "algorithm"), [(cell.instance, name) for cell, name in zip(cells, named, strict=True)]
    contents = [
        {"samples": cell.samples, "error": cell.error, "runs": cell.runs, "outcomes": cell.counts} for cell in cells
    ]
    deltas = [cell.promised for cell in cells]
    note = "Each interval is a confidence sequence for its row alone. "
    note += "An error is a recommendation whose simple regret exceeds epsilon."
    spec = directory / "spec.toml"
    text = storage.read_text(spec, f"restore it, or {storage.RECOMPUTE}") if spec.exists() else ""
    shown: Any = tuple(cells)  # they have the attributes of a result that a page reads
    level = f"{100 * cells[0].finding.confidence:g} %"
    sections = [
        Section("Verdicts", [_chart(cells, level), _verdicts(named, cells, level)]),
        Section("Error rates", [error_table(head, rows, contents, deltas, note)]),
        Section("Samples", [samples_table(head, rows, contents)]),
        Section("How runs ended", [report.outcome_table(cells)]),
        provenance.warnings_of(cells),
        Section("Provenance", provenance.of_results(ResultSet(name, shown, text), directory)),
    ]
    return Document(name, [Notes(about), *sections])


def _verdicts(named: Sequence[str], cells: Sequence[_Cell], level: str) -> Table:
    rows = []
    for number, (name, cell) in enumerate(zip(named, cells, strict=True), 1):
        finding = cell.finding
        errors = f"{cell.errors:,}" + (f" to {cell.errors + cell.unjudged:,}" if cell.unjudged else "")
        bounds = f"[{finding.low:.3g}, {finding.high:.3g}]"
        rows.append((f"{number}", cell.instance, name, cell.promised, errors, f"{cell.runs:,}", bounds, f"{finding}"))
    head = ("cell", "instance", "algorithm", "delta", "errors", "runs", "bounds of the error rate", "verdict")
    notes = [
        f"All bounds hold together with {level} confidence, whenever the audit ends (confidence sequences, shared "
        "among the cells by Bonferroni's inequality)."
    ]
    if any(cell.unjudged for cell in cells):
        notes.append("A run that did not stop by its rule counts as right in the lower bound, as wrong in the upper.")
    return Table(head, rows, (0, 3, 4, 5), labels=3, caption="Verdict for each cell", notes=notes)


def _chart(cells: Sequence[_Cell], level: str) -> Chart:
    curves = []
    for verdict, order in COLORS.items():
        some = [(place, cell) for place, cell in enumerate(cells) if cell.finding.verdict == verdict]
        deltas = [cell.finding.delta for _, cell in some]
        rates = [cell.error.get("rate", cell.finding.low) for _, cell in some]
        columns = [rates, [cell.finding.low for _, cell in some], [cell.finding.high for _, cell in some]]
        scaled = ([value / delta for value, delta in zip(column, deltas, strict=True)] for column in columns)
        curves.append(Curve(verdict, order, [place for place, _ in some], *scaled))
    ends = [-0.5, len(cells) - 0.5]
    curves.append(Curve("delta", None, ends, [1.0, 1.0]))
    title = f"Error rate divided by delta, with bounds that hold together with {level} confidence"
    wide = is_wide([cell.finding.high / cell.finding.delta for cell in cells])
    numbers = [f"{number}" for number in range(1, len(cells) + 1)]
    return Chart(title, "cell", "error rate / delta", curves, shape="marks", log_x=None, log_y=wide, names=numbers)
