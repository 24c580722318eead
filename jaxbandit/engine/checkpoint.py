"""Unfinished simulations on disk, by run: what ended runs have left, and the state of those under way.

The directory holds `identity.json`, `done-NNNNNN.npz`, which are never written again, and one `live.npz`, which is
replaced. A run's result has the same bytes whoever computes it, so what stands in two of the files does no harm: an
ended run is not under way, and a run that stands nowhere is played from its start.
"""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.engine import storage
from jaxbandit.engine.identity import Identity, require

SAVE_SECONDS = 10.0  # between two saves
SAVE_SHARE = 20  # but at least so many times as long as the last save took

Rows = dict[str, np.ndarray]  # "run", int32[n], and what these runs have left, a row each
Segment = dict[str, np.ndarray]  # "run", int32[n], and the state of these runs in the form of who plays them


class Finished(NamedTuple):
    """Runs that ended in an earlier call, to be taken over instead of played.

    `arrays` are those of its Record or Identified, as NumPy arrays with one row a run, from `first_run` on.
    """

    where: str  # named in refusals
    identity: Identity  # of the earlier call
    arrays: Mapping[str, np.ndarray]

    def rows(self, here: Identity, names: Iterable[str], first_run: int, num_runs: int) -> Rows:
        """The arrays of these names as rows; ValueError if they are of something else, or of too many runs."""
        require(self.where, self.identity, here)
        if missing := [name for name in names if name not in self.arrays]:
            raise ValueError(f"{self.where}: has no {missing[0]} of each run, so no runs can be added; delete it")
        number = len(self.arrays["outcome"])
        if number > num_runs:
            raise ValueError(f"{self.where}: has {number} runs, num_runs = {num_runs} asks for fewer; ask for more")
        rows = {name: self.arrays[name] for name in names}
        return {"run": np.arange(first_run, first_run + number, dtype=np.int32), **rows}


class Checkpoint:
    """The files of one simulation, open while it is played; without a directory it does nothing.

    A player is whoever advances a segment. Each gives a copy of its segment when a save is due; once all have, one of
    them saves for all. Segments that no player has begun are saved as they were read.
    """

    def __init__(self, directory: Path | None, about: Identity):
        self.directory, self.about = directory, about
        self._ended: list[Rows] = []
        self._segments: dict[int, Segment] = {}
        self._players: set[int] = set()
        self._told: set[int] = set()  # players whose segment was renewed since the last save
        self._saved, self._interval = time.monotonic(), SAVE_SECONDS
        self._lock, self._saving = threading.Lock(), threading.Lock()
        self._alone = contextlib.nullcontext() if directory is None else storage.locked(directory)

    def __enter__(self) -> "Checkpoint":
        self._alone.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._alone.__exit__(*error)

    def ended(self) -> Iterator[Rows]:
        """What ended runs have left, file by file. Refuses files of another simulation."""
        if self.directory is None:
            return
        about, parts = self.directory / "identity.json", self._parts()
        if about.exists():
            require(self.directory, self._identity(about), self.about)
        elif parts or (self.directory / "live.npz").exists():
            raise ValueError(f"{about}: is missing; delete {self.directory} to compute it again")
        else:
            storage.write_bytes(about, (json.dumps(self.about, indent=1) + "\n").encode())
        for part in parts:
            yield storage.read_arrays(part)

    def under_way(self) -> list[Segment]:
        """The segments of the last save."""
        if self.directory is None or not (self.directory / "live.npz").exists():
            return []
        segments: dict[str, Segment] = {}
        for name, values in storage.read_arrays(self.directory / "live.npz").items():
            number, _, name = name.partition(".")
            segments.setdefault(number, {})[name] = values
        return list(segments.values())

    def hold(self, key: int, segment: Callable[[], Segment]) -> None:
        """Save this segment from now on, until its player renews it."""
        if self.directory is not None:
            fresh = segment()
            with self._lock:
                self._segments[key] = fresh

    def begin(self, key: int) -> None:
        """A player begins."""
        with self._lock:
            self._players.add(key)

    def end(self, key: int) -> None:
        """A player's runs have ended: nothing of it is under way."""
        with self._lock:
            self._players.discard(key)
            self._segments.pop(key, None)

    def collect(self, rows: Rows) -> None:
        """Keep what ended runs have left until the next save."""
        if self.directory is not None:
            with self._lock:
                self._ended.append(rows)

    def look(self, key: int, segment: Callable[[], Segment]) -> None:
        """Called by a player now and then: renew its segment if that is due, and save if it was the last to do so."""
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
        """Write what is known; if another thread is about it, wait for it first, or leave it at that."""
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
        if ended:  # before the segments, from which these runs are gone
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

    def _identity(self, path: Path) -> Identity:
        try:
            found = json.loads(path.read_bytes())
            if isinstance(found, dict):
                return found
            reason = "not an object"
        except (ValueError, RecursionError) as error:
            reason = str(error)
        raise ValueError(f"{path}: not readable ({reason}); delete {self.directory} to compute it again")


def unknown(known: np.ndarray) -> list[tuple[int, int]]:
    """The ranges [a, b) of places where bool[n] `known` is False."""
    edges = np.flatnonzero(np.diff(np.concatenate([[True], known, [True]])))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def size(segment: Segment) -> int:
    """Number of runs in a segment whose every array has the run axis last."""
    return len(segment["run"]) if segment else 0


def columns(segment: Segment, place: Any) -> Segment:
    """The runs at these places; {} if there are none."""
    part = {name: x[..., place] for name, x in segment.items()}
    return part if size(part) else {}


def joined(segments: list[Segment]) -> Segment:
    """The runs of all segments; {} if there are none."""
    some = [segment for segment in segments if size(segment)]
    return {name: np.concatenate([segment[name] for segment in some], -1) for name in some[0]} if some else {}


def shares(ranges: list[tuple[int, int]], parts: int) -> list[list[tuple[int, int]]]:
    """Ranges [first, end) cut into so many shares, of about as many numbers each."""
    total = sum(end - first for first, end in ranges)
    found: list[list[tuple[int, int]]] = [[] for _ in range(parts)]
    before = 0  # numbers in the ranges before
    for first, end in ranges:
        for i, share in enumerate(found):
            a = max(total * i // parts - before, 0) + first
            b = min(total * (i + 1) // parts - before, end - first) + first
            if a < b:
                share.append((a, b))
        before += end - first
    return found
