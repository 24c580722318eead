"""The provenance of results: experiment, seed, versions, devices and seconds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxbandit.engine.storage.files import RECOMPUTE
from jaxbandit.engine.storage.json_files import read_json
from jaxbandit.running.results import names, report
from jaxbandit.running.results.base import Result, ResultSet
from jaxbandit.running.results.saving import PROVENANCE
from jaxbandit.support.document import Block, Notes, Section, Table, Verbatim, fold


def of_results(results: ResultSet, directory: Path) -> list[Block | None]:
    """Return the provenance of a ResultSet, with what the provenance file of its directory adds."""
    about = read_json(directory / PROVENANCE, RECOMPUTE) if (directory / PROVENANCE).exists() else {}
    facts = {
        "platform": about.get("versions", {}).get("platform"),
        **{f"source of {name}": f"sha256 {digest}" for name, digest in about.get("sources", {}).items()},
        **{f"data {name}": f"sha256 {digest}" for name, digest in about.get("files", {}).items()},
    }
    spec = fold("Experiment (spec.toml)", Verbatim(results.spec)) if results.spec else None
    return [report.sources(results, parameters="", **facts), _cells(results), spec]


def _cells(results: Sequence[Result]) -> Table:
    rows = []
    for name, result in zip(names.algorithms(results), results, strict=True):
        lanes = getattr(result, "lane_utilization", None)
        params = ", ".join(f"{key} = {value}" for key, value in result.params.items())
        seconds = [f"{result.seconds.get(part, 0.0):,.2f}" for part in ("compile", "run")]
        used = "" if lanes is None else f"{100 * lanes:.0f} %"
        rows.append((result.instance, name, params, f"{result.runs:,}", *seconds, f"{result.run_steps:,}", used))
    head = ("instance", "algorithm", "parameters", "runs", "seconds of compilation", "seconds of runs", "run-steps")
    caption = "Cells, each one algorithm on one instance"
    return Table((*head, "lane utilization"), rows, right=range(3, 8), labels=2, caption=caption)


def warnings_of(results: Sequence[Any]) -> Section:
    """Return a section with the warnings of the results."""
    lines = [f"{r.instance}, {r.algorithm}: {line}" for r in results for line in getattr(r, "warnings", ())]
    return Section("Warnings", [Notes(lines)])
