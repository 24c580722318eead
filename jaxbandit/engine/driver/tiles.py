"""The host's side of a simulation: tiles of runs, each of which a worker thread advances chunk by chunk.

Progress reports, checkpoints, interrupts and timing happen between two chunks and are not part of the compiled code.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Outcome
from jaxbandit.base.types import Key, PyTree
from jaxbandit.engine.driver import interrupts
from jaxbandit.engine.driver.execution import Progress
from jaxbandit.engine.layout.compiled import scopes_of_thread
from jaxbandit.engine.layout.sizes import NOISE_STEPS
from jaxbandit.engine.rounds.moments import Moments
from jaxbandit.engine.rounds.recorder import MISCOUNTED, REPORTED
from jaxbandit.engine.rounds.step import ContractError
from jaxbandit.engine.storage.checkpoint import Checkpoint, Rows, Segment, unknown

CHUNK_SECONDS = 1.0  # intended duration of a chunk
FIRST_CHUNK = 16 * NOISE_STEPS
NOT_ENDED = -1  # used instead of an Outcome
JUDGED = ("nonfinite", "out_of_range", "miscounted")  # the entries of a report that determine the outcome
ROWS = 4096  # number of results of earlier calls that are processed at a time


class Code(NamedTuple):
    """The compiled functions of program.Program, for tiles of `lanes` runs."""

    start: Callable[..., Any]
    advance: Callable[..., Any]
    finish: Callable[..., Any]
    carry: Any  # the tree structure of the carry, to restore it from a file
    varies: tuple[bool, ...]  # for each leaf of the carry, whether its last axis is the run axis
    lanes: int


class Tile(NamedTuple):
    """Runs that are played together."""

    key: int
    run: np.ndarray  # int32[runs], at most `lanes`
    lanes: int
    segment: Segment | None  # the saved state of resumed runs; None for new runs


class Job:
    """One simulation: its inputs, its tiles, and the results of finished tiles."""

    def __init__(
        self,
        arguments: PyTree,
        root: Key,
        checkpoints: np.ndarray,
        first_run: int,
        num_runs: int,
        per_run: bool,
        checkpoint: Checkpoint,
        progress: Callable[[Progress], None] | None,
    ):
        self.arguments, self.root = arguments, root
        self.checkpoints, self.horizon = checkpoints, int(checkpoints[-1])
        self.first_run, self.num_runs = first_run, num_runs
        self.per_run, self.checkpoint, self.progress = per_run, checkpoint, progress
        self.moments, self.hindsight = Moments(len(checkpoints)), Moments(len(checkpoints))
        self.arrays: dict[str, np.ndarray] = {}
        self.totals: dict[str, np.ndarray] = {}  # int64, sums over the runs without a failure
        self.outcome = np.full(num_runs, NOT_ENDED, np.int8)
        self.run_steps = 0
        self._interrupted = threading.Event()
        self._lock = threading.Lock()

    def take_over(self, rows: Rows) -> None:
        """Add results of an earlier call, except for runs that are not part of this call or already have results."""
        run = rows["run"] - self.first_run
        place = np.flatnonzero((run >= 0) & (run < self.num_runs))
        place = place[self.outcome[run[place]] == NOT_ENDED]
        for some in np.split(place, range(ROWS, len(place), ROWS)):
            self._collect({name: values[some] for name, values in rows.items()})

    def left(self) -> int:
        """Number of runs that have not ended."""
        return int(np.count_nonzero(self.outcome == NOT_ENDED))

    def tiles(self, lanes: int, unit: int) -> tuple[Iterator[Tile], list[int]]:
        """The tiles of the runs that are left, and the set of their numbers of lanes.

        Resumed runs continue in separate tiles, because all runs of a tile are in the same round. A saved tile of more
        than `lanes` runs is split, and a much smaller one has its own program, with a multiple of `unit` lanes.
        """
        known = self.outcome != NOT_ENDED
        resumed: list[Tile] = []
        for segment in self.checkpoint.under_way():
            run = segment["run"]
            run = run[(run >= self.first_run) & (run < self.first_run + self.num_runs)]
            run = run[~known[run - self.first_run]]
            known[run - self.first_run] = True
            own = -(-int(segment["lanes"]) // unit) * unit
            width = lanes if own > lanes // 2 else own
            for start in range(0, len(run), width):
                part = _part(segment, run[start : start + width])
                self.checkpoint.hold(len(resumed), lambda part=part: part)
                resumed.append(Tile(len(resumed), part["run"], width, part))
        missing = [(self.first_run + first, self.first_run + end) for first, end in unknown(known)]
        widths = {tile.lanes for tile in resumed} | ({lanes} if missing else set())

        def all_tiles() -> Iterator[Tile]:
            yield from resumed
            for key, run in enumerate(_batches(missing, lanes), len(resumed)):
                yield Tile(key, run, lanes, None)

        return all_tiles(), sorted(widths)

    def play(self, tiles: Iterator[Tile], codes: Mapping[int, Code], workers: int) -> None:
        """Play every tile to the horizon with `workers` threads; on any exception, save all states and raise it."""
        scopes = scopes_of_thread()
        taking = threading.Lock()

        def work() -> None:
            with scopes():
                while not self._stops():
                    with taking:
                        tile = next(tiles, None)
                    if tile is None:
                        return
                    self._play_tile(codes[tile.lanes], tile)

        workers = max(1, min(workers, -(-self.left() // min(codes, default=1))))
        with interrupts.heard(self.checkpoint.save), ThreadPoolExecutor(workers) as pool:
            futures = [pool.submit(work) for _ in range(workers)]
            try:
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            finally:  # ctrl-C interrupts only this thread; the others stop at the end of their chunk
                self._interrupted.set()
                pool.shutdown(wait=True, cancel_futures=True)
                self.checkpoint.save()
            for future in done:
                future.result()

    def mean(self, name: str) -> np.ndarray | None:
        """Mean of "pulls" or "kinds" over the runs without a failure, float64; None if the algorithm has none."""
        return self.totals[name] / max(self.moments.count, 1) if name in self.totals else None

    def _stops(self) -> bool:
        return self._interrupted.is_set() or interrupts.asked()

    def _play_tile(self, code: Code, tile: Tile) -> None:
        number = len(tile.run)
        self.checkpoint.begin(tile.key)
        # A tile with fewer runs than lanes is padded with copies of its last run, whose results are discarded.
        run = np.pad(tile.run, (0, code.lanes - number), mode="edge")
        if tile.segment is None:
            carry = code.start(self.arguments, self.root, run)
        else:
            part = _part(tile.segment, run)
            carry = jax.tree.unflatten(code.carry, [part[f"leaf{i}"] for i in range(len(code.varies))])

        def segment() -> Segment:
            leaves = {f"leaf{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(carry))}
            whole = {"run": run, "lanes": np.array(code.lanes), "varies": np.array(code.varies), **leaves}
            return _part(whole, tile.run)

        round, chunk = int(carry.round), FIRST_CHUNK
        marks = jnp.asarray(self.checkpoints, jnp.int32)
        while round <= self.horizon and not self._stops():
            last = min(round + chunk - 1, self.horizon)
            begun = time.monotonic()
            carry = jax.block_until_ready(code.advance(self.arguments, carry, jnp.int32(last), marks))
            now = time.monotonic()
            rounds, round = last + 1 - round, last + 1
            try:
                self._report(number if round > self.horizon else 0, rounds * number)
            except BaseException:
                self.checkpoint.hold(tile.key, segment)
                raise
            self.checkpoint.look(tile.key, segment)
            # At most four times longer than the previous chunk, because the first chunks of a process are slow.
            pace = CHUNK_SECONDS / max(now - begun, 1e-9)
            chunk = max(NOISE_STEPS, int(chunk * min(pace, 4.0)) // NOISE_STEPS * NOISE_STEPS)
        if round <= self.horizon:
            self.checkpoint.hold(tile.key, segment)
            return
        rows = _rows(tile.run, carry.regret, code.finish(self.arguments, carry))
        self._collect(rows)
        self.checkpoint.collect(rows)
        self.checkpoint.end(tile.key)

    def _report(self, finished: int, steps: int) -> None:
        with self._lock:
            self.run_steps += steps
            if self.progress is not None:
                self.progress(Progress(finished, steps))

    def _collect(self, rows: Rows) -> None:
        run = rows["run"] - self.first_run
        with self._lock:
            counts = rows["outcome"] == Outcome.STOPPED
            self.moments.add(rows["regret"].T, counts)
            if "hindsight" in rows:
                self.hindsight.add(rows["hindsight"].T, counts)
            self.outcome[run] = rows["outcome"]
            for name in rows.keys() & set(REPORTED):
                self.totals[name] = self.totals.get(name, 0) + rows[name][counts].sum(0, dtype=np.int64)
            if self.per_run:
                for name in rows.keys() - {"run", "outcome"}:
                    if name not in self.arrays:
                        self.arrays[name] = np.empty((self.num_runs, *rows[name].shape[1:]), rows[name].dtype)
                    self.arrays[name][run] = rows[name]


def _rows(run: np.ndarray, regret: Any, report: dict[str, Any]) -> Rows:
    """The results of the runs of a tile, without those of the lanes used for padding."""
    rows = {name: np.moveaxis(np.asarray(x), -1, 0)[: len(run)] for name, x in {"regret": regret, **report}.items()}
    nonfinite, out_of_range = rows.pop("nonfinite"), rows.pop("out_of_range")
    outcome = np.full(len(run), Outcome.STOPPED, np.int8)
    outcome[out_of_range] = Outcome.OUT_OF_RANGE
    outcome[nonfinite] = Outcome.NONFINITE
    if (rows.pop("miscounted", np.zeros(1, bool)) & ~nonfinite).any():
        raise ContractError(MISCOUNTED)
    return {"run": run, "outcome": outcome, **rows}


def _part(segment: Segment, run: np.ndarray) -> Segment:
    """The segment with these runs in this order, including repetitions."""
    order = np.argsort(segment["run"], kind="stable")
    place = order[np.searchsorted(segment["run"], run, sorter=order)]
    varies = dict(zip((f"leaf{i}" for i in range(len(segment["varies"]))), segment["varies"], strict=True))
    return {name: x[..., place] if varies.get(name, name == "run") else x for name, x in segment.items()}


def _batches(ranges: list[tuple[int, int]], size: int) -> Iterator[np.ndarray]:
    """The integers of the ranges [a, b), int32, `size` at a time."""
    parts: list[np.ndarray] = []
    room = size
    for first, end in ranges:
        while first < end:
            number = min(end - first, room)
            parts.append(np.arange(first, first + number, dtype=np.int32))
            first, room = first + number, room - number
            if not room:
                yield np.concatenate(parts)
                parts, room = [], size
    if parts:
        yield np.concatenate(parts)
