"""The host's side of runs that stop: queues of runs, one a thread or device, each played on lanes of its own.

Between two calls of the compiled loop live the progress report, the checkpoint, the interrupt and the compaction.
"""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Outcome
from jaxbandit.engine import storage
from jaxbandit.engine.compiled import LANE_MULTIPLE, LANES_LEAST
from jaxbandit.engine.lanes import Lanes, Report
from jaxbandit.engine.stopping import EMPTY, LIVE
from jaxbandit.types import Device, Key, PyTree

CALL_SECONDS = 0.5  # between two looks at the host
SAVE_SECONDS = 10.0  # between two checkpoints of a queue
COMPILE_SECONDS = 1.0  # about what a program for fewer lanes costs
FIRST_BLOCKS = 8
NARROWING = 4  # compaction goes to this part of the lanes


class Progress(NamedTuple):
    """What happened since the last report."""

    finished: int  # runs
    run_steps: int


class Code(NamedTuple):
    """What the compiled program of runs.py offers to the host."""

    empty: Callable[[int, int, Device], Lanes]  # first run of the queue, lanes, device
    shapes: Callable[[int], Lanes]  # of so many lanes
    advance: Callable[[int, Device], Callable[..., Report]]  # lanes, device: compiles once each
    compiled: Callable[[int, Device], bool]  # whether advance would return at once
    block_steps: int
    varies: Any  # of the state: True where a leaf has a lane axis
    verify: Callable[[Any, int], np.ndarray] | None  # states of so many runs, runs first: bool[runs], to be trusted


