"""The delta audit as one call: whether the stopping rules of an experiment keep the error rate that they promise."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxbandit.auditing.cell import Limits
from jaxbandit.auditing.experiment import AuditedResult, audit_experiment, document, table
from jaxbandit.specs.spec import Experiment


@dataclass(frozen=True)
class Audit(Sequence[AuditedResult]):
    """What `audit` found: a result a cell, each with its `finding`, in the order of the experiment's cells."""

    experiment: Experiment
    results: tuple[AuditedResult, ...]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[AuditedResult]:
        return iter(self.results)

    def __getitem__(self, key: Any) -> Any:
        return self.results[key]

    def summary(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return document(self.experiment, self.results)

    def table(self) -> str:
        """Return the verdicts as text, a row a cell."""
        return table(self.results)


def audit(
    spec: str | Path | Experiment = "audit",
    settings: Sequence[str] = (),
    *,
    confidence: float = 0.999,
    resolution: float = 2.0,
    factor: float = 20.0,
    runs: int = 1_000_000,
    seconds: float | None = None,
    out: str | Path | None = None,
    progress: bool = True,
    workers: int | None = None,
    max_failed: float = 0.0,
) -> Audit:
    """Say of each cell of an experiment whether its rule keeps its delta, with as many runs as it takes.

    The error rate is the probability that a run stops and recommends an arm more than epsilon short of the m-th best;
    delta, epsilon and m are those that the algorithm promises. A confidence sequence bounds the rate after each batch
    of runs, so that the audit stops as soon as the bounds decide, without harm to their confidence.

    Args:
      spec: TOML file of kind "identify", or the name of an embedded one, or what `specs.spec.load` returns; its runs
        are the length of the first batches.
      settings: overrides of the TOML, "key=value" as for `--set`, such as "algorithm.lingape.delta=0.01".
      confidence: in (0, 1), of all verdicts of the table together, whenever they are reached.
      resolution: > 1; how conservative a rule is, is known once the bounds of that factor are within this ratio.
      factor: > 1; a rule conservative by this factor or more is conservative enough.
      runs: most runs of a cell, >= 1.
      seconds: most seconds of a cell, > 0, looked at after each batch; default: no limit.
      out: directory that keeps the batches, made if it is absent: the same call goes on from there; default: none.
      progress: a bar on stderr where that is a terminal.
      workers: threads, default one a core; changes no number.
      max_failed: share of a cell's runs that may go wrong, in [0, 1]; more is an error. The batches are kept.

    Returns:
      An Audit: `table()`, `summary()`, and a result a cell with `finding` (verdict, low, high, delta, runs).

    Raises:
      ValueError: an argument out of range, a rule that promises no delta, `out` holds another experiment, or too many
        runs failed.
      KeyboardInterrupt: after the state has been saved in `out`; the same call continues.

    Source: Howard, Ramdas, McAuliffe, Sekhon (2021), the beta-binomial confidence sequence.
    """
    limits = Limits(confidence, resolution, factor, runs, math.inf if seconds is None else seconds)
    limits.check()
    if isinstance(spec, Experiment):
        experiment = spec
    else:
        from jaxbandit.specs.spec import load

        experiment = load(spec, settings)
    given: dict[str, Any] = {"progress": progress, "workers": workers, "max_failed": max_failed}
    return Audit(experiment, tuple(audit_experiment(experiment, None if out is None else Path(out), limits, **given)))
