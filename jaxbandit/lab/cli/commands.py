"""The commands, one class each. Fields are the arguments; calling an instance runs it and returns the exit status.

JAX is imported only where it is needed, so that help and listings appear immediately.
"""

import contextlib
import functools
import inspect
import io
import operator
import re
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from tyro.conf import Positional, UseAppendAction, arg

from jaxbandit.lab.cli import listing, streams
from jaxbandit.lab.cli.ab_command import AB
from jaxbandit.lab.cli.audit_command import Audit
from jaxbandit.lab.cli.bench_command import Bench
from jaxbandit.lab.cli.distribution_options import Divided, Merge
from jaxbandit.lab.cli.endings import DONE, bad_input, figures
from jaxbandit.lab.cli.evaluate_command import Evaluate
from jaxbandit.lab.cli.gate_command import Gate
from jaxbandit.lab.cli.guides import List, New, Show
from jaxbandit.lab.cli.report_command import Report
from jaxbandit.lab.cli.session_changes import Close, Expire, Open, Tell, Withdraw
from jaxbandit.lab.cli.session_commands import Ask, Repair, Status
from jaxbandit.lab.cli.tune_command import Tune
from jaxbandit.lab.specs import source
from jaxbandit.support import extras

if TYPE_CHECKING:
    from jaxbandit.lab.specs.spec import Experiment
    from jaxbandit.running.results.base import Result

DEFAULT_SPEC = "five_arms"


@dataclass(frozen=True)
class Run(Divided):
    """Run an experiment, or resume it in its directory; prints a table and writes results and figures to DIR."""

    spec: Annotated[Positional[str], arg(metavar="[SPEC]")] = DEFAULT_SPEC
    """TOML file, or the name of an embedded experiment that `jaxbandit list` shows."""
    out: Annotated[Path | None, arg(metavar="DIR")] = None
    """Directory of the results; default: the spec's name with -result after it."""
    set: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="KEY=VALUE")] = ()
    """Override a value of the file: runs=100, algorithm.NAME.c=3.0, instance.NAME.means=[0.1, 0.9]. NAME is the name
    in the file, quoted if it contains a dot, or its position counted from 0; the value is TOML. Repeatable."""
    quick: bool = False
    """Limit the number of runs to 20."""
    runs: Annotated[int | None, arg(metavar="N")] = None
    """Number of runs per cell (one algorithm on one instance), instead of that in the file; if DIR has fewer, the
    missing ones are added."""
    horizon: Annotated[int | None, arg(metavar="N")] = None
    """Horizon, instead of that in the file."""
    seed: Annotated[int | None, arg(metavar="N")] = None
    """Seed, instead of that in the file."""
    no_import: bool = False
    """Raise an error for type = "package.module:factory", because importing the module would execute its code."""
    max_failed: Annotated[float | None, arg(metavar="S")] = None
    """Fraction of the runs of a cell that may fail because a number is not finite or a reward is out of range;
    default: that in the file, or 0.1."""
    dry_run: bool = False
    """Do not run the experiment. Print its cells with their total steps and memory, and an estimate of the seconds,
    for which each program runs briefly."""
    part: Annotated[str | None, arg(metavar="I/N")] = None
    """Run part I of N, counted from 0, and store it in DIR; `jaxbandit merge` joins the parts."""
    no_cache: bool = False
    """Neither read compiled programs from the user's cache directory nor keep them there."""
    timings: bool = False
    """Add the seconds of compilation and play to the table, and for runs that stop the lane utilization."""
    json: bool = False
    """Print one JSON document on stdout instead of the table."""

    def __call__(self) -> int:
        """Run the experiment."""
        with extras.lab():
            import tomli_w  # noqa: F401  (if it is missing, fail now and not after the first cell)

        from jaxbandit.lab.specs import spec

        overrides = {"runs": self.runs, "horizon": self.horizon, "seed": self.seed}
        experiment = spec.load(self.spec, self.set, imports=not self.no_import, quick=self.quick, **overrides)
        out = self.out or Path(f"{source.locate(self.spec).stem}-result")
        from jaxbandit.lab.experiments.directory import summary_of
        from jaxbandit.lab.experiments.experiment import run_experiment
        from jaxbandit.running.results.report import table

        streams.remark(experiment)
        if self.dry_run:
            return _forecast(experiment, self.json)
        if self.part is not None:
            return self.play_part(experiment, out, self.part)
        with self.execution(out) as execution:
            results = run_experiment(experiment, out, max_failed=self.max_failed, execution=execution)
        streams.reply(self.json, lambda: summary_of(experiment, results), lambda: table(results, timings=self.timings))
        return _draw(results, out, quiet=self.json)


