"""Reproduction of a published experiment: run its TOML, then set our numbers and verdicts beside the paper's.

A paper's TOML is an experiment with one more table, [paper]: title, figures, each an experiment of its own
(figure_experiments.py), claims (verdict.py), published numbers (published.py) and what is untested; instances of its
own (own_instances.py), readings of an algorithm (open_readings.py) and tables beside the figures (tables/).
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxbandit import refusals
from jaxbandit.checks import nearest
from jaxbandit.engine import storage
from jaxbandit.plotting.style import file_name
from jaxbandit.refusals import BadInput
from jaxbandit.reproduction import assessment, drawing, figure_experiments, own_instances
from jaxbandit.reproduction.figure_experiments import Figure
from jaxbandit.reproduction.report import cost, report
from jaxbandit.reproduction.tables import computed
from jaxbandit.results import json_files
from jaxbandit.results.base import ResultSet
from jaxbandit.results.loading import load


@dataclass(frozen=True)
class Reproduction:
    """What `reproduce` found: the directory, its figures, and the summary that `--json` prints."""

    directory: Path
    figures: tuple[Path, ...]
    summary: dict[str, Any]

    def table(self) -> str:
        """Return figures, tables and claims as text."""
        return report(self.summary)


def papers() -> dict[str, str]:
    """Return the papers that can be reproduced: name -> title and year."""
    from jaxbandit.specs import source

    tables = {name: source.read(path).get("paper") for name, path in source.embedded().items()}
    return {name: f"{table['title']} ({table['year']})" for name, table in tables.items() if table}


def reproduce(
    paper: str,
    figure: str | None = None,
    *,
    quick: bool = False,
    runs: int | None = None,
    horizon: int | None = None,
    out: str | Path | None = None,
    data_directory: str | Path | None = None,
    progress: bool | None = True,
    workers: int | None = None,
    tile: int | None = None,
    max_failed: float = 0.0,
    **divided: Any,
) -> Reproduction:
    """Run a paper's experiments, or what of them `out` still lacks, and set its numbers and claims beside ours.

    Every published number is judged by one rule, the prediction interval of reproduction/published.py, every claim by
    the interval of a difference (reproduction/verdict.py); all hold together with the paper's confidence.

    Args:
      paper: "ucboost", "lingape", "topm", "oam", "fullbandit", "track_and_stop", "fixed_budget", "fiesta",
        "fiesta_table2", "non_stationary" or "adversarial".
      figure: one of its figures or tables alone, such as "a" of "ucboost"; default: all.
      quick: the paper's quick settings, fewer runs: wider intervals, more claims undecided.
      runs: number of runs >= 1 instead of the paper's (or quick's).
      horizon: rounds a run instead of the paper's; of a fixed horizon only. [paper.runs_at] may have its runs.
      out: directory of the results, made if it is absent; default: the paper's name, and the figure's after it, in the
        current directory.
      data_directory: where recorded data lie that a figure needs; without it such a figure is left out, and said so.
      progress: a bar on stderr where that is a terminal.
      workers: threads, default one a core; changes no number.
      tile: runs played side by side, of a fixed horizon; changes no number.
      max_failed: share of a cell's runs that may go wrong, in [0, 1]; more is an error. The cells are kept.
      **divided: executor, runs_per_task, seconds_per_task and send_back, as for `run_experiment`; change no number.

    Returns:
      A Reproduction: `summary` (what `--json` prints), `table()`, `figures`. `out` then also holds summary.json,
      tables.txt, figures and a directory of results for each figure that is run.

    Raises:
      ValueError: no such paper or figure, or `out` holds another experiment, or too many runs failed.
      KeyboardInterrupt: after the state has been saved; the same call continues.

    Source: the paper's own TOML, reproduction/papers/NAME.toml, says where each number and claim stands in it.
    """
    data, about, source = _read(paper)
    for name, value in (("runs", runs), ("horizon", horizon)):  # before tables that take their time
        if value is not None:
            refusals.integer(f"reproduce: {name}", value, 1, 2**31 - 1)
    target = figure or ""
    if data["kind"] == "identify" and horizon is not None:
        raise BadInput(f"reproduce: horizon = {horizon}: only for a fixed horizon; leave it out")
    if horizon is not None:
        data["horizon"] = horizon
        runs = about.get("runs_at", {}).get(str(horizon)) if runs is None and not quick else runs
    directory = Path("-".join([paper, target] if target else [paper]) if out is None else out)
    missing = own_instances.add_instances(data, about, None if data_directory is None else Path(data_directory))
    about["published"] = own_instances.one_each(about.get("published", []))
    known = figure_experiments.figures_of(about)
    if horizon is not None:
        known = {name: dataclasses.replace(figure, horizon=0) for name, figure in known.items()}
    sizes, lines = computed.wanted(about, target, quick=quick, runs=runs)
    known, skipped = own_instances.split(known, missing, target, quick=quick and runs is None)
    wanted = not target or target not in sizes
    run, shown = figure_experiments.experiments(known, target, quick=quick, runs=runs) if wanted else ([], [])
    tables = computed.evaluate(data, about, directory, sizes)
    options: dict[str, Any] = {"progress": progress, "workers": workers, "max_failed": max_failed}
    options |= divided
    options |= {"tile": tile} if data["kind"] == "simulate" else {}
    results = _run(data, run, source, directory, about.get("at_once", 1), options)
    content = assessment.assess(results, about, shown) if run else assessment.without_cells(data, about)
    content["claims"] += computed.judge(about.get("share", []), tables)
    longer = {int(key): value for key, value in about.get("runs_at", {}).items()}
    more = {"complexity": tables, "skipped": [*skipped, *lines], "longer": cost(content, longer) if longer else []}
    content |= {key: value for key, value in more.items() if value}
    json_files.write_json(directory / "summary.json", content)
    found = Reproduction(directory, tuple(drawing.write(shown, results, content, directory)), content)
    storage.write_bytes(directory / "tables.txt", f"{found.table()}\n".encode())
    return found


def _run(
    data: Mapping[str, Any],
    run: Sequence[Figure],
    source: str,
    directory: Path,
    at_once: int,
    options: Mapping[str, Any],
) -> ResultSet:
    """Run the experiments of the figures, each in its directory, and return all their cells."""
    from jaxbandit.running.side_by_side import run_experiments
    from jaxbandit.specs.spec import parse

    experiments = [(figure.name, own_instances.parts(figure_experiments.experiment(data, figure))) for figure in run]
    parts = [(parse(p, source), directory / name / file_name(k)) for name, some in experiments for k, p in some.items()]
    if parts:
        run_experiments(parts, at_once=at_once, **options)
    loaded = [load(place) for _, place in parts]
    return ResultSet(data["name"], tuple(result for part in loaded for result in part))


def _read(paper: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Return a paper's experiment, its table [paper], and the file's name."""
    from jaxbandit.specs import source

    known = papers()
    if paper not in known:
        raise BadInput(f"reproduce: paper = {paper!r}, must be one of {', '.join(known)}{nearest(paper, list(known))}")
    path = source.embedded()[paper]
    data = source.read(path)
    return data, data.pop("paper"), path.name
