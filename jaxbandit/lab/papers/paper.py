"""Reproduction of a published experiment: it runs the paper's TOML file and compares the results with the paper's.

A paper's TOML file is an experiment with an additional table [paper], whose parts the other modules here describe.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxbandit.base.arguments import CountOfRounds
from jaxbandit.base.calls import checked
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.storage import directories, json_files
from jaxbandit.engine.storage import files as storage
from jaxbandit.lab.experiments.experiment import SHOWN
from jaxbandit.lab.papers import assessment, drawing, figure_experiments, origins, own_instances
from jaxbandit.lab.papers.figure_experiments import Figure
from jaxbandit.lab.papers.report import cost, report
from jaxbandit.lab.papers.tables import computed
from jaxbandit.running.plotting.figure_files import file_name
from jaxbandit.running.results.base import ResultSet
from jaxbandit.running.results.loading import load_results
from jaxbandit.support.refusals import BadInput, nearest, refuse, resumable
from jaxbandit.support.types import Json, Table

MARK = "paper.json"  # written first, so that it marks a directory as one of ours


@dataclass(frozen=True)
class Reproduction:
    """The result of `reproduce`: the directory, its figures, and the summary that `--json` prints."""

    directory: Path
    figures: tuple[Path, ...]
    summary: Json

    def table(self) -> str:
        """Return the comparison of figures, tables and claims as text."""
        return report(self.summary)


def papers() -> dict[str, str]:
    """Return the papers that can be reproduced: name -> title, year, and whether they are only quoted."""
    from jaxbandit.lab.specs import source

    return {name: source.about(path) for name, path in source.embedded_files().items() if "paper" in source.read(path)}


@checked
def reproduce(
    paper: str,
    figure: str | None = None,
    *,
    quick: bool = False,
    runs: CountOfRounds | None = None,
    horizon: CountOfRounds | None = None,
    out: str | Path | None = None,
    data_directory: str | Path | None = None,
    max_failed: float = 0.0,
    execution: Execution = SHOWN,
) -> Reproduction:
    """Run a paper's experiments, or the part that `out` still lacks, and compare the results with its numbers.

    Every published number is compared by means of a prediction interval, and every claim by means of the interval of a
    difference. All verdicts hold jointly at the confidence level of the paper's TOML file. Numbers and claims that
    nobody compared with the paper's text are shown as "quoted, not verified" and get no verdict.

    Args:
      paper: "ucboost", "lingape", "topm", "oam", "fullbandit", "track_and_stop", "fixed_budget", "fiesta",
        "fiesta_table2", "non_stationary", "adversarial", "sda", "kl_ucb_plus_plus" or "kl_ms".
      figure: one of its figures or tables, such as "a" of "ucboost". Default: all of them.
      quick: whether to use the paper's quick settings with fewer runs, which give wider intervals and more undecided
        claims.
      runs: number of runs instead of the paper's or that of `quick`.
      horizon: number of rounds per run instead of the paper's, for figures with a fixed horizon. The number of runs
        for it may be given in [paper.runs_at].
      out: directory of the results, created if it does not exist. Default: a directory in the current one, named after
        the paper and the figure.
      data_directory: directory of the recorded data that a figure needs. Without it, the figure is left out, which
        the report states.
      max_failed: fraction of a cell's runs that may fail, in [0, 1]. If more fail, an error is raised, but the cells
        are kept.
      execution: how the runs are played, without an effect on the results; see `Execution`. Default: with a progress
        bar on a terminal, and elsewhere a line every ten seconds, as with `Execution(progress=True)`.

    Returns:
      A Reproduction with `summary` (what `--json` prints), `table()` and `figures`. `out` then also holds
      summary.json, tables.txt, the figures, and a directory of results for each figure.

    Raises:
      ValueError: there is no such paper or figure, `out` holds another experiment, or too many runs failed.
      KeyboardInterrupt: the run was interrupted. Its state has been saved, and the same call resumes.

    Source: the TOML file lab/papers/experiments/NAME.toml states where the paper gives each number and claim.
    """
    data, about, source = _read(paper)
    target = figure or ""
    if data["kind"] == "identify" and horizon is not None:
        raise ValueError(f"horizon = {horizon}, only papers with a fixed horizon take one; leave it out")
    if horizon is not None:
        data["horizon"] = horizon
        runs = about.get("runs_at", {}).get(str(horizon)) if runs is None and not quick else runs
    directory = Path("-".join([paper, target] if target else [paper]) if out is None else out)
    missing = own_instances.add_instances(data, about, None if data_directory is None else Path(data_directory))
    about["published"] = own_instances.one_each(about.get("published", []))
    known = figure_experiments.figures_of(about)
    if horizon is not None:
        known = {name: dataclasses.replace(figure, horizon=0) for name, figure in known.items()}
    sizes, lines = computed.sizes_of(about, target, quick=quick, runs=runs)
    known, skipped = own_instances.split(known, missing, target, quick=quick and runs is None)
    wanted = not target or target not in sizes
    run, shown = figure_experiments.experiments(known, target, quick=quick, runs=runs) if wanted else ([], [])
    with resumable(directory, "out"), _claim(directory, paper):
        tables = computed.evaluate(data, about, directory, sizes)
        options = {"max_failed": max_failed, "execution": execution}
        results = _run(data, run, source, directory, about.get("at_once", 1), options)
        content = assessment.assess(results, about, shown) if run else assessment.without_cells(data, about)
        content["claims"] += computed.judge(about.get("share", []), tables)
        longer = {int(key): value for key, value in about.get("runs_at", {}).items()}
        more = {"complexity": tables, "skipped": [*skipped, *lines], "longer": cost(content, longer) if longer else []}
        content |= {key: value for key, value in more.items() if value}
        json_files.write_json(directory / "summary.json", content)
        reproduction = Reproduction(directory, tuple(drawing.write(shown, results, content, directory)), content)
        storage.write_bytes(directory / "tables.txt", f"{reproduction.table()}\n".encode())
    return reproduction


def _run(
    data: Table,
    run: Sequence[Figure],
    source: str,
    directory: Path,
    at_once: int,
    options: Mapping[str, Any],
) -> ResultSet:
    """Run the experiments of the figures, each in its directory, and return all their cells."""
    from jaxbandit.lab.experiments.experiment import run_experiments
    from jaxbandit.lab.specs.spec import parse

    experiments = [(figure.name, own_instances.parts(figure_experiments.experiment(data, figure))) for figure in run]
    parts = [(parse(p, source), directory / name / file_name(k)) for name, some in experiments for k, p in some.items()]
    if parts:
        run_experiments(parts, at_once=at_once, **options)
    loaded = [load_results(place) for _, place in parts]
    return ResultSet(data["name"], tuple(result for part in loaded for result in part))


@contextlib.contextmanager
def _claim(directory: Path, paper: str) -> Iterator[None]:
    """Lock a directory for the reproduction of a paper; raise BadInput if it belongs to anything else."""
    path = directory / MARK
    with directories.locked(directory, MARK):
        if path.exists() and (there := json_files.read_json(path, storage.RECOMPUTE).get("paper")) != paper:
            refuse(str(directory), f": holds a reproduction of {there}; give another --out")
        json_files.write_json(path, {"paper": paper})
        yield


def _read(paper: str) -> tuple[Json, Json, str]:
    """Return a paper's experiment, its table [paper], and the file's name."""
    from jaxbandit.lab.specs import source

    known = papers()
    if paper not in known:
        raise BadInput(f"reproduce: paper = {paper!r}, must be one of {', '.join(known)}{nearest(paper, list(known))}")
    path = source.embedded_files()[paper]
    data = source.read(path)
    return data, origins.settle(data.pop("paper"), path.name), path.name
