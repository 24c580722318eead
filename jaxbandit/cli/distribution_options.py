"""The options that divide a command's work: over an executor's workers, or into parts that are merged later."""

import json as json_module
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from jaxbandit.refusals import wrong

DONE = 0


@dataclass(frozen=True, kw_only=True)
class Divided:
    """How a command's work is divided; no number depends on it."""

    executor: Annotated[str | None, arg(metavar="NAME")] = None
    """Who plays the runs: processes:N of this machine, dask (a cluster of this machine), dask:ADDRESS (a scheduler that
    runs), slurm or slurm:KEY=VALUE,... (jobs, by submitit). Default: this process."""
    runs_per_task: Annotated[int | None, arg(metavar="N")] = None
    """Runs of one task; default: as many as take --seconds-per-task."""
    seconds_per_task: Annotated[float, arg(metavar="S")] = 60.0
    """About how long a task is to take on one worker, as a first task finds out."""
    send_back: bool = False
    """Workers send their parts back; default: they write them into DIR, which they then share."""

    @contextmanager
    def options(self, out: Path) -> Iterator[dict[str, Any]]:
        """Yield the options of `run_experiment`, and end the executor."""
        from jaxbandit.distribution.executors import opened

        with opened(self.executor, out.with_name(f"{out.name}-slurm")) as executor:
            yield {
                "executor": executor,
                "runs_per_task": self.runs_per_task,
                "seconds_per_task": self.seconds_per_task,
                "send_back": self.send_back,
            }

    def play_part(self, experiment: Any, out: Path, text: str) -> int:
        """Play one part of an experiment."""
        from jaxbandit.running import merging

        part = merging.numbered(text)
        if self.executor is not None:
            wrong("--executor", self.executor, "left out beside --part: one of them divides the work")
        for line in merging.run_part(experiment, out, part):
            print(line)
        return DONE


@dataclass(frozen=True)
class Merge:
    """Join the parts that `run --part` left in directories into one directory of results."""

    directories: Annotated[Positional[tuple[Path, ...]], arg(metavar="DIR...")]
    """What `run --part` wrote to."""
    out: Annotated[Path | None, arg(metavar="DIR")] = None
    """Directory of the results; default: the first DIR."""
    mixed: bool = False
    """Join parts of machines with other platforms, processors or versions of JAX too; the results say so."""
    no_import: bool = False
    """As for run."""
    json: bool = False
    """Print one JSON document on stdout instead of the table."""

    def __call__(self) -> int:
        """Merge."""
        from jaxbandit.results.report import table
        from jaxbandit.results.saving import summary
        from jaxbandit.running.merging import merge

        experiment, results = merge(self.directories, self.out, mixed=self.mixed, imports=not self.no_import)
        if self.json:
            about = (experiment.name, results[0].kind, experiment.seed, experiment.precision)
            print(json_module.dumps(summary(*about, results), allow_nan=False))
        else:
            print(table(results))
        return DONE
