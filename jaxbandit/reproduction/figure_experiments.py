"""Reproduction of papers with one experiment a figure, such as those of runs that stop: published numbers beside ours.

In such a paper's TOML [paper.figures.NAME] is a table (see Figure): its instances, algorithms and runs are an
experiment of their own, in the directory of its name. A figure or table `within` another shows some of that one's
cells.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from jaxbandit.plotting.regret_curves import Bands
from jaxbandit.refusals import BadInput
from jaxbandit.reproduction import open_readings, published, regret_report, verdict
from jaxbandit.results import json_files
from jaxbandit.results.base import ResultSet
from jaxbandit.results.report import kinds_table
from jaxbandit.results.saving import summary
from jaxbandit.specs.registry import ENVIRONMENTS
from jaxbandit.stats import intervals
from jaxbandit.text import align, number


@dataclass(frozen=True)
class Figure:
    """A figure or a table of a paper, as its TOML has it."""

    name: str
    title: str
    instances: Sequence[str]
    algorithms: Sequence[str]
    runs: int = 0  # each; 0: those of the figure that it is within, or the paper's
    quick: int | Mapping[str, Any] = 0  # in a hurry: runs; or a table of runs, instances and algorithms
    max_rounds: int = 0  # of a run; 0: the paper's
    within: str = ""
    # Samples along the instances; pulls; box plots; what `run` draws; a figure that only runs the cells of others.
    draw: Literal["sweep", "pulls", "boxes", "each", "none"] = "each"
    axis: str = ""  # of a sweep: its label, and the instances' places on it
    at: Sequence[float] = ()
    bands: Bands = "95 %"  # of regret, as are the next two: see plot.plot
    minimax: bool = False
    log: bool = False
    span: bool = False  # features are written in an orthonormal basis of their span, as least squares needs them

    def hurried(self) -> "Figure":
        """Return the figure with its quick settings."""
        at = dict(zip(self.instances, self.at, strict=True)) if self.at else {}
        changed = dataclasses.replace(self, **(self.quick if isinstance(self.quick, Mapping) else {"runs": self.quick}))
        return dataclasses.replace(changed, at=[at[name] for name in changed.instances] if at else ())


def figures_of(paper: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the figures of the table [paper] by name; BadInput where two run one cell."""
    figures = {name: Figure(name=name, **table) for name, table in paper["figures"].items()}
    owners: dict[tuple[str, str], str] = {}
    for figure in figures.values():
        for cell in itertools.product(figure.instances, figure.algorithms):
            if not figure.within and owners.setdefault(cell, figure.name) != figure.name:
                raise BadInput(f"figures.{figure.name}: {'/'.join(cell)} is one of figures.{owners[cell]}; use within")
    return figures


def experiments(
    figures: Mapping[str, Figure], target: str = "", *, quick: bool = False, runs: int | None = None
) -> tuple[list[Figure], list[Figure]]:
    """Return the figures to run, with their `runs` settled, and those to show.

    Of a figure within another only the algorithms are run that this one lacks.

    Args:
      figures: of the paper.
      target: one of them alone; default: all. One that is within another is then run whole.
      quick: with their quick settings.
      runs: instead of theirs.
    """
    if target and target not in figures:
        raise BadInput(f"reproduce: figure = {target!r}, must be one of {', '.join(figures)}")
    settled = {name: figure.hurried() if quick else figure for name, figure in figures.items()}
    shown = [f for f in settled.values() if not target or target in (f.name, f.within)]
    run = []
    for figure in shown:
        source = settled[figure.within] if figure.within else figure
        known = source.algorithms if figure.within and figure.name != target else ()
        left = [name for name in figure.algorithms if name not in known]
        if left:
            run.append(dataclasses.replace(figure, algorithms=left, runs=runs or figure.runs or source.runs))
    return run, [figure for figure in shown if figure.draw != "none"]


