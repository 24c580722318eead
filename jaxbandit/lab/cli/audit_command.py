"""The command `audit`, which tests stopping rules."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, UseAppendAction, arg

from jaxbandit.lab.cli import streams
from jaxbandit.lab.cli.distribution_options import Divided
from jaxbandit.lab.specs import source
from jaxbandit.support import extras


@dataclass(frozen=True)
class Audit(Divided):
    """Test whether stopping rules keep their delta, with as many runs as needed, in batches stored in DIR."""

    spec: Annotated[Positional[str], arg(metavar="[SPEC]")] = "audit"
    """TOML file of kind "identify", or the name of an embedded one; its runs are the size of the first batches."""
    out: Annotated[Path | None, arg(metavar="DIR")] = None
    """Directory of the batches; default: the spec's name with -audit after it."""
    set: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="KEY=VALUE")] = ()
    """Override a value of the file, as for run; repeatable."""
    no_import: bool = False
    """Do not import modules named in the file, as for run."""
    confidence: Annotated[float, arg(metavar="P")] = 0.999
    """Joint confidence level of all verdicts of the table, whenever they are reached."""
    resolution: Annotated[float, arg(metavar="R")] = 2.0
    """For a rule that errs less often than delta, run until the bounds on its factor have at most this ratio."""
    factor: Annotated[float, arg(metavar="F")] = 20.0
    """End the audit of a rule once it is shown to be conservative by at least this factor."""
    runs: Annotated[int, arg(metavar="N")] = 1_000_000
    """Largest number of runs per cell."""
    seconds: Annotated[float | None, arg(metavar="S")] = None
    """Time limit per cell in seconds, checked after each batch; default: none."""
    max_failed: Annotated[float, arg(metavar="S")] = 0.0
    """Fraction of the runs of a cell that may fail because a number is not finite or a reward is out of range."""
    no_cache: bool = False
    """Do not use the cache of compiled programs, as for run."""
    json: bool = False
    """Print one JSON document on stdout instead of the table."""

    def __call__(self) -> int:
        """Audit the experiment."""
        with extras.lab():
            import tomli_w  # noqa: F401  (if it is missing, fail now and not after the first batch)

        from jaxbandit.lab.auditing.cell import Limits
        from jaxbandit.lab.specs import spec

        seconds = float("inf") if self.seconds is None else self.seconds
        limits = Limits(self.confidence, self.resolution, self.factor, self.runs, seconds).check()
        experiment = spec.load(self.spec, self.set, imports=not self.no_import)
        out = self.out or Path(f"{source.locate(self.spec).stem}-audit")
        from jaxbandit.lab.auditing.experiment import audit_experiment, table
        from jaxbandit.lab.experiments.directory import summary_of

        streams.remark(experiment)
        with self.execution(out) as execution:
            results = audit_experiment(experiment, out, limits, max_failed=self.max_failed, execution=execution)
        return streams.reply(self.json, lambda: summary_of(experiment, results), lambda: table(results))
