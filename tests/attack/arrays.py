"""Damage to files: saved sessions, and arrays of parts, cells, checkpoints, tables of a search; refused or harmless."""

import functools
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jaxbandit as jb

from . import damage, logs
from .outcomes import HARMLESS, Failure, call, python
from .workshop import Workshop, files_of

MOST_BYTES = 64 * 2**20  # what a reader may allocate beyond the file
Damage = Callable[[bytes, random.Random], tuple[bytes, str]]


@functools.cache
def saved(root: Path) -> Path:
    """A session in one file."""
    path = root / "saved.session"
    with jb.session_directory(logs.clean(root), logs.RULE(), seed=5) as store:
        jb.save_session(path, store.session)
    return path


@functools.cache
def numbers_of_saved(root: Path) -> str:
    return logs.numbers(jb.load_session(saved(root), logs.RULE()))


def saved_session(workshop: Workshop, number: int, chance: random.Random, way: Damage) -> str:
    """A saved session is loaded."""
    clean = numbers_of_saved(workshop.root)
    path = workshop.scratch() / "saved.session"
    data, what = way(saved(workshop.root).read_bytes(), chance)
    path.write_bytes(data)
    try:
        outcome, said = python("load_session", lambda: logs.numbers(jb.load_session(path, logs.RULE())))
        if outcome == HARMLESS and said != clean:
            raise Failure("other numbers, and not refused")
        if number % 20 == 0:
            call("report", path, cwd=path.parent)
    except Failure as failure:
        raise Failure(f"saved.session: {what}: {failure}") from None
    return outcome


def numbers_of(results: Any) -> list[Any]:
    """The bytes of all arrays of results."""
    return [
        {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in sorted(result.arrays.items())}
        for result in results
    ]


@functools.cache
def numbers_of_run(path: Path) -> list[Any]:
    return numbers_of(jb.load(path))


def cell(workshop: Workshop, number: int, chance: random.Random, way: Damage) -> str:
    """A cell of results, its arrays or its description, is loaded."""
    name = chance.choice(["run", "identify"])
    path = workshop.copy(name)
    clean = numbers_of_run(getattr(workshop, name))
    ends = (".npz", ".json") if way is damage.bytes_damaged else (".npz",)
    names = [each for each in files_of(path) if each.startswith("cell-") and each.endswith(ends)]
    file = path / chance.choice(names)
    data, what = way(file.read_bytes(), chance)
    file.write_bytes(data)
    try:
        outcome, said = python("load", lambda: numbers_of(jb.load(path)))
        if outcome == HARMLESS and said != clean:
            raise Failure("other numbers, and not refused")
        if number % 20 == 0:
            for argv in (["report", path], ["plot", path], ["run", f"{name}.toml", "--out", path]):
                call(*argv, cwd=workshop.specs)
    except Failure as failure:
        raise Failure(f"{name}/{file.name}: {what}: {failure}") from None
    return outcome


def part(workshop: Workshop, number: int, chance: random.Random, way: Damage) -> str:
    """A part of the runs is merged."""
    clean, path = workshop.merged, workshop.copy("parts")
    file = path / chance.choice([name for name in files_of(path) if name.endswith(".npz")])
    data, what = way(file.read_bytes(), chance)
    file.write_bytes(data)
    try:
        said = call("merge", "0", "1", "--out", "m", cwd=path)
        if said.status == 0 and numbers_of(jb.load(path / "m")) != numbers_of_run(clean):
            raise Failure("other numbers, and not refused")
    except Failure as failure:
        raise Failure(f"{file.relative_to(path)}: {what}: {failure}") from None
    return said.outcome


def table(workshop: Workshop, number: int, chance: random.Random, way: Damage) -> str:
    """A table of a search, or a batch of an audit, is read for a report, and the command goes on in the directory."""
    name = chance.choice(["tune", "audit"])
    clean, path = getattr(workshop, name), workshop.copy(name)
    file = path / chance.choice([each for each in files_of(path) if each.endswith(".npz")])
    data, what = way(file.read_bytes(), chance)
    file.write_bytes(data)
    try:
        said = call("report", path, cwd=workshop.specs)
        if name == "audit":
            call("audit", "audit.toml", "--out", path, "--runs", "400", cwd=workshop.specs)
            if (path / "audit.json").read_bytes() != (clean / "audit.json").read_bytes():
                raise Failure("another audit.json, and not refused")
    except Failure as failure:
        raise Failure(f"{name}/{file.relative_to(path)}: {what}: {failure}") from None
    return said.outcome


def crafted(workshop: Workshop, number: int, chance: random.Random) -> str:
    """Files of arrays that somebody made on purpose, in every place where arrays are read; memory is bounded."""
    one = (cell, part, table)[number % 3]
    for name in ("merged", "tune", "audit", "run", "identify"):
        getattr(workshop, name)
    numbers_of_saved(workshop.root), numbers_of_run(workshop.merged)

    def way(data: bytes, chance: random.Random) -> tuple[bytes, str]:
        made = damage.array_file(chance, data)
        tracemalloc.reset_peak()
        return made

    tracemalloc.start()
    try:
        outcome = one(workshop, number, chance, way)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if most > MOST_BYTES:
        raise Failure(f"{one.__name__}: {most / 2**20:.0f} MiB allocated by try {number}")
    return outcome


def damaged(one: Callable[..., str]) -> Callable[..., str]:
    """The attack that flips bits in these files."""
    return functools.partial(one, way=damage.bytes_damaged)