def experiment(data: Mapping[str, Any], figure: Figure) -> dict[str, Any]:
    """Return the experiment of a figure: of the paper's one its cells and its runs."""
    name = f"{data['name']}-{figure.name}"
    part = dict(data) | {"name": name, "runs": figure.runs or data["runs"]}
    for key, wanted in (("instance", figure.instances), ("algorithm", figure.algorithms)):
        tables = {table["name"]: table for table in data[key]}
        part[key] = [tables[name] for name in wanted]
    if figure.max_rounds:
        part["max_rounds"] = figure.max_rounds
    if figure.span:
        part["instance"] = [_in_span(table) for table in part["instance"]]
    return part


def _in_span(instance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the instance as a linear one, where nothing has changed but the basis: all inner products are the same."""
    entry = ENVIRONMENTS[instance["type"]]
    description = entry.description()
    if description is None:
        raise BadInput(f"reproduce: span: instance {instance['name']} has no features")
    known = description(**{key: value for key, value in instance.items() if key not in ("name", "type")})
    features, theta = np.asarray(known["features"]), np.asarray(known["theta"])
    basis = np.linalg.svd(features)[2][: np.linalg.matrix_rank(features)]
    return {
        "name": instance["name"],
        "type": "linear",
        "features": (features @ basis.T).tolist(),
        "theta": (basis @ theta).tolist(),
        "noise": "gaussian" if entry.gaussian else "sign",
        "sigma": float(known["sigma"]),
    }


def cells(figure: Figure, results: ResultSet) -> list[Any]:
    """Return the results that a figure shows, in its order."""
    return [results[i, a] for i in figure.instances for a in figure.algorithms]


def assess(results: ResultSet, paper: Mapping[str, Any], shown: Sequence[Figure]) -> dict[str, Any]:
    """Return the summary of `results` with what `paper` says: `published`, `claims`, `untested`, `figures`."""
    claims = [narrowed(claim, results) for claim in open_readings.each_reading(paper)]
    confidence = paper["confidence"]
    theirs = published.numbers(paper.get("published", []), results)
    judged = verdict.judge(claims, results, confidence=confidence, others=len(theirs))
    checks = verdict.num_intervals(judged)
    level = intervals.bonferroni(confidence, checks + len(theirs))
    beside = [published.judge(n, results[n["instance"], n["algorithm"]], level) for n in theirs]
    first = results[0]
    content = summary(
        results.name,
        first.kind,
        first.seed,
        first.precision,
        results,
        paper={key: paper[key] for key in ("title", "authors", "year", "url", "confidence", "notes") if key in paper},
        figures=[dataclasses.asdict(figure) for figure in shown],
        published=beside,
        claims=judged,
        untested=list(paper.get("untested", [])),
    )
    readings = open_readings.table(paper, judged)
    content |= {} if readings is None else {"readings": readings}
    totals = {(e["instance"], e["algorithm"]): e for e in beside if e["quantity"] in ("samples", "regret")}
    for cell, result in zip(content["cells"], results, strict=True):
        if first.kind == "identify" and "pulls" in cell and result.counted > 1:
            pulls = result.arrays["pulls"][result.counts()].astype(np.float64)
            interval = intervals.student(pulls.mean(axis=0), pulls.var(axis=0, ddof=1), result.counted)
            cell["pulls"] |= {"low": interval.low, "high": interval.high}
        if (entry := totals.get((result.instance, result.algorithm))) is not None:
            kept = {k: v for k, v in entry.items() if k not in ("instance", "algorithm", "verdict")}
            cell |= {"published": kept, "verdict": entry["verdict"]}
    return json_files.plain(content)


def narrowed(claim: Mapping[str, Any], results: ResultSet) -> dict[str, Any]:
    """Return a claim on several instances or algorithms as one on those that were run; `in_part` where that is less."""
    held = {"instance": {r.instance for r in results}, "algorithm": {r.algorithm for r in results}}
    held["against"] = held["algorithm"]
    left = {k: kept for k in held if isinstance(claim.get(k), list) and (kept := [v for v in claim[k] if v in held[k]])}
    return dict(claim) | left | ({"in_part": True} if any(len(left[k]) < len(claim[k]) for k in left) else {})


def table(content: Mapping[str, Any], figure: Mapping[str, Any]) -> str:
    """Return a figure of a summary as text."""
    rows = [c for c in content["cells"] if c["instance"] in figure["instances"]]
    rows = [c for c in rows if c["algorithm"] in figure["algorithms"]]
    if content["kind"] == "simulate":
        parts = [regret_report.regret_table(i, [c for c in rows if c["instance"] == i]) for i in figure["instances"]]
        kinds = kinds_table(rows, content["published"])
        return "\n\n".join([figure["title"], *parts, *([kinds] if kinds else [])])
    beside = {(e["instance"], e["algorithm"], e["quantity"], e.get("arm")): e for e in content["published"]}
    lines = _pulls_table(rows, beside) if figure["draw"] == "pulls" else _samples_table(rows, beside)
    counts = " or ".join(f"{runs:,}" for runs in sorted({row["runs"] for row in rows}))
    return "\n".join([f"{figure['title']}; {counts} runs", lines, *regret_report.left_out(rows)])


def _samples_table(rows: Sequence[Mapping[str, Any]], beside: Mapping[Any, Mapping[str, Any]]) -> str:
    head = ("instance", "algorithm", "mean samples", "95 % interval", "error", "95 % interval", "")
    lines: list[tuple[str, ...]] = [(*head, "published", "", "published error", "")]
    for row in rows:
        key = (row["instance"], row["algorithm"])
        samples, error = row.get("samples", {}), row.get("error", {})
        mean = samples.get("mean", samples.get("restricted_mean"))
        censored = row["outcomes"].get("max_rounds", 0)
        lines.append(
            (
                *key,
                "" if mean is None else "> " * (censored > 0) + number(mean),
                f"[{number(samples['low'])}, {number(samples['high'])}]" if "low" in samples else "",
                f"{error['rate']:.4f}" if error else "",
                f"[{error['low']:.4f}, {error['high']:.4f}]" if error else "",
                f"{censored:,} censored" if censored else "",
                *_theirs(beside.get((*key, "samples", None))),
                *_theirs(beside.get((*key, "error", None))),
            )
        )
    return _aligned(lines)


def _pulls_table(rows: Sequence[Mapping[str, Any]], beside: Mapping[Any, Mapping[str, Any]]) -> str:
    lines = [("instance", "algorithm", "arm", "mean pulls", "95 % interval", "share", "published", "")]
    for row in rows:
        pulls = row["pulls"]
        means = pulls.get("mean", pulls.get("restricted_mean"))
        for arm, mean in enumerate(means):
            interval = f"[{number(pulls['low'][arm])}, {number(pulls['high'][arm])}]" if "low" in pulls else ""
            entry = beside.get((row["instance"], row["algorithm"], "pulls", arm))
            share = f"{100 * mean / sum(means):.2f} %"
            lines.append((row["instance"], row["algorithm"], str(arm), number(mean), interval, share, *_theirs(entry)))
    return _aligned(lines)


def _theirs(entry: Mapping[str, Any] | None) -> tuple[str, str]:
    if entry is None:
        return "", ""
    value = f"{entry['value']:.4f}" if entry["quantity"] == "error" else number(entry["value"])
    return value, entry["verdict"] + (f" ({entry['note']})" if entry.get("note") else "")


def _aligned(lines: Sequence[tuple[str, ...]]) -> str:
    """Align the columns that hold something, numbers to the right."""
    kept = [column for column in zip(*lines, strict=True) if any(column[1:])]
    right = [i for i, column in enumerate(kept) if column[0] not in ("instance", "algorithm", "")]
    return align(list(zip(*kept, strict=True)), right)
