"""Unfinished simulations on disk, by run: the results of finished runs, and the states of runs in progress.

The directory holds `identity.json`, the files `done-NNNNNN.npz`, which are written once, and one `live.npz`, which is
replaced at each save. A run in both kinds of files counts as finished, and one in none is played from its start.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.engine.storage import directories
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage.identity import Identity, require
from jaxbandit.engine.storage.json_files import read_json, write_json
from jaxbandit.support.refusals import BadInput, refuse

# The files of which a directory of checkpoints holds one; the last is written if an executor plays the runs.
MARKS = ("identity.json", "done-*.npz", "live.npz", "parts/call.json")
SAVE_SECONDS = 10.0  # time between two saves
SAVE_SHARE = 20  # the time between two saves is at least this multiple of the duration of the last save

Rows = dict[str, np.ndarray]  # "run", int32[n], and the results of these runs, one row per run
Segment = dict[str, np.ndarray]  # "run", int32[n], and the state of these runs in the layout of the engine's loop


class Finished(NamedTuple):
    """Runs that finished in an earlier call: arrays as in its Record or Identified, from run `first_run` on."""

    where: str  # named in error messages
    identity: Identity  # of the earlier call
    arrays: Mapping[str, np.ndarray]

    def rows(self, here: Identity, names: Iterable[str], first_run: int, num_runs: int) -> Rows:
        """The arrays of these names as rows; a ValueError if one is missing, or they do not belong to this call."""
        require(self.where, self.identity, here)
        if missing := [name for name in names if name not in self.arrays]:
            raise BadInput(f"{self.where}: has no {missing[0]} of each run, so runs cannot be added; delete it")
        number = len(self.arrays["outcome"])
        if number > num_runs:
            raise BadInput(f"{self.where}: has {number} runs, but num_runs = {num_runs} asks for fewer; ask for more")
        rows = {name: self.arrays[name] for name in names}
        return {"run": np.arange(first_run, first_run + number, dtype=np.int32), **rows}


class Checkpoint:
    """The files of one simulation, open while it is played; without a directory it does nothing.

    Each player, a thread that advances a segment, provides a copy of it when a save is due, and the last of them writes
    the files. Segments that no player has started are saved as they were read.
    """

    def __init__(self, directory: str | Path | None, about: Identity):
        self.directory = directory = None if directory is None else Path(directory)
        self.about = about
        self._ended: list[Rows] = []
        self._segments: dict[int, Segment] = {}
        self._players: set[int] = set()
        self._told: set[int] = set()  # players that have renewed their segments since the last save
        self._saved, self._interval = time.monotonic(), SAVE_SECONDS
        self._lock, self._saving = threading.Lock(), threading.Lock()
        self._alone = contextlib.nullcontext() if directory is None else directories.locked(directory, *MARKS)

    def __enter__(self) -> "Checkpoint":
        self._alone.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._alone.__exit__(*error)

    def ended(self) -> Iterator[Rows]:
        """Yield the results of finished runs, file by file; files of another simulation raise a ValueError."""
        if self.directory is None:
            return
        about, parts = self.directory / "identity.json", self._parts()
        if about.exists():
            require(self.directory, read_json(about, storage.RECOMPUTE), self.about)
        elif parts or (self.directory / "live.npz").exists():
            refuse(str(about), f": is missing; delete {self.directory} to compute its runs again")
        else:
            write_json(about, dict(self.about))
        for part in parts:
            yield storage.read_arrays(part, storage.RECOMPUTE)

    def under_way(self) -> list[Segment]:
        """The segments of the last save."""
        if self.directory is None or not (self.directory / "live.npz").exists():
            return []
        segments: dict[str, Segment] = {}
        for name, values in storage.read_arrays(self.directory / "live.npz", storage.RECOMPUTE).items():
            number, _, name = name.partition(".")
            segments.setdefault(number, {})[name] = values
        return list(segments.values())

    def hold(self, key: int, segment: Callable[[], Segment]) -> None:
        """Include this segment in every save from now on, until its player renews it."""
        if self.directory is not None:
            fresh = segment()
            with self._lock:
                self._segments[key] = fresh

    def begin(self, key: int) -> None:
        """Register a player."""
        with self._lock:
            self._players.add(key)

    def end(self, key: int) -> None:
        """Remove a player whose runs have all finished, together with its segment."""
        with self._lock:
            self._players.discard(key)
            self._segments.pop(key, None)

    def collect(self, rows: Rows) -> None:
        """Keep the results of finished runs until the next save."""
        if self.directory is not None:
            with self._lock:
                self._ended.append(rows)

    def look(self, key: int, segment: Callable[[], Segment]) -> None:
        """Renew a player's segment if a save is due; the last player saves. It is called between two chunks."""
        if self.directory is None:
            return
        with self._lock:
            age = time.monotonic() - self._saved
            late = age >= 2 * self._interval
            if age < self._interval or (key in self._told and not late):
                return
        fresh = segment()
        with self._lock:
            self._segments[key] = fresh
            self._told.add(key)
            ready = late or self._players <= self._told
        if ready:
            self.save(wait=False)

    def save(self, wait: bool = True) -> None:
        """Write all results and segments; if another thread is saving, wait for it first, or return without saving."""
        if self.directory is None or not self._saving.acquire(blocking=wait):
            return
        try:
            begun = time.monotonic()
            with self._lock:
                ended, self._ended = self._ended, []
                segments = [segment for segment in self._segments.values() if segment]
                self._told.clear()
                self._saved = begun
            try:
                self._write(self.directory, ended, segments)
            except BaseException:
                with self._lock:
                    self._ended = ended + self._ended
                raise
            with self._lock:
                self._saved = time.monotonic()
                self._interval = max(SAVE_SECONDS, SAVE_SHARE * (self._saved - begun))
        finally:
            self._saving.release()

    def _write(self, directory: Path, ended: list[Rows], segments: list[Segment]) -> None:
        if ended:  # written before the segments, which no longer contain these runs
            parts = self._parts()
            number = int(parts[-1].stem.partition("-")[2]) + 1 if parts else 0
            rows = {name: np.concatenate([part[name] for part in ended]) for name in ended[0]}
            storage.write_arrays(directory / f"done-{number:06d}.npz", rows)
        live = directory / "live.npz"
        if segments:
            named = {f"{i}.{name}": x for i, segment in enumerate(segments) for name, x in segment.items()}
            storage.write_arrays(live, named)
        else:
            live.unlink(missing_ok=True)

    def _parts(self) -> list[Path]:
        return [] if self.directory is None else sorted(self.directory.glob("done-*.npz"))


