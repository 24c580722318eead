"""Parts of a cell: some of its runs, played anywhere, whose sums are exact integers, so that parts join to the byte.

A part is plain data in one file that is whole or absent: the arrays of each run, and `about`, JSON with what the
numbers depend on, how many runs ended in which way, and the sums as decimal strings.
"""

import functools
import hashlib
import io
import itertools
import json
import platform
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.base import Outcome
from jaxbandit.engine import identity
from jaxbandit.engine.horizon import Record
from jaxbandit.engine.identify import Identified
from jaxbandit.engine.moments import Moments

RUNS = ("regret", "hindsight", "pulls", "kinds", "recommendation", "outcome")  # arrays of a Record, a row a run
STOPPED_RUNS = ("samples", "outcome", "recommendation", "shortfall", "pulls", "batches")  # the same of an Identified
CPUINFO = Path("/proc/cpuinfo")
PROCESSOR = ("vendor_id", "flags", "CPU implementer", "Features")  # of its lines, what the compiler decides by
FLEET = ("platform", "processor", "jax", "jaxlib")  # by which machines may differ that `mixed` lets join


class Part(NamedTuple):
    """Runs first_run, ..., first_run + num_runs - 1 of a cell."""

    where: str  # named in refusals: a file, or a task
    about: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]

    @property
    def first_run(self) -> int:
        """Number of the first run."""
        return self.about["first_run"]

    @property
    def end(self) -> int:
        """Number after that of the last run."""
        return self.about["first_run"] + self.about["num_runs"]


def part_of(record: Record | Identified, first_run: int, where: str = "") -> Part:
    """Return the part that a record of the engine makes."""
    fixed = isinstance(record, Record)
    names = RUNS if fixed else STOPPED_RUNS
    arrays = {name: np.asarray(x) for name in names if (x := getattr(record, name)) is not None}
    count = np.bincount(record.outcome, minlength=len(Outcome))
    about: dict[str, Any] = {
        "first_run": first_run,
        "num_runs": len(record.outcome),
        "identity": dict(record.identity) | {"processor": processor()},
        "outcomes": {outcome.name.lower(): int(count[outcome]) for outcome in Outcome},
        "seconds": {"compile": record.compile_seconds, "run": record.run_seconds},
        "steps": {"run": record.run_steps},
        "devices": record.devices,
    }
    if fixed:
        sums = record.sums or {}
        about["sums"] = {name: x.plain() if isinstance(x, Moments) else [str(n) for n in x] for name, x in sums.items()}
        about |= {"measure": record.measure, "phases": list(record.phases)}
    else:
        about["steps"]["lane"] = record.lane_steps
    return Part(where, about, arrays)


def encoded(part: Part) -> bytes:
    """Return a part as the bytes of its file."""
    file = io.BytesIO()
    text = np.frombuffer(json.dumps(part.about).encode(), np.uint8)
    np.savez(file, allow_pickle=False, about=text, **part.arrays)
    return file.getvalue()


