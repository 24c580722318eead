"""The scores that searches share: outcomes of trainings by configuration and seed, in memory or in a directory.

scores.json   what all scores have in common: the seed, and whether configurations share seeds
scores.jsonl  a line for each group of configurations that entered, batch sizes, and outcomes, in their order

The lines have checksums as the log of a session has. A directory serves any search with the same training function:
with more configurations, another epsilon, rule or budget.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.decide.core import log
from jaxbandit.decide.sessions.rewards import LARGEST
from jaxbandit.decide.tuning.criterion import Stage
from jaxbandit.engine.storage import directories, json_files
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage.appending import OpenLog
from jaxbandit.support import refusals
from jaxbandit.support.refusals import BadInput, Unfinished
from jaxbandit.support.types import Json

ABOUT, LOG = "scores.json", "scores.jsonl"
SCHEMA = 1
FORMS = (
    ({"configs", "programs"}, {"first", "blind", "delta"}),
    ({"batch", "programs"}, set()),
    ({"config", "seed", "score"}, {"attempts", "failures"}),
)
REMEDY = "restore it from a copy, or let jaxbandit repair DIR keep the lines before it"
LATE, VALUE = "late", "value"  # kinds of failures: no end within the time, and a value that is no score


class Failure(NamedTuple):
    """Why a training has no score."""

    kind: str  # LATE, VALUE, or the name of the type of the exception that it has raised
    text: str  # in words that follow the configuration


class Outcome(NamedTuple):
    """The outcome of a training."""

    score: float  # NaN if it failed
    attempts: int = 1
    failure: Failure | None = None


class Entry(NamedTuple):
    """A configuration of the store."""

    key: str  # digest of its values
    program: str  # digest of what trains it


class Store:
    """Outcomes of trainings, kept in memory."""

    def __init__(self) -> None:
        """Begin without outcomes."""
        self.entries: list[Entry] = []
        self.stages: list[Stage] = []
        self.delta: float | None = None  # of the first search
        self.batches: dict[str, int] = {}  # batch size of each program
        self._outcomes: dict[tuple[int, int], Outcome] = {}  # by (number of the configuration, seed)

    def outcome(self, config: int, seed: int) -> Outcome | None:
        """Return the outcome of a training, None if it is not known."""
        return self._outcomes.get((config, seed))

    def next_seed(self) -> int:
        """Return the first seed at which no configuration has been trained."""
        return 1 + max((seed for _, seed in self._outcomes), default=-1)

    def all_of(self, config: int, below: int) -> Iterator[tuple[int, Outcome]]:
        """Yield the known outcomes of a configuration at seeds below a number, in the order of seeds."""
        for seed in range(below):
            if (outcome := self.outcome(config, seed)) is not None:
                yield seed, outcome

    def enter(self, entries: Sequence[Entry], *, blind: bool, delta: float) -> None:
        """Add configurations, which are a stage of their own."""
        first = 0 if blind or not self.stages else self.next_seed()
        line = {"configs": [e.key for e in entries], "programs": [e.program for e in entries]}
        self._write({**line, "first": first, "blind": blind, "delta": delta})

    def set_batches(self, sizes: Mapping[str, int]) -> None:
        """Record the batch sizes of programs that had none."""
        if new := {program: size for program, size in sizes.items() if program not in self.batches}:
            self._write({"programs": [*new], "batch": [*new.values()]})

    def add(self, configs: Sequence[int], seeds: Sequence[int], outcomes: Sequence[Outcome]) -> None:
        """Add outcomes of trainings. When it returns, they are on the disk if the store has a directory."""
        if not len(configs):
            return
        scores = [None if np.isnan(outcome.score) else outcome.score for outcome in outcomes]
        line: Json = {"config": [int(c) for c in configs], "seed": [int(s) for s in seeds], "score": scores}
        if any(outcome.attempts != 1 for outcome in outcomes):
            line["attempts"] = [outcome.attempts for outcome in outcomes]
        if any(outcome.failure for outcome in outcomes):
            line["failures"] = [outcome.failure for outcome in outcomes]
        self._write(line)

    def _write(self, line: Json) -> None:
        self._take(line)

    def _take(self, line: Json) -> None:
        """Take the content of a line; raise a ValueError if it does not fit."""
        if "configs" in line:
            self.entries += [Entry(*map(str, e)) for e in zip(line["configs"], line["programs"], strict=True)]
            self.stages.append(Stage(len(self.entries), int(line["first"]), bool(line["blind"])))
            self.delta = float(line["delta"]) if self.delta is None else self.delta
        elif "batch" in line:
            self.batches |= {str(p): int(size) for p, size in zip(line["programs"], line["batch"], strict=True)}
        else:
            count = len(line["config"])
            columns = line["score"], line.get("attempts", [1] * count), line.get("failures", [None] * count)
            for config, seed, score, attempts, failure in zip(line["config"], line["seed"], *columns, strict=True):
                whole = type(config) is int and 0 <= config < len(self.entries) and type(seed) is int and seed >= 0
                if not whole or type(attempts) is not int or attempts < 1:
                    raise ValueError("an entry is none of a search")
                if score is not None and not (type(score) in (int, float) and abs(score) <= LARGEST):
                    raise ValueError("a score is not finite")
                outcome = Outcome(
                    np.nan if score is None else float(score),
                    attempts,
                    Failure(*map(str, failure)) if failure else None,
                )
                before = self._outcomes.get((config, seed))
                if before is None or np.isnan(before.score):  # a failed training may be repeated
                    self._outcomes[config, seed] = outcome


class DirectoryStore(Store):
    """Outcomes of trainings, kept in a directory, which is opened by `opened`."""

    def __init__(self, path: Path, about: Json, data: bytes):
        """Read the lines of the log; nothing is changed."""
        super().__init__()
        lines = log.split(path / LOG, data, log.beginning(about))
        if lines.fault is not None:
            raise log.BadLog(path / LOG, lines.fault.line, "does not fit the lines before it", REMEDY)
        for number, body in enumerate(lines.bodies, 1):
            try:
                self._take(log.entry_of(path / LOG, number, body, FORMS))
            except log.BadLog:
                raise
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
                raise log.BadLog(path / LOG, number, f"cannot be read ({error})", REMEDY) from None
        self._end, self._file = lines.end, OpenLog(path / LOG, len(data), lines.end.size)

    def _write(self, line: Json) -> None:
        data, end = log.line_of(line, self._end)
        self._file.append(data, self._end.size, sync=True)
        self._end = end
        self._take(line)

    def close(self) -> None:
        """Close the log."""
        self._file.close()


@contextlib.contextmanager
def resumable(directory: Path | None) -> Iterator[None]:
    """Add to a KeyboardInterrupt, as a note, and to an Unfinished whether the same call resumes."""
    try:
        with refusals.resumable(directory, "directory"):
            yield
    except Unfinished as error:
        error.args = (f"{error}; {refusals.what_is_saved(directory, 'directory')}",)
        raise


@contextlib.contextmanager
def opened(path: Path | None, about: Json) -> Iterator[Store]:
    """Open the store of a directory, or begin a new one, locked against other processes; in memory without a path.

    `about` is what all scores have in common, as plain data. What ends a search early says whether the same call
    resumes.
    """
    if path is None:
        with resumable(path):
            yield Store()
        return
    with resumable(path), directories.locked(path, ABOUT):
        if not (path / ABOUT).exists():
            json_files.write_json(path / ABOUT, {"schema": SCHEMA, **about})
        stored = read_about(path)
        for name, value in about.items():
            if stored.get(name) != value:
                what = f"{name} = {stored.get(name)}, but this search has {name} = {value}"
                raise ValueError(f"directory = {path} holds scores with {what}; give another directory")
        store = DirectoryStore(path, stored, log.data_of(path / LOG))
        try:
            yield store
        finally:
            store.close()


def repair(path: Path) -> str:
    """Drop the lines of a log from the first damaged one on; they stay in the directory under another name.

    It returns what was changed, in one line.
    """
    about = read_about(path)
    with directories.locked(path, ABOUT):
        data = log.data_of(path / LOG)
        lines = log.split(path / LOG, data, log.beginning(about))
        if lines.fault is None and lines.end.size == len(data):
            return f"{path}: nothing to repair, the log of {len(lines.bodies)} lines is sound"
        name = log.put_aside(path / LOG, data)
        storage.write_bytes(path / LOG, data[: lines.end.size])
    return f"{path}: {len(lines.bodies)} lines are kept, and what comes after them is trained again; all is in {name}"


def read_about(path: Path) -> dict[str, Any]:
    """Return what the scores of a directory have in common; raise a ValueError of one line if it is damaged."""
    file = path / ABOUT
    if not file.exists():
        raise BadInput(f"{path}: holds no search")
    content = json_files.read_json(file, storage.RESTORE, SCHEMA)
    return {name: value for name, value in content.items() if name != "schema"}