class Job:
    """The runs of one call, and what the ended ones have left."""

    def __init__(
        self,
        code: Code,
        arguments: PyTree,
        root: Key,
        first_run: int,
        num_runs: int,
        max_rounds: int,
        lanes: int,
        chunk: int | None,
        devices: Sequence[Device],
        directory: Path | None,
        identity: str,
        progress: Callable[[Progress], None] | None,
    ):
        self.code, self.arguments, self.root = code, arguments, root
        self.first_run, self.num_runs, self.max_rounds, self.lanes = first_run, num_runs, max_rounds, lanes
        self.blocks = None if chunk is None else -(-chunk // code.block_steps)
        self.devices, self.directory, self.identity, self.progress = devices, directory, identity, progress
        self.arrays: dict[str, np.ndarray] = {}
        self.done = np.zeros(num_runs, bool)
        self.run_steps = self.lane_steps = 0
        self.interrupted = threading.Event()
        self.lock, self.compiling = threading.Lock(), threading.Lock()

    def play(self) -> None:
        """Play every queue, one a device in `devices`; on any exception save what runs and raise it."""
        x64 = jax.enable_x64.value  # a thread starts with the process-wide flag, not with this scope's
        number = min(len(self.devices), self.num_runs)
        ends = [self.num_runs * i // number for i in range(number + 1)]

        def work(i: int) -> None:
            with jax.enable_x64(x64), jax.default_device(self.devices[i]):
                Queue(self, ends[i], ends[i + 1], self.devices[i]).play()

        with ThreadPoolExecutor(number) as pool:
            futures = [pool.submit(work, i) for i in range(number)]
            try:
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            finally:  # ctrl-C reaches this thread alone: the others save at the end of their call
                self.interrupted.set()
                pool.shutdown(wait=True, cancel_futures=True)
        for future in done:
            future.result()

    def collect(self, ended: dict[str, Any]) -> int:
        """Keep what ended runs have left, given as rows; return their number."""
        place = ended.pop("run") - self.first_run
        with self.lock:
            for name, rows in ended.items():
                if name not in self.arrays:
                    self.arrays[name] = np.zeros((self.num_runs, *rows.shape[1:]), rows.dtype)
                self.arrays[name][place] = rows
            self.done[place] = True
        return len(place)


class Queue:
    """Runs [first, end) of a job, on one device."""

    def __init__(self, job: Job, first: int, end: int, device: Device):
        self.job, self.first, self.end, self.device = job, first, end, device
        self.arguments, self.root = jax.device_put((job.arguments, job.root), device)
        self.file = job.directory and job.directory / f"runs-{first:09d}.npz"
        self.lost = 0.0  # seconds spent on lanes mostly without runs

    def play(self) -> None:
        """Play until every run has ended."""
        job, code = self.job, self.job.code
        end = jnp.int32(job.first_run + self.end)
        lanes = self._load()
        if lanes is None:
            lanes = code.empty(job.first_run + self.first, job.lanes, self.device)
        limit = jnp.asarray(job.max_rounds, lanes.pulls.dtype)
        blocks, saved, steps_before = FIRST_BLOCKS, time.monotonic(), _steps(lanes)
        while not job.done[self.first : self.end].all():
            if job.interrupted.is_set():
                self._save(lanes)
                return
            lanes, floor = self._narrowed(lanes)
            width = lanes.run.shape[0]
            advance = code.advance(width, self.device)
            begun = time.monotonic()
            budget = jnp.int32(blocks if job.blocks is None else job.blocks)
            report = advance(self.arguments, self.root, lanes, end, limit, budget, jnp.int32(floor))
            lanes = jax.block_until_ready(report.lanes)
            seconds = time.monotonic() - begun
            finished, ended_steps = self._collect(report)
            steps_now = _steps(lanes)
            steps, steps_before = ended_steps + steps_now - steps_before, steps_now
            executed = int(report.blocks)
            try:
                self._report(Progress(finished, steps), executed * code.block_steps * width)
            except BaseException:
                self._save(lanes)
                raise
            if int(lanes.next) >= int(end) and _live(lanes) * NARROWING <= width:
                self.lost += seconds
            if time.monotonic() - saved > SAVE_SECONDS:
                self._save(lanes)
                saved = time.monotonic()
            # At most four times longer than the last: the first calls of a process run slowly.
            pace = CALL_SECONDS / max(seconds, 1e-9) * max(executed, 1) / blocks
            blocks = min(max(1, int(blocks * min(pace, 4.0))), 2**30 // code.block_steps)
        self._save(lanes)

    def _narrowed(self, lanes: Lanes) -> tuple[Lanes, int]:
        """Lanes without most of the empty ones, once the queue is, and the number of live ones to return at.

        Fewer lanes need a program of their own: it is compiled when as much time as that takes has been lost.
        """
        job, width = self.job, lanes.run.shape[0]
        narrow = max(-(-width // NARROWING // LANE_MULTIPLE) * LANE_MULTIPLE, LANES_LEAST)
        if narrow >= width or int(lanes.next) < job.first_run + self.end:
            return lanes, 0
        occupied = np.flatnonzero(np.asarray(lanes.status) != EMPTY)
        if not job.code.compiled(narrow, self.device):
            if len(occupied) > narrow or self.lost < COMPILE_SECONDS:
                return lanes, 0
            with job.compiling:
                job.code.advance(narrow, self.device)
        if len(occupied) > narrow:
            return lanes, narrow
        free = np.flatnonzero(np.asarray(lanes.status) == EMPTY)
        order = np.concatenate([occupied, free])[:narrow]
        self.lost = 0.0
        lanes = jax.tree.map(
            lambda x, shape: x[..., order] if x.shape != shape.shape else x,
            lanes,
            job.code.shapes(narrow),
        )
        return self._narrowed(lanes)

    def _collect(self, report: Report) -> tuple[int, int]:
        """Hand the ended runs to the job; return their number and steps."""
        slots = int(report.slots)
        status = np.asarray(report.ended["status"])[:slots]
        slot, lane = np.nonzero(status >= 0)
        if not len(slot):
            return 0, 0

        def rows(x: Any) -> np.ndarray:
            return np.moveaxis(np.asarray(x), -1, 1)[slot, lane]

        ended = {name: rows(x) for name, x in report.ended.items() if name != "state"}
        outcome = ended.pop("status").astype(np.int8)
        code = self.job.code
        if code.verify is not None:
            states = jax.tree.map(lambda x, v: rows(x) if v else np.asarray(x[0]), report.ended["state"], code.varies)
            trusted = code.verify(states, len(slot))
            outcome[(outcome == Outcome.STOPPED) & ~trusted] = Outcome.PRECISION
        steps = int(ended.pop("steps").sum(dtype=np.int64))
        for name, values in ended.items():  # how far a run got before it broke depends on the block it was in
            if name != "run":
                values[outcome == Outcome.NONFINITE] = 0
        return self.job.collect({**ended, "outcome": outcome}), steps

    def _report(self, progress: Progress, lane_steps: int) -> None:
        with self.job.lock:
            self.job.run_steps += progress.run_steps
            self.job.lane_steps += lane_steps
            if self.job.progress is not None:
                self.job.progress(progress)

    def _save(self, lanes: Lanes) -> None:
        if self.file is None:
            return
        part = slice(self.first, self.end)
        with self.job.lock:
            results = {f"result.{name}": rows[part] for name, rows in self.job.arrays.items()}
        leaves = {f"leaf{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(lanes))}
        done = {"done": self.job.done[part], "identity": np.array(self.job.identity)}
        storage.write_arrays(self.file, {**done, **leaves, **results})

    def _load(self) -> Lanes | None:
        if self.file is None or not self.file.exists():
            return None
        arrays = storage.read_arrays(self.file)
        if str(arrays.get("identity")) != self.job.identity:
            raise ValueError(
                f"{self.file}: belongs to other runs (other algorithm, environment, arguments, seed, runs, max_rounds, "
                f"workers or versions); give another directory or delete this one"
            )
        done = np.flatnonzero(arrays["done"])
        if len(done):
            run = done + self.first + self.job.first_run
            ended = {k.removeprefix("result."): v[done] for k, v in arrays.items() if k.startswith("result.")}
            self.job.collect({**ended, "run": run})
        structure = jax.tree.structure(self.job.code.shapes(self.job.lanes))
        return jax.tree.unflatten(structure, [jnp.asarray(arrays[f"leaf{i}"]) for i in range(structure.num_leaves)])


def _steps(lanes: Lanes) -> int:
    steps, status = np.asarray(lanes.steps), np.asarray(lanes.status)
    return int(steps[status != EMPTY].sum(dtype=np.int64))


def _live(lanes: Lanes) -> int:
    return int((np.asarray(lanes.status) == LIVE).sum())