def unknown(known: np.ndarray) -> list[tuple[int, int]]:
    """The ranges [a, b) of indices at which `known`, bool[n], is False."""
    edges = np.flatnonzero(np.diff(np.concatenate([[True], known, [True]])))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def size(segment: Segment) -> int:
    """Number of runs in a segment in which every array has the run axis last."""
    return len(segment["run"]) if segment else 0


def columns(segment: Segment, place: Any) -> Segment:
    """The runs at these positions; {} if there are none."""
    part = {name: x[..., place] for name, x in segment.items()}
    return part if size(part) else {}


def joined(segments: list[Segment]) -> Segment:
    """The runs of all segments together; {} if there are none."""
    some = [segment for segment in segments if size(segment)]
    return {name: np.concatenate([segment[name] for segment in some], -1) for name in some[0]} if some else {}


def shares(ranges: list[tuple[int, int]], parts: int) -> list[list[tuple[int, int]]]:
    """Divide the ranges [first, end) into `parts` shares of about equal size."""
    total = sum(end - first for first, end in ranges)
    shared: list[list[tuple[int, int]]] = [[] for _ in range(parts)]
    before = 0  # total length of the earlier ranges
    for first, end in ranges:
        for i, share in enumerate(shared):
            a = max(total * i // parts - before, 0) + first
            b = min(total * (i + 1) // parts - before, end - first) + first
            if a < b:
                share.append((a, b))
        before += end - first
    return shared
