"""Reproduction of a published experiment: run its TOML, then set our numbers and verdicts beside the paper's.

A paper's TOML is an experiment with one more table, [paper]: title, figures (name -> instances), quick settings, claims
(verdict.py), untested, published and cost. Where a figure is a table, figures are experiments of their own
(figure_experiments.py, published.py), with instances of their own (own_instances.py), readings of an algorithm
(open_readings.py) and tables in which nothing is pulled (tables/).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxbandit.checks import nearest
from jaxbandit.engine import storage
from jaxbandit.plotting import figures
from jaxbandit.plotting.style import file_name
from jaxbandit.refusals import BadInput
from jaxbandit.reproduction import drawing, figure_experiments, nearness, open_readings, own_instances, verdict
from jaxbandit.reproduction.regret_report import cost, regret_table
from jaxbandit.reproduction.tables import computed
from jaxbandit.results import json_files
from jaxbandit.results.base import ResultSet, versions
from jaxbandit.results.loading import load
from jaxbandit.results.saving import SCHEMA, summary
from jaxbandit.text import align


@dataclass(frozen=True)
class Reproduction:
    """What `reproduce` found: the directory, its figures, and the summary that `--json` prints."""

    directory: Path
    figures: tuple[Path, ...]
    summary: dict[str, Any]

    def table(self) -> str:
        """Return regret, claims and cost as text."""
        return report(self.summary)


def papers() -> dict[str, str]:
    """Return the papers that can be reproduced: name -> title and year."""
    from jaxbandit.specs import source

    tables = {name: source.read(path).get("paper") for name, path in source.embedded().items()}
    return {name: f"{table['title']} ({table['year']})" for name, table in tables.items() if table}


def reproduce(
    target: str,
    *,
    out: str | Path | None = None,
    quick: bool = False,
    runs: int | None = None,
    horizon: int | None = None,
    data_directory: str | Path | None = None,
    progress: bool | None = True,
    workers: int | None = None,
    tile: int | None = None,
    max_failed: float = 0.0,
) -> Reproduction:
    """Run a paper's experiments, or what of them `out` still lacks, and judge its claims.

    Args:
      target: "PAPER" or "PAPER/FIGURE", for instance "ucboost/a".
      out: directory of the results; default: the target's name in the current directory.
      quick: the paper's quick settings, fewer runs: wider intervals, more claims undecided.
      runs: number of runs instead of the paper's (or quick's).
      horizon: rounds a run instead of the paper's; of a fixed horizon only. [paper.runs_at] may have its runs.
      data_directory: where recorded data lie that a figure needs; without it such a figure is left out, and said so.
      progress: as for `run_experiment`, like workers and tile.
      max_failed: share of a cell's runs that may go wrong, in [0, 1]; more is an error. The cells are kept.

    Returns:
      A Reproduction; `out` then also holds summary.json, figures and, of runs that stop, tables.txt and a
      directory of results for each figure that is run.

    Raises:
      ValueError: no such paper or figure, or `out` holds another experiment.
    """
    from jaxbandit.running.experiment import run_experiment
    from jaxbandit.specs.spec import parse

    data, paper, source = _read(target)
    directory = Path(target.replace("/", "-") if out is None else out)
    options: dict[str, Any] = {"progress": progress, "workers": workers, "max_failed": max_failed}
    if data["kind"] == "identify" and horizon is not None:
        raise BadInput(f"reproduce: horizon = {horizon}: only for a fixed horizon; leave it out")
    if _apart(paper):
        if horizon is not None:
            data["horizon"] = horizon
            runs = paper.get("runs_at", {}).get(str(horizon)) if runs is None and not quick else runs
        figure = target.partition("/")[2]
        missing = own_instances.add_instances(data, paper, None if data_directory is None else Path(data_directory))
        paper["published"] = own_instances.one_each(paper.get("published", []))
        rare = quick and runs is None
        known, skipped = own_instances.split(figure_experiments.figures_of(paper), missing, figure, quick=rare)
        sizes, lines = computed.wanted(paper, figure, quick=quick, runs=runs)
        wanted = not figure or figure not in sizes
        run, shown = figure_experiments.experiments(known, figure, quick=quick, runs=runs) if wanted else ([], [])
        extra = {"complexity": computed.evaluate(paper, directory, sizes), "skipped": [*skipped, *lines]}
        options |= {"tile": tile} if data["kind"] == "simulate" else {}
        return _reproduce_apart(data, paper, source, directory, run, shown, extra, options)
    given = {"runs": runs, "horizon": horizon}
    data |= (paper["quick"] if quick else {}) | {key: value for key, value in given.items() if value is not None}
    marks = [entry["at"] for entry in paper.get("published", []) if entry["at"] < data["horizon"]]
    if marks and "checkpoints" not in data:
        from jaxbandit.engine.horizon import default_checkpoints

        data["checkpoints"] = sorted({*default_checkpoints(data["horizon"]).tolist(), *marks})
    experiment = parse(data, source)
    run_experiment(experiment, directory, tile=tile, **options)
    results = load(directory)
    content = assess(results, paper)
    json_files.write_json(directory / "summary.json", content)
    return Reproduction(directory, tuple(figures.write_figures(results, directory)), content)


def _apart(paper: Mapping[str, Any]) -> bool:
    """Whether the figures are experiments of their own."""
    return any(isinstance(figure, Mapping) for figure in paper["figures"].values())


def _reproduce_apart(
    data: dict[str, Any],
    paper: dict[str, Any],
    source: str,
    directory: Path,
    run: Sequence[figure_experiments.Figure],
    shown: Sequence[figure_experiments.Figure],
    extra: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Reproduction:
    from jaxbandit.running.side_by_side import run_experiments
    from jaxbandit.specs.spec import parse

    experiments = [(figure.name, own_instances.parts(figure_experiments.experiment(data, figure))) for figure in run]
    parts = [(parse(p, source), directory / name / file_name(k)) for name, some in experiments for k, p in some.items()]
    if parts:
        run_experiments(parts, at_once=paper.get("at_once", 1), **options)
    loaded = [load(place) for _, place in parts]
    results = ResultSet(data["name"], tuple(result for part in loaded for result in part))
    content = figure_experiments.assess(results, paper, shown) if run else _without_cells(data, paper)
    content["claims"] += nearness.judge(paper.get("near", []), paper.get("published", []), results)
    content["claims"] += computed.judge(paper.get("share", []), extra["complexity"])
    longer = {int(key): value for key, value in paper.get("runs_at", {}).items()}
    extra = dict(extra) | {"longer": cost(content, longer) if longer else []}
    content |= {key: value for key, value in extra.items() if value}
    json_files.write_json(directory / "summary.json", content)
    found = Reproduction(directory, tuple(drawing.write(shown, results, content, directory)), content)
    storage.write_bytes(directory / "tables.txt", f"{found.table()}\n".encode())
    return found


def _without_cells(data: Mapping[str, Any], paper: Mapping[str, Any]) -> dict[str, Any]:
    """Return the summary of a reproduction in which nothing is pulled."""
    about = {key: paper[key] for key in ("title", "authors", "year", "url", "confidence")}
    head = {"schema": SCHEMA} | {key: data[key] for key in ("name", "kind", "seed")}
    head |= {key: value for key, value in versions().items() if key in ("jaxbandit", "jax")}
    empty = {"cells": [], "figures": [], "published": [], "claims": [], "untested": []}
    return json_files.plain({**head, "devices": [], "precision": "float64", "paper": about, **empty})


def assess(results: ResultSet, paper: Mapping[str, Any]) -> dict[str, Any]:
    """Return the summary of `results` with what `paper` says: `published`, `claims`, `untested`, `table2`."""
    first = results[0]
    judged = verdict.judge(
        paper.get("claim", []),
        results,
        confidence=paper["confidence"],
        timing_noise=paper["timing_noise"],
    )
    about = {key: paper[key] for key in ("title", "authors", "year", "url", "confidence", "timing_noise")}
    content = summary(
        results.name,
        first.kind,
        first.seed,
        first.precision,
        results,
        paper=about,
        claims=judged,
        untested=list(paper.get("untested", [])),
        table2=cost_table(results, paper),
    )
    for entry in paper.get("published", []):
        for cell, result in zip(content["cells"], results, strict=True):
            if (result.instance, result.algorithm) == (entry["instance"], entry["algorithm"]):
                cell |= verdict.judge_published(entry, result) or {}
    return json_files.plain(content)


def cost_table(results: ResultSet, paper: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the time of an arm and round, ours and published, and their ratios to the reference's."""
    published = {entry["instance"]: entry for entry in paper.get("cost", [])}
    reference = {r.instance: r for r in results if r.algorithm == paper["reference"]}
    rows = []
    for result in results:
        entry = published.get(result.instance)
        # A cell that was taken from disk complete has no steps of its own to time.
        if entry is None or not result.run_steps:
            continue
        row = {"instance": result.instance, "algorithm": result.algorithm, "source": entry["source"]}
        row |= {"nanoseconds": verdict.nanoseconds(result), "compile_seconds": result.seconds["compile"]}
        base = reference.get(result.instance)
        if base is not None and base.run_steps:
            row["ratio"] = verdict.nanoseconds(result) / verdict.nanoseconds(base)
        theirs = entry["microseconds"]
        if result.algorithm in theirs:
            row["published_microseconds"] = theirs[result.algorithm]
            row["published_ratio"] = theirs[result.algorithm] / theirs[paper["reference"]]
        rows.append(row)
    return rows