def decoded(data: bytes, where: str) -> Part:
    """Return the part that these bytes are; ValueError in one line where they are none."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        about = json.loads(arrays.pop("about").tobytes())
        outcome, number = arrays["outcome"], about["num_runs"]
        count = np.bincount(outcome, minlength=len(Outcome)).tolist()
        if len(outcome) != number or count != list(about["outcomes"].values()):
            raise ValueError("its counts are not those of its runs")
    except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{where}: not a whole part of an experiment ({error}); delete it and play it again") from None
    return Part(where, about, arrays)


def in_order(parts: Sequence[Part], what: str) -> list[Part]:
    """Return the parts by their runs; ValueError that names two that overlap."""
    ordered = sorted(parts, key=lambda part: (part.first_run, part.end))
    for before, after in itertools.pairwise(ordered):
        if after.first_run < before.end:
            runs = said(after.first_run, min(before.end, after.end))
            raise ValueError(f"{what}: {runs} in both {before.where} and {after.where}; leave one of them out")
    return ordered


def gaps(parts: Sequence[Part], first: int, end: int) -> list[tuple[int, int]]:
    """Return the ranges [a, b) of runs in [first, end) that no part has, the parts being in order."""
    found = []
    for part in parts:
        if part.first_run > first:
            found.append((first, min(part.first_run, end)))
        first = max(first, part.end)
    return [(a, b) for a, b in [*found, (first, end)] if a < b]


def said(first: int, end: int) -> str:
    """Return a range of runs in words."""
    return f"run {first} is" if end == first + 1 else f"runs {first} to {end - 1} are"


def joined(parts: Sequence[Part], mixed: bool = False) -> Record | Identified:
    """Return the record of the runs of all parts, the one that a single call would have left.

    Args:
      parts: in order, without overlaps or gaps, at least one.
      mixed: whether they may come from machines of other platforms, processors and versions of JAX; the record's
        identity then says so.

    Raises:
      ValueError: the parts are not of one simulation.
    """
    about = _identity(parts, mixed)
    first = parts[0].about
    together: dict[str, Any] = {
        "compile_seconds": sum(part.about["seconds"]["compile"] for part in parts),
        "run_seconds": sum(part.about["seconds"]["run"] for part in parts),
        "run_steps": sum(part.about["steps"]["run"] for part in parts),
        "devices": sorted({device for part in parts for device in part.about["devices"]}),
        "identity": about,
    }
    fixed = "sums" in first
    for name in RUNS if fixed else STOPPED_RUNS:
        arrays = [part.arrays[name] for part in parts if name in part.arrays]
        if arrays and len(arrays) < len(parts):
            lacks = next(part.where for part in parts if name not in part.arrays)
            raise ValueError(f"{lacks}: has no {name} of each run, and others have; play it again like the others")
        together[name] = np.concatenate(arrays) if arrays else None
    if not fixed:
        return Identified(**together, lane_steps=sum(part.about["steps"]["lane"] for part in parts))
    marks = np.array(about["checkpoints"], np.int64)
    moments = {name: Moments(len(marks)) for name in ("regret", "hindsight") if name in first["sums"]}
    totals = {name: np.zeros(len(first["sums"][name]), np.int64) for name in first["sums"] if name not in moments}
    for part in parts:
        for name, sums in part.about["sums"].items():
            if name in moments:
                moments[name].add_sums(sums)
            else:
                totals[name] += np.array([int(n) for n in sums], np.int64)
    regret, hindsight = moments["regret"], moments.get("hindsight")
    means: dict[str, Any] = {f"{name}_mean": total / max(regret.count, 1) for name, total in totals.items()}
    return Record(
        checkpoints=marks,
        measure=first["measure"],
        phases=tuple(first["phases"]),
        counted=regret.count,
        mean=regret.mean(),
        variance=regret.variance(),
        hindsight_mean=hindsight.mean() if hindsight else None,
        hindsight_variance=hindsight.variance() if hindsight else None,
        sums={**moments, **totals},
        **{"pulls_mean": None, "kinds_mean": None, **means, **together},
    )


def _identity(parts: Sequence[Part], mixed: bool) -> dict[str, Any]:
    """Return what the numbers of all parts depend on; refuse parts that differ in it."""
    here, kinds = dict(parts[0].about["identity"]), {}
    for part in parts:
        there = dict(part.about["identity"])
        other = [name for name in FLEET if here.get(name) != there.get(name)]
        for name in FLEET:
            kinds.setdefault(name, {})[str(there.get(name))] = part.where
        # As another JAX writes it, the same program has another digest.
        same = {name: here.get(name) for name in (*other, *(["program"] if other else []))}
        found = identity.differences(here, {**there, **same})
        if other and not mixed:
            found += [f"{name} {here.get(name)} and {there.get(name)}" for name in other]
        if found:
            remedy = "join them all the same with --mixed" if len(found) == len(other) else "leave one of them out"
            raise ValueError(f"{parts[0].where} and {part.where}: not of one kind: {'; '.join(found)}; {remedy}")
    here.pop("processor")
    several = [f"{name} {', '.join(sorted(found))}" for name, found in kinds.items() if len(found) > 1]
    return here | ({"mixed": several} if several else {})


@functools.cache
def processor() -> str:
    """Return a name of this kind of processor, equal where the compiler takes one for the other."""
    about = [platform.machine()]
    try:
        first = CPUINFO.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
        about += [line for line in first.splitlines() if line.partition(":")[0].strip() in PROCESSOR]
    except OSError:
        about.append(platform.processor())
    return hashlib.sha256("\n".join(about).encode()).hexdigest()[:16]