@dataclass(frozen=True)
class Reproduce(Divided):
    """Run a paper's experiments and compare the results with the published numbers."""

    paper: Annotated[Positional[str], arg(metavar="PAPER[/FIGURE]")]
    """Name of the paper, or of one of its figures; `jaxbandit list` shows the papers."""
    quick: bool = False
    """Use fewer runs, which takes less than a minute."""
    runs: Annotated[int | None, arg(metavar="N")] = None
    """Number of runs, instead of that of the paper."""
    horizon: Annotated[int | None, arg(metavar="N")] = None
    """Horizon, instead of that of the paper."""
    data: Annotated[Path | None, arg(metavar="DIR")] = None
    """Directory with the recorded data that some figures need; without it, they are left out with a note."""
    out: Annotated[Path | None, arg(metavar="DIR")] = None
    """Directory of the results."""
    max_failed: Annotated[float, arg(metavar="S")] = 0.0
    """Fraction of the runs of a cell that may fail because a number is not finite or a reward is out of range."""
    no_cache: bool = False
    """Do not use the cache of compiled programs, as for run."""
    json: bool = False
    """Print one JSON document on stdout instead of the tables."""

    def __call__(self) -> int:
        """Reproduce the paper."""
        from jaxbandit.lab.papers.paper import reproduce

        with bad_input():
            arguments = {"runs": self.runs, "horizon": self.horizon, "data_directory": self.data, "out": self.out}
            arguments |= {"max_failed": self.max_failed}
            paper, _, figure = self.paper.partition("/")
            with self.execution(self.out or Path(paper)) as execution:
                reproduction = reproduce(paper, figure or None, quick=self.quick, **arguments, execution=execution)
        streams.reply(self.json, lambda: reproduction.summary, reproduction.table)
        return _paths(reproduction.figures, quiet=self.json)


@dataclass(frozen=True)
class Plot:
    """Draw again the figures of the results in a directory."""

    directory: Annotated[Positional[Path], arg(metavar="DIR")]
    """Directory that `run` or `reproduce` wrote."""
    format: Literal["png", "pdf", "svg"] = "png"
    """Format of the files."""
    width: Annotated[float | None, arg(metavar="INCHES")] = None
    """Width of a column of print, such as 3.3, for which sizes and fonts are those of `jb.style.paper`."""

    def __call__(self) -> int:
        """Write the figures and print their paths."""
        from jaxbandit.running.plotting import style
        from jaxbandit.running.plotting.figures import write_figures
        from jaxbandit.running.results.loading import load_results

        with bad_input():
            results = load_results(self.directory)
            settings = {} if self.width is None else style.paper(width=self.width)
        with figures(self.directory, f"jaxbandit plot {self.directory}"), style.settings(settings):
            return _paths(write_figures(results, self.directory, suffix=self.format), quiet=False)


@dataclass(frozen=True)
class Compare:
    """Compare the results of two directories: differences in regret or samples, with confidence intervals."""

    first: Annotated[Positional[str], arg(metavar="DIR[/INSTANCE/ALGORITHM[?PARAMETER=VALUE]]")]
    """Directory of results, or a single result in it, given by its name."""
    second: Annotated[Positional[str], arg(metavar="DIR[/INSTANCE/ALGORITHM[?PARAMETER=VALUE]]")]
    """Directory or single result to compare it with."""
    what: Annotated[str | None, arg(metavar="NAME")] = None
    """Curve that is compared, for a fixed horizon: the regret (default), hindsight, or the name of a metric."""
    at: int | None = None
    """Round at which it is compared; default: the last shared checkpoint."""
    json: bool = False
    """Print one JSON document instead of the table."""

    def __call__(self) -> int:
        """Print the comparison."""
        from jaxbandit.running.results.places import compare_places

        with bad_input():
            report = compare_places(self.first, self.second, what=self.what, at=self.at)
        return streams.reply(self.json, report.to_json, lambda: str(report))


