"""Check, before anything runs, that the results of all runs fit into the memory of this machine."""

import os
from pathlib import Path

from jaxbandit.base.refusals import refuse
from jaxbandit.lab.specs.spec import Cell, Experiment

GIB = 2**30
CONTROL_GROUP = Path("/sys/fs/cgroup/memory.max")  # the memory limit of a container, if there is one


def check(experiment: Experiment) -> None:
    """Raise BadInput if the results of the experiment need more memory than there is."""
    needed = experiment.runs * sum(bytes_per_run(experiment, cell) for cell in experiment.cells())
    there = available()
    if there is not None and needed > there:
        remedy = "per_run = false keeps only means, or ask" if experiment.kind == "simulate" else "ask"
        refuse(
            f"{experiment.name}: runs",
            f" = {experiment.runs}: what is kept of each run takes about {needed / GIB:,.0f} GiB, and this machine has "
            f"{there / GIB:,.0f} GiB; {remedy} for fewer runs or cells",
        )


def bytes_per_run(experiment: Experiment, cell: Cell) -> int:
    """Return about how many bytes the results of one run of a cell take."""
    pulls = 4 * cell.instance.known.get("num_arms", 0)
    if experiment.kind == "identify":
        return 16 + pulls
    width = 4 if experiment.precision == "float32" else 8
    curves = 1 + experiment.hindsight
    return 1 + (width * len(experiment.checkpoints) * curves + pulls if experiment.per_run else 0)


def available() -> int | None:
    """Return the bytes of memory that this process may use, or None if the system does not report them."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
    try:
        return min(there, int(CONTROL_GROUP.read_text(encoding="utf-8")))
    except (OSError, ValueError):  # no such file, or "max"
        return there