def report(content: Mapping[str, Any]) -> str:
    """Return the summary of a reproduction as text for people."""
    paper = content["paper"]
    parts = [f"{paper['title']} ({paper['year']})\n{paper['url']}"]
    if "figures" in content:
        tables = [figure_experiments.table(content, figure) for figure in content["figures"]]
        tables += [computed.text(table) for table in content.get("complexity", [])]
        notes = [f"({name}) {text}" for name, text in paper.get("notes", {}).items()]
        apart = ["\n".join(lines) for lines in (notes, content.get("skipped", []), content.get("longer", [])) if lines]
        readings = [open_readings.text(content["readings"])] if "readings" in content else []
        return "\n\n".join([*parts, *tables, *apart, _claims_table(content), *readings])
    for instance in dict.fromkeys(cell["instance"] for cell in content["cells"]):
        parts.append(regret_table(instance, [c for c in content["cells"] if c["instance"] == instance]))
    parts.append(_claims_table(content))
    if content["table2"]:
        parts.append(_cost_text(content["table2"]))
    return "\n\n".join(parts)


def _read(target: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Return the experiment, reduced to the figure asked for, its table [paper], and the file's name."""
    from jaxbandit.specs import source

    name, _, figure = target.partition("/")
    known = papers()
    if name not in known:
        raise BadInput(f"reproduce: paper = {name!r}, must be one of {', '.join(known)}{nearest(name, list(known))}")
    path = source.embedded()[name]
    data = source.read(path)
    paper = data.pop("paper")
    if figure and not _apart(paper):
        known_figures = paper["figures"]
        if figure not in known_figures:
            raise BadInput(f"reproduce: figure = {figure!r}, must be one of {', '.join(known_figures)}")
        data["instance"] = [item for item in data["instance"] if item["name"] in known_figures[figure]]
    return data, paper, path.name


def _claims_table(content: Mapping[str, Any]) -> str:
    rows = [("claim", "verdict", "", "decided by")]
    for claim in content["claims"]:
        checks = [check for check in claim["checks"] if check["verdict"] == claim["verdict"]]
        text = f"{claim['text']} (in part)" if claim.get("in_part") else claim["text"]
        text = f"{claim['reading']}: {text}" if "reading" in claim else text
        rows.append((claim["id"], claim["verdict"], text, _check_text(checks[0])))
    words = ("agrees", "disagrees", "undecided")
    counts = ", ".join(f"{sum(c['verdict'] == word for c in content['claims'])} {word}" for word in words)
    what = "published numbers and claims" if "figures" in content else "regret"
    confidence = f"all intervals on {what} hold together with {100 * content['paper']['confidence']:g} %"
    left = [f"not tested: {item['text']} ({item['source']}): {item['reason']}" for item in content["untested"]]
    return "\n".join([f"claims: {counts} ({confidence})", align(rows), *left])


def _check_text(check: Mapping[str, Any]) -> str:
    if "ratio" in check:
        return f"{check['statement']}: ratio {check['ratio']:.3g}"
    if not {"low", "high"} & check.keys():
        return check["statement"]
    ends = [_signed(check[name]) if name in check else "?" for name in ("low", "high")]
    return f"{check['statement']}: difference [{', '.join(ends)}]"


def _signed(value: float) -> str:
    return f"{value:+,.0f}" if abs(value) >= 1000 else f"{value:+.2f}" if abs(value) >= 1 else f"{value:+.3g}"


def _cost_text(rows: list[dict[str, Any]]) -> str:
    head = ("instance", "algorithm", "ns", "ratio", "published us", "ratio", "compile s")
    lines = [
        (
            row["instance"],
            row["algorithm"],
            f"{row['nanoseconds']:.2f}",
            f"{row['ratio']:.2f}" if "ratio" in row else "",
            f"{row['published_microseconds']:g}" if "published_microseconds" in row else "",
            f"{row['published_ratio']:.1f}" if "published_ratio" in row else "",
            f"{row['compile_seconds']:.2f}",
        )
        for row in rows
    ]
    title = "Table 2: time of an arm and round, all cores together, compilation apart (ratio: to UCB1's)"
    return f"{title}\n{align([head, *lines], right=range(2, 7))}"