@dataclass(frozen=True)
class Completion:
    """Print a shell completion script; put `jaxbandit completion bash` into a file that the shell reads."""

    shell: Annotated[Positional[Literal["bash", "zsh", "fish"]], arg(metavar="SHELL")]
    """bash, zsh or fish."""

    def __call__(self) -> int:
        """Print the script."""
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(script := io.StringIO()):
            command_of(["--tyro-print-completion", self.shell])

        def complete(spec: re.Match[str]) -> str:
            """Return the commands without line breaks, behind which a shell sees another word, and with names."""
            return re.sub(r"\\+n", " ", spec[0]) + f"\n{_names()}"

        print(re.sub(r"^COMPLETION_SPEC = .*", complete, script.getvalue(), flags=re.MULTILINE))
        return DONE


GROUPS = {
    "Algorithms and environments": {"list": List, "show": Show, "new": New},
    "Experiments": {
        "run": Run,
        "reproduce": Reproduce,
        "audit": Audit,
        "compare": Compare,
        "report": Report,
        "plot": Plot,
        "merge": Merge,
    },
    "Decisions about what you measure": {"tune": Tune, "ab": AB, "evaluate": Evaluate, "gate": Gate},
    "Sessions": {
        "ask": Ask,
        "tell": Tell,
        "withdraw": Withdraw,
        "expire": Expire,
        "close": Close,
        "open": Open,
        "status": Status,
        "repair": Repair,
    },
    "Tools": {"bench": Bench, "completion": Completion},
}
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}


def overview() -> str:
    """Return the help of `jaxbandit` alone: its commands by groups, in lines of at most 80 characters."""
    lines = ["usage: jaxbandit COMMAND ...", "", "Bandit algorithms with error bars."]
    for title, group in GROUPS.items():
        lines += ["", f"{title}:"]
        for name, command in group.items():
            about = f"  {name:<11}{inspect.cleandoc(command.__doc__ or '').partition('.')[0]}"
            lines += textwrap.wrap(about, 80, subsequent_indent=" " * 13)
    return "\n".join([*lines, "", "jaxbandit COMMAND --help describes a command, jaxbandit show NAME an algorithm."])


def command_of(argv: Sequence[str]) -> Callable[[], int]:
    """Return the command that `argv` asks for; raise SystemExit after help, a completion script or an error."""
    options: list[Any] = [Annotated[c, tyro.conf.subcommand(name)] for name, c in COMMANDS.items()]
    return tyro.cli(
        functools.reduce(operator.or_, options),
        prog="jaxbandit",
        description="Bandit algorithms with error bars.",
        args=argv,
        config=(tyro.conf.FlagCreatePairsOff,),
    )


def _names() -> str:
    """Return Python code, without double quotes, by which a completion script completes names as it does commands."""
    files = source.embedded_files()
    names = {
        "show": [row["name"] for rows in listing.listing().values() for row in rows],
        "run": [*files],
        "reproduce": [name for name, path in files.items() if "paper" in source.read(path)],
    }
    return f"""for command, names in {names}.items():
    own = COMPLETION_SPEC['subcommands'][command]
    own['subcommands'] = {{name: {{'description': name, 'options': own['options']}} for name in names}}"""


def _forecast(experiment: "Experiment", as_json: bool) -> int:
    from jaxbandit.lab.experiments import forecast

    forecasts = forecast.forecast(experiment)
    about = {"schema": 1, "name": experiment.name, "kind": experiment.kind}
    cells = [each.summary() for each in forecasts]
    return streams.reply(as_json, lambda: {**about, "cells": cells}, lambda: forecast.table(forecasts))


def _draw(results: "Sequence[Result]", out: Path, quiet: bool) -> int:
    try:
        from jaxbandit.running.plotting.figures import write_figures

        with figures(out, f"jaxbandit plot {out}"):
            paths = write_figures(results, out)
    except extras.MissingExtra as error:
        print(f"jaxbandit: no figure: {error}", file=sys.stderr)
        return DONE
    return _paths(paths, quiet)


def _paths(paths: Sequence[Path], quiet: bool) -> int:
    for path in paths:
        print(path, file=sys.stderr if quiet else sys.stdout)
    return DONE
