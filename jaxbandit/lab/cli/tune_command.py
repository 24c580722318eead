"""The command `tune`, which searches among configurations."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from jaxbandit.lab.cli import streams
from jaxbandit.lab.cli.distribution_options import logs
from jaxbandit.lab.cli.endings import DONE, bad_input, figures
from jaxbandit.support import extras


@dataclass(frozen=True)
class Tune:
    """Find the best configuration over random seeds, with a certificate, or resume the search in DIR."""

    train: Annotated[Positional[str], arg(metavar="PACKAGE.MODULE:TRAIN")]
    """Training function of (key, config) that returns a score; its module is imported, which executes it."""
    spec: Annotated[Positional[Path], arg(metavar="SPEC")]
    """TOML file of kind "tune"."""
    out: Annotated[Path | None, arg(metavar="DIR")] = None
    """Directory of the search and its result; default: the name of the spec followed by -tune."""
    no_import: bool = False
    """Raise an error for type = "package.module:factory" under [[algorithm]]; the module of TRAIN is still imported."""
    no_cache: bool = False
    """Neither read compiled programs from the user's cache directory nor keep them there."""
    executor: Annotated[str | None, arg(metavar="NAME")] = None
    """Where to train: processes:N, dask, dask:ADDRESS or slurm, as for run. Default: in this process."""
    workers: Annotated[int | None, arg(metavar="N")] = None
    """How many calls of TRAIN are under way at a time, in this process or on the executor. Default: one, 32 of an async
    def, or one on each worker of the executor."""
    json: bool = False
    """Print one JSON document on stdout instead of the table."""

    def __call__(self) -> int:
        """Run the search."""
        from jaxbandit.lab.specs import search

        with bad_input():
            spec = search.load(self.spec, imports=not self.no_import)
            from jaxbandit.lab.experiments import search as command

            out = self.out or Path(f"{self.spec.stem}-tune")
            from jaxbandit.running.distribution.executors import open_executor

            with open_executor(self.executor, logs(out)) as executor:
                result = command.search(self.train, spec, out, executor, self.workers)
        if self.json:
            about = {"schema": 1, "name": spec.name, "seed": spec.options.get("seed", 0)}
            streams.document({**about, **result.to_json(), "seconds": result.seconds})
        else:
            print(result)
        try:
            with figures(out, "the same command"):
                path = command.draw(result, out)
        except extras.MissingExtra as error:
            print(f"jaxbandit: no figure: {error}", file=sys.stderr)
        else:
            print(path, file=sys.stderr if self.json else sys.stdout)
        return DONE
