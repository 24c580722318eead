"""The host's side of a simulation: tiles of runs, each advanced chunk by chunk by one of a few threads.

Between two chunks live the progress report, the checkpoint, the interrupt and the timing; the compiled code knows none.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Outcome
from jaxbandit.engine import storage
from jaxbandit.engine.compiled import same_scopes
from jaxbandit.engine.moments import Moments
from jaxbandit.engine.program import NOISE_ROUNDS
from jaxbandit.engine.recorder import REPORTED
from jaxbandit.types import Key, PyTree

CHUNK_SECONDS = 1.0  # between two looks at the host
SAVE_SECONDS = 10.0  # between two checkpoints of a tile
FIRST_CHUNK = 16 * NOISE_ROUNDS


class Code(NamedTuple):
    """The compiled functions of program.Program, for tiles of `lanes` runs."""

    start: Callable[..., Any]
    advance: Callable[..., Any]
    finish: Callable[..., Any]
    carry: Any  # the structure of the carry, to read it back from a file
    lanes: int
    digest: str


class Job:
    """One simulation: its inputs, its tiles, and what the finished ones have left."""

    def __init__(
        self,
        code: Code,
        arguments: PyTree,
        root: Key,
        checkpoints: np.ndarray,
        num_runs: int,
        per_run: bool,
        directory: Path | None,
        identity: str,
        progress: Callable[[int], None] | None,
    ):
        self.code, self.arguments, self.root = code, arguments, root
        self.checkpoints, self.horizon, self.num_runs = checkpoints, int(checkpoints[-1]), num_runs
        self.per_run, self.directory, self.identity, self.progress = per_run, directory, identity, progress
        self.moments = Moments(len(checkpoints))
        self.arrays: dict[str, np.ndarray] = {}
        self._totals: dict[str, np.ndarray] = {}
        self.outcome = np.full(num_runs, Outcome.STOPPED, np.int8)
        self.run_steps = 0
        self._interrupted = threading.Event()
        self._lock = threading.Lock()

    def play(self, workers: int) -> None:
        """Play every tile to the horizon with `workers` threads; on any exception save what runs and raise it."""
        tiles = range(-(-self.num_runs // self.code.lanes))
        scopes = same_scopes()

        def work(tile: int) -> None:
            with scopes():
                self._play_tile(tile)

        with ThreadPoolExecutor(min(workers, len(tiles))) as pool:
            futures = [pool.submit(work, tile) for tile in tiles]
            try:
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            finally:  # ctrl-C reaches this thread alone: the others save at the end of their chunk
                self._interrupted.set()
                pool.shutdown(wait=True, cancel_futures=True)
        for future in done:
            future.result()

    def mean(self, name: str) -> np.ndarray | None:
        """Mean over runs of pulls or kinds, float64; None where the state has none."""
        return self._totals[name] / self.num_runs if name in self._totals else None

    def _play_tile(self, tile: int) -> None:
        first = tile * self.code.lanes
        valid = min(self.code.lanes, self.num_runs - first)
        file = self.directory and self.directory / f"runs-{first:09d}.npz"
        carry = self._load(file)
        if carry is None:
            # Run numbers past num_runs fill up the last tile; what they play is thrown away.
            runs = np.minimum(first + np.arange(self.code.lanes), 2**31 - 1).astype(np.int32)
            carry = self.code.start(self.arguments, self.root, runs)
        round, chunk, saved = int(carry.round), FIRST_CHUNK, time.monotonic()
        marks = jnp.asarray(self.checkpoints, jnp.int32)
        while round <= self.horizon:
            if self._interrupted.is_set():
                self._save(file, carry)
                return
            last = min(round + chunk - 1, self.horizon)
            begun = time.monotonic()
            carry = jax.block_until_ready(self.code.advance(self.arguments, carry, jnp.int32(last), marks))
            now = time.monotonic()
            rounds, round = last + 1 - round, last + 1
            try:
                self._report(rounds * valid)
            except BaseException:
                self._save(file, carry)
                raise
            if round <= self.horizon and now - saved > SAVE_SECONDS:
                self._save(file, carry)
                saved = now
            # At most four times longer than the last: the first chunks of a process run slowly.
            pace = CHUNK_SECONDS / max(now - begun, 1e-9)
            chunk = max(NOISE_ROUNDS, int(chunk * min(pace, 4.0)) // NOISE_ROUNDS * NOISE_ROUNDS)
        self._save(file, carry)
        self._collect(first, valid, carry)

    def _report(self, steps: int) -> None:
        with self._lock:
            self.run_steps += steps
            if self.progress is not None:
                self.progress(steps)

    def _collect(self, first: int, valid: int, carry: Any) -> None:
        regret = np.asarray(carry.regret)[:, :valid]
        report = {k: np.asarray(v)[..., :valid] for k, v in self.code.finish(self.arguments, carry).items()}
        bad = report.pop("nonfinite")
        with self._lock:
            self.moments.add(regret, ~bad)
            self.outcome[first : first + valid][bad] = Outcome.NONFINITE
            for name in report.keys() & set(REPORTED):
                self._totals[name] = self._totals.get(name, 0) + report[name].sum(1, dtype=np.int64)
            if self.per_run:
                for name, values in {"regret": regret, **report}.items():
                    rows = np.moveaxis(values, -1, 0)
                    if name not in self.arrays:
                        self.arrays[name] = np.empty((self.num_runs, *rows.shape[1:]), rows.dtype)
                    self.arrays[name][first : first + valid] = rows

    def _save(self, file: Path | None, carry: Any) -> None:
        if file is not None:
            leaves = {f"leaf{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(carry))}
            storage.write_arrays(file, {"identity": np.array(self.identity), **leaves})

    def _load(self, file: Path | None) -> Any:
        if file is None or not file.exists():
            return None
        arrays = storage.read_arrays(file)
        if str(arrays.get("identity")) != self.identity:
            raise ValueError(
                f"{file}: belongs to another simulation (other algorithm, environment, arguments, seed, runs, "
                f"checkpoints, tile or versions); give another directory or delete this one"
            )
        leaves = [arrays[f"leaf{i}"] for i in range(self.code.carry.num_leaves)]
        return jax.tree.unflatten(self.code.carry, leaves)
