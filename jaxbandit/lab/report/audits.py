"""The page of a directory that `jaxbandit audit` wrote: a verdict for each rule, its error rate beside delta."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage.json_files import read_json
from jaxbandit.lab.auditing.cell import CONSERVATIVE, CONSISTENT, UNDECIDED, VIOLATES, Finding
from jaxbandit.lab.report import charts, comparisons, parts, provenance
from jaxbandit.lab.report.charts import Chart, Curve
from jaxbandit.lab.report.page import Page
from jaxbandit.running.results import names, report
from jaxbandit.running.results.base import ResultSet
from jaxbandit.running.results.stopping import QUANTILES
from jaxbandit.support import text
from jaxbandit.support.markup import Html
from jaxbandit.support.refusals import BadInput
from jaxbandit.support.types import Table

AUDIT = "audit.json"
COLORS = {CONSERVATIVE: 0, VIOLATES: 1, CONSISTENT: 2, UNDECIDED: 3}  # places in the palette of the charts
ENDED = ("stopped", "max_rounds")  # outcomes of runs that have a stopping time, which may be censored


@dataclass(frozen=True)
class _Cell:
    """The content of audit.json about one cell, with those attributes of a result that the shared tables read."""

    instance: str
    algorithm: str
    params: Table
    runs: int
    seed: int
    precision: str
    devices: Sequence[str]
    versions: Mapping[str, str]
    seconds: Mapping[str, float]
    run_steps: int
    warnings: Sequence[str]
    samples: Table  # empty if no run has a stopping time
    error: Table  # empty if no run stopped
    finding: Finding
    counts: Mapping[str, int]

    kind: ClassVar[str] = "identify"

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


def page_of(directory: Path) -> Page:
    """Return the page of an audit that has ended.

    Raises:
      BadInput: audit.json is damaged.
    """
    path = directory / AUDIT
    content = read_json(path, storage.RECOMPUTE)
    try:
        cells = [_cell(content, cell) for cell in content["cells"]]
        return _page(directory, content["name"], cells)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise BadInput(f"{path}: damaged ({type(error).__name__}: {error}); delete it and run again") from None


def _cell(content: Table, cell: Table) -> _Cell:
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


def _page(directory: Path, name: str, cells: Sequence[_Cell]) -> Page:
    verdicts = Counter(cell.finding.verdict for cell in cells)
    counts = ", ".join(f"{verdict}: {verdicts[verdict]:,}" for verdict in COLORS if verdicts[verdict])
    runs = f"{sum(cell.runs for cell in cells):,} runs, seed {cells[0].seed}."
    which = "1 cell" if len(cells) == 1 else f"{len(cells):,} cells"
    about = [f"Audit of stopping rules: {which}, each one algorithm on one instance, {runs}", f"Verdicts: {counts}."]
    page = Page(name, about)
    named = names.algorithms(cells)
    page.add("Verdicts", *_verdicts(page, named, cells))
    page.add("Error rates", _error_rates(named, cells))
    page.add("Samples", _samples(named, cells))
    page.add("How runs ended", comparisons.outcomes(cells))
    provenance.warnings_of(page, cells)
    spec = directory / "spec.toml"
    shown: Any = tuple(cells)  # they have the attributes of a result that a page reads
    results = ResultSet(
        name, shown, storage.read_text(spec, f"restore it, or {storage.RECOMPUTE}") if spec.exists() else ""
    )
    page.add("Provenance", *provenance.of_results(results, directory))
    return page


def _verdicts(page: Page, named: Sequence[str], cells: Sequence[_Cell]) -> list[Html | None]:
    rows = []
    for number, (name, cell) in enumerate(zip(named, cells, strict=True), 1):
        finding = cell.finding
        errors = f"{cell.errors:,}" + (f" to {cell.errors + cell.unjudged:,}" if cell.unjudged else "")
        bounds = f"[{finding.low:.3g}, {finding.high:.3g}]"
        rows.append((f"{number}", cell.instance, name, cell.promised, errors, f"{cell.runs:,}", bounds, f"{finding}"))
    level = f"{100 * cells[0].finding.confidence:g} %"
    head = ("cell", "instance", "algorithm", "delta", "errors", "runs", "bounds of the error rate", "verdict")
    note = f"All bounds hold together with {level} confidence, whenever the audit ends (confidence sequences, shared "
    note += "among the cells by Bonferroni's inequality)."
    if any(cell.unjudged for cell in cells):
        note += " A run that did not stop by its rule counts as right in the lower bound and as wrong in the upper one."
    table = parts.table("Verdict for each cell", head, rows, labels=3, numbers=[0, 3, 4, 5], foot=note)
    return [page.chart(_chart(cells, level)), table]


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
    wide = charts.is_wide([cell.finding.high / cell.finding.delta for cell in cells])
    numbers = [f"{number}" for number in range(1, len(cells) + 1)]
    return Chart(title, "cell", "error rate / delta", curves, shape="marks", log_x=None, log_y=wide, names=numbers)


def _error_rates(named: Sequence[str], cells: Sequence[_Cell]) -> Html | None:
    rows = []
    for name, cell in zip(named, cells, strict=True):
        error = cell.error
        if error:
            of = f"{cell.errors:,} of {error['runs']:,}"
            interval = f"[{error['low']:.3g}, {error['high']:.3g}]"
            rows.append((cell.instance, name, of, f"{error['rate']:.3g}", interval, cell.promised))
    if not rows:
        return None
    head = ("instance", "algorithm", "errors", "error rate", "95 % interval", "delta")
    note = "Rates are over the runs that stopped. Each interval is a confidence sequence for its row alone. "
    note += "An error is a recommendation whose simple regret exceeds epsilon."
    return parts.table(
        "Error rate of each cell beside its delta", head, rows, labels=2, numbers=[2, 3, 4, 5], foot=note
    )


def _samples(named: Sequence[str], cells: Sequence[_Cell]) -> Html | None:
    rows = []
    for name, cell in zip(named, cells, strict=True):
        samples = cell.samples
        if not samples:
            continue
        mean = samples.get("mean", samples.get("restricted_mean"))
        ends = [samples[end] for end in ("low", "high") if end in samples]
        shown = text.with_interval(mean, *ends) if ends else text.number(mean)
        beyond = f"> {samples['max_rounds']:,}" if "max_rounds" in samples else ""
        limits = [report.ends(samples, f"{q}_low", f"{q}_high", beyond) for q in QUANTILES]
        shown_quantiles = [f"{samples[q]:,}" if q in samples else beyond for q in QUANTILES]
        quantiles = [f"{mark} {ends}".strip() for mark, ends in zip(shown_quantiles, limits, strict=True)]
        censored = f"{cell.counts['max_rounds']:,} of {cell.runs:,}"
        rows.append((cell.instance, name, "> " * bool(cell.counts["max_rounds"]) + shown, *quantiles, censored))
    if not rows:
        return None
    head = ("instance", "algorithm", "mean [95 %]", *(f"{100 * q:g} %" for q in QUANTILES.values()), "censored")
    note = "A run that reached max_rounds is censored: quantiles are Kaplan-Meier estimates, and a mean after > is "
    note += "that of min(samples, max_rounds). The 95 % interval of a quantile is between two of the runs."
    return parts.table("Samples until a run stops", head, rows, labels=2, numbers=range(2, len(head)), foot=note)
