"""The driver: it checks, traces, resumes, compiles and plays the runs of one call, and collects their results.

What a step is, when a run ends and what is recorded depends on the program: `FixedHorizon` or `UntilStop`.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.engine.driver import interrupts
from jaxbandit.engine.driver.execution import Execution, Progress
from jaxbandit.engine.layout import compiling, sizes
from jaxbandit.engine.layout.compiled import compile_program, remember, scopes_of_thread
from jaxbandit.engine.rounds import fit
from jaxbandit.engine.rounds.keys import Generator
from jaxbandit.engine.rounds.single import Make
from jaxbandit.engine.rounds.step import without_notes
from jaxbandit.engine.storage import identity
from jaxbandit.engine.storage.checkpoint import Checkpoint, Finished, Rows, Segment
from jaxbandit.support.types import PyTree

CALL_SECONDS = 0.5  # intended duration of a call of the compiled loop
FIRST_BLOCKS = 8  # number of blocks of steps of the first call
NOT_ENDED = -1  # used instead of an Outcome
ROWS = 4096  # number of results of earlier calls that are processed at a time


class Call(NamedTuple):
    """What a program is asked to play, whatever it is; the fields are described at `simulate_cell`."""

    make: Make
    arguments: PyTree
    num_runs: int
    first_run: int
    seed: int
    precision: str
    any_rewards: bool
    implementation: Generator
    execution: Execution


class Program(ABC):
    """The runs of one call, and the results of those that have ended. A subclass defines the abstract methods."""

    where: ClassVar[str]  # the function that error messages name
    engine: ClassVar[str]  # name of the kind of program in the identity
    options: tuple[Any, ...]  # all of its own on which the compiled functions depend, hashable
    about: dict[str, Any]  # all of its own on which the numbers depend, by name, as plain data
    length: tuple[str, int]  # name and value of the argument that limits the number of rounds of a run
    loop: Any  # the traced loop, with `run`, `block_steps`, `lane_bytes` and `run_bytes`

    def __init__(self, call: Call):
        self.call = call
        self.num_runs, self.first_run = call.num_runs, call.first_run
        self.devices, self.workers = call.execution.here()
        self.platform = self.devices[0].platform
        self.outcome = np.full(self.num_runs, NOT_ENDED, np.int8)
        self.arrays: dict[str, np.ndarray] = {}  # results by name, one row per run
        self.run_steps = self.lane_steps = 0
        self.lock = threading.Lock()
        self.interrupted = threading.Event()

    @abstractmethod
    def _trace(self) -> Any:
        """The loop, traced for the arguments."""

    @abstractmethod
    def _names(self) -> list[str]:
        """Names of the arrays of results, which an earlier call must have kept of each run."""

    @abstractmethod
    def _lanes(self, memory: int, run_bytes: int) -> int:
        """Number of runs that a player plays side by side, given the bytes of a device's memory and of a run."""

    @abstractmethod
    def _fitting(self, width: int, memory: int) -> int:
        """The width, reduced if the compiled loop needs more than these bytes of a device's memory."""

    @abstractmethod
    def _players(self, width: int) -> tuple[Iterator["Player"], int]:
        """The players of the runs that are left, with their functions compiled, and the number of threads."""

    def _check(self) -> None:
        """Raise an error if the traced loop cannot play what is asked for."""
        fit.check_length(*self.length, self.loop.run.lengths)

    def _record(self, rows: Rows, sums: Any) -> None:
        """Record the results of ended runs, of which `sums` are known if not None; called by one thread at a time."""
        place = rows["run"] - self.first_run
        for name in rows.keys() - {"run", "outcome"}:
            if name not in self.arrays:
                self.arrays[name] = np.empty((self.num_runs, *rows[name].shape[1:]), rows[name].dtype)
            self.arrays[name][place] = rows[name]

    def play(self, finished: Finished | None) -> None:
        """Play every run that an earlier call has not finished; on any exception, save all states and raise it."""
        call = self.call
        with jax.enable_x64(call.precision == "float64"):
            self.arguments = jax.tree.map(jnp.asarray, call.arguments)
            begun = time.perf_counter()
            leaves, structure = jax.tree.flatten(self.arguments)
            shapes = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
            asked = (self.engine, call.any_rewards, call.implementation, self.platform, self.options)
            self.key = (call.make, structure, shapes, asked)
            self.loop, digest = remember(self.key, self._traced)
            self.compile_seconds = time.perf_counter() - begun
            self._check()
            self.identity = {
                "engine": self.engine,
                "program": digest,
                "arguments": identity.of_arrays(self.arguments),
                "seed": call.seed,
                **self.about,
                "precision": call.precision,
                "generator": call.implementation,
                **identity.surroundings(self.platform),
            }
            with Checkpoint(call.execution.directory, self.identity) as self.checkpoint:
                if finished is not None:
                    self._take_over(finished.rows(self.identity, self._names(), self.first_run, self.num_runs))
                for rows in self.checkpoint.ended():
                    self._take_over(rows)
                begun = time.perf_counter()
                players, threads = self._players(self._width())
                self.compile_seconds += time.perf_counter() - begun
                compiling.compiled()
                begun = time.perf_counter()
                self._play(players, threads)
                self.run_seconds = time.perf_counter() - begun

    def account(self) -> dict[str, Any]:
        """The fields that every record has."""
        names = ("outcome", "compile_seconds", "run_seconds", "run_steps", "identity")
        return {"devices": [device.platform for device in self.devices]} | {name: getattr(self, name) for name in names}

    def left(self) -> int:
        """Number of runs that have not ended."""
        return int(np.count_nonzero(self.outcome == NOT_ENDED))

    def first_states(self) -> PyTree:
        """The states that all runs begin with, from one program for all devices, whose number must not matter."""
        first, device = self.loop.run.first, jax.local_devices()[0]
        program = remember((*self.key, "first"), lambda: compile_program(first, device, self.arguments))
        return program(self.arguments)

    def stops(self) -> bool:
        """Whether players must save their states and stop."""
        return self.interrupted.is_set() or interrupts.asked()

    def collect(self, rows: Rows, sums: Any = None) -> None:
        """Store the results of ended runs."""
        with self.lock:
            self.outcome[rows["run"] - self.first_run] = rows["outcome"]
            self._record(rows, sums)

    def report(self, chunk: "Chunk") -> None:
        """Count the steps of a chunk, and pass its progress to the caller."""
        progress: Any = self.call.execution.progress
        finished = 0 if chunk.ended is None else len(chunk.ended["run"])
        with self.lock:
            self.run_steps += chunk.run_steps
            self.lane_steps += chunk.lane_steps
            if progress is not None:
                progress(Progress(finished, chunk.run_steps))

    def _traced(self) -> tuple[Any, str]:
        with without_notes():
            loop = self._trace()
        return loop, identity.of_program(loop.run.examples())

    def _take_over(self, rows: Rows) -> None:
        """Add results of an earlier call, except for runs that are not part of this call or already have results."""
        run = rows["run"] - self.first_run
        place = np.flatnonzero((run >= 0) & (run < self.num_runs))
        place = place[self.outcome[run[place]] == NOT_ENDED]
        for some in np.split(place, range(ROWS, len(place), ROWS)):
            self.collect({name: values[some] for name, values in rows.items()})

    def _width(self) -> int:
        device = self.devices[0]
        if sizes.of(self.platform).cache is not None:
            return self._lanes(0, self.loop.lane_bytes)
        memory = sizes.memory(device) // (self.workers * self.devices.count(device))
        width = self._lanes(memory, self.loop.run_bytes)
        given = self.call.execution.width is not None
        return width if given or not self.left() else self._fitting(width, memory)

    def _play(self, players: Iterator["Player"], threads: int) -> None:
        scopes, taking = scopes_of_thread(), threading.Lock()

        def work() -> None:
            with scopes(), compiling.quietly():  # what is compiled beside the rounds keeps nobody waiting
                while not self.stops():
                    with taking:
                        player = next(players, None)
                    if player is None:
                        return
                    player.play()

        if threads == 1 and threading.current_thread() is not threading.main_thread():
            # Ctrl-C is raised in the main thread only, so that the runs need no other thread than this one.
            with interrupts.heard(self.checkpoint.save):
                try:
                    work()
                finally:
                    self.checkpoint.save()
            return
        with interrupts.heard(self.checkpoint.save), ThreadPoolExecutor(threads) as pool:
            futures = [pool.submit(work) for _ in range(threads)]
            try:
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            finally:  # ctrl-C interrupts only this thread; the others stop at the end of their chunk
                self.interrupted.set()
                pool.shutdown(wait=True, cancel_futures=True)
                self.checkpoint.save()
            for future in done:
                future.result()


