"""The commands, one class each: fields are the arguments, the call does the work and returns the exit status.

JAX is imported where it is needed and not before, so that help and listings come at once.
"""

import json as json_module
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, UseAppendAction, arg

from jaxbandit.refusals import BadInput
from jaxbandit.results.report import table
from jaxbandit.specs import source

DONE = 0
DEFAULT_SPEC = "crowd"


@dataclass(frozen=True)
class List:
    """Algorithms, environments and embedded experiments, with one line each."""

    json: bool = False
    """Print one JSON document instead."""

    def __call__(self) -> int:
        """Print the listing."""
        from jaxbandit.specs.registry import ALGORITHMS, ENVIRONMENTS, PROBLEM_DATA

        listing: dict[str, list[dict[str, Any]]] = {}
        for title, entries, hidden in (("algorithms", ALGORITHMS, PROBLEM_DATA), ("environments", ENVIRONMENTS, ())):
            listing[title] = [
                {
                    "name": entry.name,
                    "arguments": [name for name in entry.arguments if name not in hidden],
                    "summary": entry.summary,
                }
                for entry in entries.values()
            ]
        listing["papers"] = [{"name": name, "summary": source.about(path)} for name, path in source.embedded().items()]
        if self.json:
            print(json_module.dumps(listing, indent=1))
            return DONE
        for title, rows in listing.items():
            print(title)
            for row in rows:
                head = row["name"] + (f"({', '.join(row['arguments'])})" if row.get("arguments") else "")
                print(f"  {head:<40}  {row['summary']}")
        return DONE


@dataclass(frozen=True)
class Run:
    """Run an experiment, or resume what its directory holds; prints a table, writes DIR and a PNG in it."""

    spec: Annotated[Positional[str], arg(metavar="[SPEC]")] = DEFAULT_SPEC
    """TOML file, or the name of an embedded experiment."""
    out: Annotated[Path | None, arg(metavar="DIR")] = None
    """Directory of the results; default: the spec's name with -result after it."""
    set: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="KEY=VALUE")] = ()
    """Override, repeatable: runs=100, algorithm.NAME.c=3.0, instance.NAME.means=[0.1, 0.9]. NAME is the name in
    the file, quoted if it holds a dot, or its number counted from 0; the value is TOML."""
    max_failed: float = 1.0
    """Share of a cell's runs that may end with a number that is not finite, or a reward out of its range."""
    json: bool = False
    """Print one JSON document on stdout instead of the table."""

    def __call__(self) -> int:
        """Run the experiment."""
        import tomli_w  # noqa: F401  (missing: said now, not after the first cell)

        from jaxbandit.specs import spec

        experiment = spec.load(self.spec, self.set)
        out = self.out or Path(f"{source.locate(self.spec).stem}-result")
        from jaxbandit.running.experiment import run_experiment
        from jaxbandit.running.truth import warnings_of

        for line in warnings_of(experiment):
            print(f"jaxbandit: warning: {line}", file=sys.stderr)
        results = run_experiment(experiment, out, max_failed=self.max_failed)
        if self.json:
            from jaxbandit.results.saving import summary

            about = (experiment.name, experiment.kind, experiment.seed, experiment.precision)
            print(json_module.dumps(summary(*about, results), allow_nan=False))
        else:
            print(table(results))
        return _draw(results, out, quiet=self.json)


@dataclass(frozen=True)
class Reproduce:
    """Run a paper's experiments and show our numbers beside the published ones."""

    paper: Annotated[Positional[str], arg(metavar="PAPER[/FIGURE]")]
    """PAPER or PAPER/FIGURE, one of those that `jaxbandit list` names."""
    quick: bool = False
    """Fewer runs: under a minute."""
    runs: int | None = None
    """Runs instead of the paper's."""
    horizon: int | None = None
    """Horizon instead of the paper's."""
    data: Annotated[Path | None, arg(metavar="DIR")] = None
    """Directory of the recorded data that a figure needs; without it such a figure is left out, and said so."""
    out: Annotated[Path | None, arg(metavar="DIR")] = None
    """Directory of the results."""
    max_failed: float = 0.0
    """Share of a cell's runs that may end with a number that is not finite, or a reward out of its range."""
    json: bool = False
    """Print one JSON document on stdout instead of the tables."""

    def __call__(self) -> int:
        """Reproduce the paper."""
        from jaxbandit.reproduction.paper import reproduce

        with _input():
            given = {"runs": self.runs, "horizon": self.horizon, "data_directory": self.data, "out": self.out}
            given |= {"max_failed": self.max_failed}
            paper, _, figure = self.paper.partition("/")
            found = reproduce(paper, figure or None, quick=self.quick, **given)
        print(json_module.dumps(found.summary, allow_nan=False) if self.json else found.table())
        return _paths(found.figures, quiet=self.json)


