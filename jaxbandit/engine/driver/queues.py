"""The host's side of runs with a stopping rule: queues of runs, one per thread or device, each with its own lanes.

Progress reports, checkpoints, interrupts and compaction happen between two calls of the compiled loop.
"""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Outcome
from jaxbandit.base.types import Device, Key, PyTree
from jaxbandit.engine.driver import interrupts
from jaxbandit.engine.driver.execution import Progress
from jaxbandit.engine.driver.lanes import REFILL_SHARE, Lanes, Report
from jaxbandit.engine.layout import sizes
from jaxbandit.engine.layout.compiled import scopes_of_thread
from jaxbandit.engine.rounds.recorder import MISCOUNTED
from jaxbandit.engine.rounds.step import ContractError
from jaxbandit.engine.rounds.stopping import EMPTY, LIVE
from jaxbandit.engine.storage.checkpoint import Checkpoint, Rows, Segment, columns, joined, shares, size, unknown

CALL_SECONDS = 0.5  # intended duration of a call of the compiled loop
COMPILE_SECONDS = 1.0  # approximate time to compile the loop for fewer lanes
FIRST_BLOCKS = 8
NARROWING = 4  # compaction divides the number of lanes by this


class Code(NamedTuple):
    """The functions of `lanes.LanesProgram`, compiled for the host."""

    empty: Callable[[int, int, Device], Lanes]  # (first run of the queue, number of lanes, device)
    shapes: Callable[[int], Lanes]  # shapes for a number of lanes
    advance: Callable[[int, Device], Callable[..., Report]]  # (number of lanes, device), compiled once for each
    compiled: Callable[[int, Device], bool]  # whether `advance` has been compiled for these arguments
    block_steps: int
    varies: Any  # tree of bools like the state: True where a leaf has a lane axis
    counts: bool  # whether the pulls of the arms must sum to the samples
    batches: bool  # whether steps are batches of pulls
    verify: Callable[[Any, int], np.ndarray] | None  # (states with the run axis first, number) -> bool[number], valid