class Chunk(NamedTuple):
    """What one call of the compiled loop has played."""

    seconds: float
    blocks: int  # number of blocks of steps
    run_steps: int  # number of steps, summed over runs
    lane_steps: int  # the same including lanes without a run
    ended: Rows | None  # the results of the runs that have ended
    sums: Any = None  # over these runs, if the device has computed them


class Player(ABC):
    """Some runs that one thread plays side by side."""

    program: Any  # a Program, whose kind the subclass knows
    key: int  # of its segment in the checkpoint

    @abstractmethod
    def _over(self) -> bool:
        """Whether every run has ended."""

    @abstractmethod
    def _advance(self, blocks: int) -> Chunk:
        """Call the compiled loop for about this number of blocks of steps."""

    @abstractmethod
    def _segment(self) -> Segment:
        """The states of the runs in progress, in a copy; {} if there are none."""

    def hold(self) -> None:
        """Include the states of this moment in every save from now on."""
        self.program.checkpoint.hold(self.key, self._segment)

    def play(self) -> None:
        """Play until every run has ended, or until the program is interrupted."""
        program, checkpoint = self.program, self.program.checkpoint
        steps, chunk_steps = program.loop.block_steps, program.call.execution.chunk
        fixed = None if chunk_steps is None else -(-chunk_steps // steps)
        blocks = fixed or FIRST_BLOCKS
        checkpoint.begin(self.key)
        while not self._over():
            if program.stops():
                self.hold()
                return
            chunk = self._advance(blocks)
            if chunk.ended is not None:
                program.collect(chunk.ended, chunk.sums)
                checkpoint.collect(chunk.ended)
            try:
                program.report(chunk)
            except BaseException:
                self.hold()
                raise
            checkpoint.look(self.key, self._segment)
            if fixed is None:  # at most four times longer than this call, because the first calls of a process are slow
                pace = CALL_SECONDS / max(chunk.seconds, 1e-9) * max(chunk.blocks, 1)
                blocks = min(max(1, int(min(pace, 4.0 * blocks))), 2**30 // steps)
        checkpoint.end(self.key)