@dataclass(frozen=True)
class Audit:
    """Say whether stopping rules keep their delta: as many runs as it takes, in batches that DIR keeps."""

    spec: Annotated[Positional[str], arg(metavar="[SPEC]")] = "audit"
    """TOML file of kind "identify", or the name of an embedded one; its runs are the length of the first batches."""
    out: Annotated[Path | None, arg(metavar="DIR")] = None
    """Directory of the batches; default: the spec's name with -audit after it."""
    set: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="KEY=VALUE")] = ()
    """Override, repeatable, as for run."""
    confidence: float = 0.999
    """Of all verdicts of the table together, whenever they are reached."""
    resolution: float = 2.0
    """How conservative a rule is, is known once the bounds of that factor are within this ratio."""
    factor: float = 20.0
    """A rule conservative by this factor or more is conservative enough."""
    runs: int = 1_000_000
    """Most runs of a cell."""
    seconds: float | None = None
    """Most seconds of a cell, looked at after each batch."""
    max_failed: float = 0.0
    """Share of a cell's runs that may end with a number that is not finite, or a reward out of its range."""
    json: bool = False
    """Print one JSON document on stdout instead of the table."""

    def __call__(self) -> int:
        """Audit the experiment."""
        import tomli_w  # noqa: F401  (missing: said now, not after the first batch)

        from jaxbandit.specs import spec

        experiment = spec.load(self.spec, self.set)
        from jaxbandit.auditing.audit import audit
        from jaxbandit.running.truth import warnings_of

        for line in warnings_of(experiment):
            print(f"jaxbandit: warning: {line}", file=sys.stderr)
        told = ("confidence", "resolution", "factor", "runs", "seconds", "max_failed")
        out = self.out or Path(f"{source.locate(self.spec).stem}-audit")
        found = audit(experiment, out=out, **{name: getattr(self, name) for name in told})
        print(json_module.dumps(found.summary(), allow_nan=False) if self.json else found.table())
        return DONE


@dataclass(frozen=True)
class Plot:
    """Draw the results in a directory again."""

    directory: Annotated[Positional[Path], arg(metavar="DIR")]
    """What `run` or `reproduce` wrote."""

    def __call__(self) -> int:
        """Write the figures and print their paths."""
        from jaxbandit.plotting.figures import write_figures
        from jaxbandit.results.loading import load

        with _input():
            return _paths(write_figures(load(self.directory), self.directory), quiet=False)


@dataclass(frozen=True)
class Compare:
    """Pair the runs of two directories with the same seeds: differences of regret or of samples, with intervals."""

    first: Annotated[Positional[str], arg(metavar="DIR[/INSTANCE/ALGORITHM[?PARAMETER=VALUE]]")]
    """A directory of results, or one of them by its name."""
    second: Annotated[Positional[str], arg(metavar="DIR[/INSTANCE/ALGORITHM[?PARAMETER=VALUE]]")]
    """Another."""
    at: int | None = None
    """Round at which regret is compared; default: the last that both have."""
    json: bool = False
    """Print one JSON document instead of the table."""

    def __call__(self) -> int:
        """Print the comparison."""
        from jaxbandit.results.places import compare_places

        with _input():
            report = compare_places(self.first, self.second, at=self.at)
        print(json_module.dumps(report.summary(), allow_nan=False) if self.json else report.table())
        return DONE


COMMANDS = {
    "list": List,
    "run": Run,
    "reproduce": Reproduce,
    "audit": Audit,
    "plot": Plot,
    "compare": Compare,
}


@contextmanager
def _input() -> Iterator[None]:
    """Refusals of the parts that read directories and papers are bad input."""
    try:
        yield
    except (ValueError, OSError) as error:
        if isinstance(error, BadInput) or "\n" in str(error):
            raise
        raise BadInput(str(error)) from None


def _draw(results: Sequence[Any], out: Path, quiet: bool) -> int:
    try:
        from jaxbandit.plotting.figures import write_figures

        paths = write_figures(results, out)
    except ModuleNotFoundError as error:
        remedy = "pip install 'jaxbandit[lab]'"
        print(f"jaxbandit: no figure: {error.name} is not installed: {remedy}", file=sys.stderr)
        return DONE
    return _paths(paths, quiet)


def _paths(paths: Sequence[Path], quiet: bool) -> int:
    for path in paths:
        print(path, file=sys.stderr if quiet else sys.stdout)
    return DONE