class Job:
    """The runs of one call, and the results of those that have ended."""

    def __init__(
        self,
        code: Code,
        arguments: PyTree,
        root: Key,
        first_run: int,
        num_runs: int,
        max_rounds: int,
        chunk: int | None,
        checkpoint: Checkpoint,
        progress: Callable[[Progress], None] | None,
    ):
        self.code, self.arguments, self.root = code, arguments, root
        self.first_run, self.num_runs, self.max_rounds = first_run, num_runs, max_rounds
        self.blocks = None if chunk is None else -(-chunk // code.block_steps)
        self.checkpoint, self.progress = checkpoint, progress
        self.arrays: dict[str, np.ndarray] = {}
        self.done = np.zeros(num_runs, bool)
        self.run_steps = self.lane_steps = 0
        self.interrupted = threading.Event()
        self.lock, self.compiling = threading.Lock(), threading.Lock()
        leaves = (jax.tree.leaves(code.shapes(width)) for width in (sizes.LANES_LEAST, 2 * sizes.LANES_LEAST))
        self.varies = [few.shape != many.shape for few, many in zip(*leaves, strict=True)]  # True with a lane axis

    def take_over(self, rows: Rows) -> None:
        """Add results of an earlier call, except for runs that are not part of this call or already have results."""
        run = rows["run"]
        place = np.flatnonzero((run >= self.first_run) & (run < self.first_run + self.num_runs))
        place = place[~self.done[run[place] - self.first_run]]
        self.collect({name: values[place] for name, values in rows.items()})

    def left(self) -> int:
        """Number of runs that have not ended."""
        return int(np.count_nonzero(~self.done))

    def play(self, lanes: int, devices: Sequence[Device]) -> None:
        """Play every run, with one queue per entry of `devices`; on any exception, save all states and raise it."""
        scopes = scopes_of_thread()
        number = min(len(devices), self.left())
        queues = [Queue(self, i, *dealt, lanes, devices[i]) for i, dealt in enumerate(self._deal(number))]

        def work(queue: Queue) -> None:
            with scopes(), jax.default_device(queue.device):
                queue.play()

        with interrupts.heard(self.checkpoint.save), ThreadPoolExecutor(max(number, 1)) as pool:
            futures = [pool.submit(work, queue) for queue in queues]
            try:
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            finally:  # ctrl-C interrupts only this thread; the others stop at the end of their call
                self.interrupted.set()
                pool.shutdown(wait=True, cancel_futures=True)
                self.checkpoint.save()
            for future in done:
                future.result()

    def collect(self, ended: Rows) -> int:
        """Store the results of ended runs; return their number."""
        place = ended["run"] - self.first_run
        with self.lock:
            for name in ended.keys() - {"run"}:
                if name not in self.arrays:
                    self.arrays[name] = np.zeros((self.num_runs, *ended[name].shape[1:]), ended[name].dtype)
                self.arrays[name][place] = ended[name]
            self.done[place] = True
        return len(place)

    def _deal(self, queues: int) -> list[tuple[list[Segment], list[tuple[int, int]]]]:
        """For each queue, its share of the runs in progress, and of those not started, as ranges [first, end)."""
        known, segments = self.done.copy(), []
        for segment in self.checkpoint.under_way():
            place = segment["run"] - self.first_run
            here = np.flatnonzero((place >= 0) & (place < self.num_runs))
            here = here[~known[place[here]]]
            known[place[here]] = True
            segments.append(columns(segment, here))
        ranges = [(first + self.first_run, end + self.first_run) for first, end in unknown(known)]
        dealt = enumerate(shares(ranges, queues))
        return [([columns(x, slice(i, None, queues)) for x in segments], share) for i, share in dealt]


class Queue:
    """Some runs of a job on one device: runs resumed from a checkpoint, and ranges of runs not yet started."""

    def __init__(
        self,
        job: Job,
        key: int,
        segments: list[Segment],
        ranges: list[tuple[int, int]],
        width: int,
        device: Device,
    ):
        self.job, self.key, self.ranges, self.width, self.device = job, key, ranges, width, device
        self.waiting = joined(segments)
        self.end = 0  # end of the range from which the lanes are refilled
        self.left = sum(end - first for first, end in ranges) + size(self.waiting)
        self.arguments, self.root = jax.device_put((job.arguments, job.root), device)
        self.lost = 0.0  # seconds spent while most lanes were empty
        if self.waiting:
            job.checkpoint.hold(key, lambda: self.waiting)

    def play(self) -> None:
        """Play until every run has ended."""
        job, code = self.job, self.job.code
        job.checkpoint.begin(self.key)
        lanes = code.empty(0, self.width, self.device)
        limit = jnp.asarray(job.max_rounds, lanes.pulls.dtype)
        blocks = FIRST_BLOCKS

        def segment() -> Segment:
            return self._segment(lanes)

        while self.left:
            if job.interrupted.is_set() or interrupts.asked():
                job.checkpoint.hold(self.key, segment)
                return
            lanes, floor = self._narrowed(self._fed(lanes))
            width, steps_before = lanes.run.shape[0], _steps(lanes)
            if self.waiting or self.ranges:  # return to the host for more runs
                floor = width - max(width // REFILL_SHARE, 1)
            advance = code.advance(width, self.device)
            begun = time.monotonic()
            budget, end = jnp.int32(blocks if job.blocks is None else job.blocks), jnp.int32(self.end)
            report = advance(self.arguments, self.root, lanes, end, limit, budget, jnp.int32(floor))
            lanes = jax.block_until_ready(report.lanes)
            seconds = time.monotonic() - begun
            finished, ended_steps = self._collect(report)
            self.left -= finished
            executed = int(report.blocks)
            del report  # frees its slots, which the next call allocates again
            try:
                progress = Progress(finished, ended_steps + _steps(lanes) - steps_before)
                self._report(progress, executed * code.block_steps * width)
            except BaseException:
                job.checkpoint.hold(self.key, segment)
                raise
            if self._is_last(lanes) and _live(lanes) * NARROWING <= width:
                self.lost += seconds
            job.checkpoint.look(self.key, segment)
            # At most four times longer than the previous call, because the first calls of a process are slow.
            pace = CALL_SECONDS / max(seconds, 1e-9) * max(executed, 1) / blocks
            blocks = min(max(1, int(blocks * min(pace, 4.0))), 2**30 // code.block_steps)
        job.checkpoint.end(self.key)

    def _is_last(self, lanes: Lanes) -> bool:
        """Whether all runs of the queue have been started."""
        return not self.waiting and not self.ranges and int(lanes.next) >= self.end

    def _fed(self, lanes: Lanes) -> Lanes:
        """Lanes with resumed runs in the empty ones; when all resumed runs have a lane, the next range is started."""
        free = np.flatnonzero(np.asarray(lanes.status) == EMPTY)[: size(self.waiting)]
        if len(free):
            leaves, structure = jax.tree.flatten(lanes)
            for i, varies in enumerate(self.job.varies):
                if varies:
                    filled = np.array(leaves[i])
                    filled[..., free] = self.waiting[f"leaf{i}"][..., : len(free)]
                    leaves[i] = jnp.array(filled, device=self.device)
            lanes = jax.tree.unflatten(structure, leaves)
            self.waiting = columns(self.waiting, slice(len(free), None))
        if not self.waiting and self.ranges and int(lanes.next) >= self.end:
            first, self.end = self.ranges.pop(0)
            lanes = lanes._replace(next=jnp.int32(first))
        return lanes

    def _segment(self, lanes: Lanes) -> Segment:
        """The states of the runs in progress."""
        own = np.flatnonzero(np.asarray(lanes.status) != EMPTY)
        leaves = zip(jax.tree.leaves(lanes), self.job.varies, strict=True)
        named = {f"leaf{i}": np.asarray(leaf)[..., own] for i, (leaf, varies) in enumerate(leaves) if varies}
        return joined([{"run": np.asarray(lanes.run)[own], **named}, self.waiting])

    def _narrowed(self, lanes: Lanes) -> tuple[Lanes, int]:
        """Remove most empty lanes once the queue is empty; return also the number of live lanes at which to return.

        Fewer lanes need another program, which is compiled once as much time as a compilation takes has been lost.
        """
        job, width = self.job, lanes.run.shape[0]
        narrow = max(-(-width // NARROWING // sizes.LANE_MULTIPLE) * sizes.LANE_MULTIPLE, sizes.LANES_LEAST)
        if narrow >= width or not self._is_last(lanes):
            return lanes, 0
        occupied = np.flatnonzero(np.asarray(lanes.status) != EMPTY)
        if not job.code.compiled(narrow, self.device):
            if len(occupied) > narrow or self.lost < COMPILE_SECONDS:
                return lanes, 0
            job.checkpoint.hold(self.key, lambda: self._segment(lanes))  # compilation cannot be interrupted
            with job.compiling:
                job.code.advance(narrow, self.device)
        if len(occupied) > narrow:
            return lanes, narrow
        free = np.flatnonzero(np.asarray(lanes.status) == EMPTY)
        order = np.concatenate([occupied, free])[:narrow]
        self.lost = 0.0
        shapes = job.code.shapes(narrow)
        lanes = jax.tree.map(lambda x, shape: x[..., order] if x.shape != shape.shape else x, lanes, shapes)
        return self._narrowed(lanes)

    def _collect(self, report: Report) -> tuple[int, int]:
        """Pass the results of ended runs to the job; return the number of runs and of their steps."""
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
        played = ended.pop("steps")
        steps = int(played.sum(dtype=np.int64))
        if code.batches:
            ended["batches"] = played
        for name, values in ended.items():  # zeros, because the step at which a failure is found depends on the block
            if name != "run":
                values[outcome == Outcome.NONFINITE] = 0
        known = (outcome == Outcome.STOPPED) | (outcome == Outcome.MAX_ROUNDS)
        if self.job.code.counts and (ended["pulls"].sum(1)[known] != ended["samples"][known]).any():
            raise ContractError(MISCOUNTED)
        left: Rows = {**ended, "outcome": outcome}
        self.job.checkpoint.collect(left)
        return self.job.collect(left), steps

    def _report(self, progress: Progress, lane_steps: int) -> None:
        with self.job.lock:
            self.job.run_steps += progress.run_steps
            self.job.lane_steps += lane_steps
            if self.job.progress is not None:
                self.job.progress(progress)


def _steps(lanes: Lanes) -> int:
    steps, status = np.asarray(lanes.steps), np.asarray(lanes.status)
    return int(steps[status != EMPTY].sum(dtype=np.int64))


def _live(lanes: Lanes) -> int:
    return int((np.asarray(lanes.status) == LIVE).sum())
