"""Parts of a cell (one algorithm on one instance): some of its runs, played anywhere and joined to the exact result.

Their sums are exact integers, so joined parts equal a single call to the byte. A part is one file: the arrays of each
run, and `about`, JSON with the identity of the simulation, the outcomes, and the sums as decimal strings.
"""

import functools
import hashlib
import itertools
import json
import platform
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.base.contract import Outcome
from jaxbandit.engine.driver.records import RUNS, STOPPED_RUNS, Identified, Record
from jaxbandit.engine.driver.simulate import means
from jaxbandit.engine.driver.simulate import more as more_of
from jaxbandit.engine.rounds.metrics import is_curve
from jaxbandit.engine.rounds.moments import Moments
from jaxbandit.engine.rounds.states import is_per_run
from jaxbandit.engine.storage import identity, npz
from jaxbandit.support import cpuinfo, reading
from jaxbandit.support.refusals import BadInput

PROCESSOR = ("vendor_id", "flags", "CPU implementer", "Features")  # the entries of cpuinfo that affect the compiler
FLEET = ("platform", "processor", "jax", "jaxlib")  # differences between machines that `mixed` permits


class Part(NamedTuple):
    """Runs first_run, ..., first_run + num_runs - 1 of a cell."""

    where: str  # the file or task that error messages name
    about: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]

    @property
    def first_run(self) -> int:
        """Index of the first run."""
        return self.about["first_run"]

    @property
    def end(self) -> int:
        """Index of the last run, plus one."""
        return self.about["first_run"] + self.about["num_runs"]


def part_of(record: Record | Identified, first_run: int, where: str = "") -> Part:
    """Return the part with the runs of a record of the engine."""
    fixed = isinstance(record, Record)
    names = RUNS if fixed else STOPPED_RUNS
    arrays = {name: np.asarray(x) for name in names if (x := getattr(record, name)) is not None}
    arrays |= {name: x for name, x in record.more.items() if is_per_run(name)}
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
    """Return the bytes of the file of a part."""
    return npz.encode({"about": np.frombuffer(json.dumps(part.about).encode(), np.uint8), **part.arrays})


def decoded(data: bytes, where: str) -> Part:
    """Return the part with these bytes; invalid bytes raise a one-line ValueError."""
    try:
        arrays = npz.decode(data)
        about = reading.json_of(arrays.pop("about").tobytes())
        outcome, number = arrays["outcome"], about["num_runs"]
        count = np.bincount(outcome, minlength=len(Outcome)).tolist()
        if len(outcome) != number or count != list(about["outcomes"].values()):
            raise ValueError("its outcome counts do not match its runs")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput(f"{where}: not a whole part of an experiment ({error}); delete it and run it again") from None
    return Part(where, about, arrays)


def in_order(parts: Sequence[Part], what: str) -> list[Part]:
    """Return the parts in the order of their runs; overlapping parts raise a ValueError that names two of them."""
    ordered = sorted(parts, key=lambda part: (part.first_run, part.end))
    for before, after in itertools.pairwise(ordered):
        if after.first_run < before.end:
            runs = said(after.first_run, min(before.end, after.end))
            raise BadInput(f"{what}: {runs} in both {before.where} and {after.where}; leave one of them out")
    return ordered


def gaps(parts: Sequence[Part], first: int, end: int) -> list[tuple[int, int]]:
    """Return the ranges [a, b) of runs in [first, end) that are in no part; `parts` must be in order."""
    missing = []
    for part in parts:
        if part.first_run > first:
            missing.append((first, min(part.first_run, end)))
        first = max(first, part.end)
    return [(a, b) for a, b in [*missing, (first, end)] if a < b]


def said(first: int, end: int) -> str:
    """Return a range of runs in words, with the verb: "run 3 is", "runs 3 to 5 are"."""
    return f"run {first} is" if end == first + 1 else f"runs {first} to {end - 1} are"


def joined(parts: Sequence[Part], mixed: bool = False) -> Record | Identified:
    """Return the record of the runs of parts in order, equal to that of a single call with all runs.

    Parts of different simulations raise a ValueError; with `mixed`, platforms, processors and versions of JAX may
    differ, and the identity of the record lists them.
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
    more = [name for name in parts[0].arrays if is_per_run(name) and name not in RUNS]
    for name in (*(RUNS if fixed else STOPPED_RUNS), *more):
        arrays = [part.arrays[name] for part in parts if name in part.arrays]
        if arrays and len(arrays) < len(parts):
            lacks = next(part.where for part in parts if name not in part.arrays)
            raise BadInput(f"{lacks}: has no {name} of each run, but others have; run it again like the others")
        together[name] = np.concatenate(arrays) if arrays else None
    kept = {name: together.pop(name) for name in more}
    if not fixed:
        return Identified(**together, more=kept, lane_steps=sum(part.about["steps"]["lane"] for part in parts))
    marks = np.array(about["checkpoints"], np.int64)
    moments = {name: Moments(len(marks)) for name in first["sums"] if is_curve(name)}
    totals = {name: np.zeros(len(first["sums"][name]), np.int64) for name in first["sums"] if name not in moments}
    for part in parts:
        for name, sums in part.about["sums"].items():
            if name in moments:
                moments[name].add_sums(sums)
            else:
                totals[name] += np.array([int(n) for n in sums], np.int64)
    counted = sum(part.about["outcomes"]["stopped"] for part in parts)
    every: dict[str, Any] = {f"{name}_mean": total / max(counted, 1) for name, total in totals.items()}
    return Record(
        checkpoints=marks,
        measure=first["measure"],
        phases=tuple(first["phases"]),
        counted=counted,
        **means(moments),
        sums={**moments, **totals},
        more=more_of(kept, moments, about.get("metrics", [])),
        **every,
        **together,
    )


def _identity(parts: Sequence[Part], mixed: bool) -> dict[str, Any]:
    """Return the common identity of all parts; raise a ValueError if it differs."""
    here, kinds = dict(parts[0].about["identity"]), {}
    for part in parts:
        there = dict(part.about["identity"])
        other = [name for name in FLEET if here.get(name) != there.get(name)]
        for name in FLEET:
            kinds.setdefault(name, {})[str(there.get(name))] = part.where
        # Another version of JAX may write the same program differently, which changes its digest.
        same = {name: here.get(name) for name in (*other, *(["program"] if other else []))}
        differing = identity.differences(here, {**there, **same})
        if other and not mixed:
            differing += [f"{name} {here.get(name)} and {there.get(name)}" for name in other]
        if differing:
            remedy = "join them anyway with --mixed" if len(differing) == len(other) else "leave one of them out"
            raise BadInput(f"{parts[0].where} and {part.where}: not of one kind: {'; '.join(differing)}; {remedy}")
    here.pop("processor")
    several = [f"{name} {', '.join(sorted(differing))}" for name, differing in kinds.items() if len(differing) > 1]
    return here | ({"mixed": several} if several else {})


@functools.cache
def processor() -> str:
    """Return a digest of the kind of this processor, equal for processors that the compiler treats alike."""
    about = [platform.machine()]
    try:
        about += cpuinfo.lines(PROCESSOR)
    except OSError:
        about.append(platform.processor())
    return hashlib.sha256("\n".join(about).encode()).hexdigest()[:16]
