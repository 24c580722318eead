"""Links, pipes and directories in the place of every file that a command writes."""

import functools
import os
import random
import shutil
from pathlib import Path
from typing import NamedTuple

from .outcomes import HARMLESS, REFUSED, Failure
from .workshop import Workshop, snapshot
from .writers import READERS, WRITERS, Writer

KINDS = ("link", "link to its content", "link to a directory", "dangling link", "hard link", "pipe", "directory")


class Case(NamedTuple):
    """What is where."""

    writer: Writer
    empty: bool  # whether the directory is empty otherwise, or that of a finished command
    name: str
    kind: str

    def __str__(self) -> str:
        return f"{self.writer.name} in {'an empty' if self.empty else 'its'} directory: {self.kind} at {self.name}"


@functools.cache
def cases(workshop: Workshop) -> list[Case]:
    """Every writer, state of the directory, name and kind, in an order that mixes them."""
    found = []
    for writer in [*WRITERS, *READERS]:
        for name in writer.names(workshop):
            for kind in KINDS:
                if writer.begins and kind != "link to its content":
                    found.append(Case(writer, True, name, kind))
                found.append(Case(writer, False, name, kind))
    random.Random(0).shuffle(found)
    # First the case that was reported, with every command.
    found.sort(key=lambda case: (case.name != ".lock" or case.kind != "link", case.name not in ("log.jsonl", ".lock")))
    return found


def count(workshop: Workshop) -> int:
    return len(cases(workshop))


def one(workshop: Workshop, number: int, chance: random.Random) -> str:
    """The command refuses in one line, or does without; the victim stays as it is."""
    case = cases(workshop)[number % count(workshop)]
    source = case.writer.directory(workshop)
    scratch = workshop.scratch()
    path, victims = scratch / "d", scratch / "victims"
    victims.mkdir()
    (victims / "file").write_text("precious\n")
    (victims / "inner").mkdir()
    (victims / "inner" / "file").write_text("precious too\n")
    place = path / case.name
    if case.empty:
        path.mkdir()
    else:
        shutil.copytree(source, path)
    if case.kind == "link to its content" and place.is_file():
        shutil.copy(place, victims / "file")
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    _plant(place, case.kind, victims)
    before = snapshot(victims)
    try:
        outcome = case.writer.call(workshop, path)
    except Failure as failure:
        raise Failure(f"{case}: {failure}") from None
    finally:
        changed = snapshot(victims) != before
        if place.is_dir() and not place.is_symlink():
            changed |= not (place / "file").exists() and case.kind == "directory"
    if changed:
        raise Failure(f"{case}: the victim is not what it was ({outcome})")
    if outcome == HARMLESS and case.empty and _foreign(case):
        raise Failure(f"{case}: not refused")
    if outcome == REFUSED and not os.path.lexists(place):
        raise Failure(f"{case}: refused, but the {case.kind} is gone")
    return outcome


def _foreign(case: Case) -> bool:
    """Whether the name alone makes an empty directory somebody else's; `simulate` has only names of its own."""
    return case.writer.name not in ("simulate", "session_directory") or "/" not in case.name


def _plant(place: Path, kind: str, victims: Path) -> None:
    if kind in ("link", "link to its content"):
        place.symlink_to(victims / "file")
    elif kind == "link to a directory":
        place.symlink_to(victims / "inner")
    elif kind == "dangling link":
        place.symlink_to(victims / "absent")
    elif kind == "hard link":
        os.link(victims / "file", place)
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.mkdir()
        (place / "file").write_text("precious\n")
