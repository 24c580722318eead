"""The options that divide the work of a command among workers, or into parts that are merged later."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from jaxbandit.lab.cli import streams
from jaxbandit.lab.cli.endings import DONE, bad_input
from jaxbandit.support.refusals import wrong

if TYPE_CHECKING:
    from jaxbandit.lab.specs.spec import Experiment


@dataclass(frozen=True, kw_only=True)
class Divided:
    """How the work of a command is divided. It does not affect the results."""

    executor: Annotated[str | None, arg(metavar="NAME")] = None
    """Where the runs are computed: processes:N on this machine, dask (a cluster on this machine), dask:ADDRESS (a
    running scheduler), slurm or slurm:KEY=VALUE,... (jobs, through submitit). Default: this process."""
    runs_per_task: Annotated[int | None, arg(metavar="N")] = None
    """Number of runs per task; default: as many as take about --seconds-per-task."""
    seconds_per_task: Annotated[float, arg(metavar="S")] = 60.0
    """Target duration of a task on one worker; a first task measures how long runs take."""
    send_back: bool = False
    """Let workers send their results back. By default they write them to DIR, which they must then share."""

    @contextmanager
    def execution(self, out: Path) -> Iterator[Any]:
        """Yield the Execution of the command, and close its executor afterwards."""
        from jaxbandit.engine.driver.execution import Execution
        from jaxbandit.running.distribution.executors import open_executor

        with open_executor(self.executor, logs(out)) as executor:
            with bad_input():
                execution = Execution(
                    executor=executor,
                    runs_per_task=self.runs_per_task,
                    seconds_per_task=self.seconds_per_task,
                    send_back=self.send_back,
                    progress=True,
                )
            yield execution

    def play_part(self, experiment: "Experiment", out: Path, text: str) -> int:
        """Run one part of an experiment."""
        from jaxbandit.lab.experiments import merging

        part = merging.part_of(text)
        if self.executor is not None:
            wrong("--executor", self.executor, "left out, because --part divides the work already")
        for line in merging.run_part(experiment, out, part):
            print(line)
        return DONE


def logs(out: Path) -> Path:
    """Return the directory beside `out` for the logs of an executor's jobs."""
    return out.parent / f"{out.name}-slurm"


@dataclass(frozen=True)
class Merge:
    """Join the parts that `run --part` wrote into one directory of results."""

    directories: Annotated[Positional[tuple[Path, ...]], arg(metavar="DIR...")]
    """Directories that `run --part` wrote to."""
    out: Annotated[Path | None, arg(metavar="DIR")] = None
    """Directory of the results; default: the first DIR."""
    mixed: bool = False
    """Also join parts from machines with different platforms, processors or versions of JAX; the results record it."""
    import_: Annotated[bool, arg(name="import")] = False
    """Import the modules that the spec.toml of the directories names, which executes their code. Without it, only
    parts of algorithms and environments of this package are merged."""
    json: bool = False
    """Print one JSON document on stdout instead of the table."""

    def __call__(self) -> int:
        """Merge."""
        from jaxbandit.lab.experiments.directory import summary_of
        from jaxbandit.lab.experiments.merging import merge
        from jaxbandit.running.results.report import table

        experiment, results = merge(self.directories, self.out, mixed=self.mixed, imports=self.import_)
        return streams.reply(self.json, lambda: summary_of(experiment, results), lambda: table(results))
