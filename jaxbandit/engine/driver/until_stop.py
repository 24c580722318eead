"""Runs with a stopping rule: queues of runs, one per thread of each device, each with lanes that are refilled."""

import functools
import threading
import time
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Outcome
from jaxbandit.engine.driver.lane_loop import REFILL_SHARE, LaneLoop, Lanes, Report
from jaxbandit.engine.driver.programs import NOT_ENDED, Call, Chunk, Player, Program
from jaxbandit.engine.driver.records import STOPPED_RUNS
from jaxbandit.engine.layout import jaxprs, sizes
from jaxbandit.engine.layout.compiled import Same, compile_program, remember, remembers
from jaxbandit.engine.rounds import keys
from jaxbandit.engine.rounds.metrics import limits_of
from jaxbandit.engine.rounds.recorder import MISCOUNTED
from jaxbandit.engine.rounds.states import is_per_run
from jaxbandit.engine.rounds.step import ContractError
from jaxbandit.engine.rounds.stopping import EMPTY, LIVE, StoppingRun
from jaxbandit.engine.storage.checkpoint import Rows, Segment, columns, joined, shares, size, unknown
from jaxbandit.support.domains import MOST_ROUNDS
from jaxbandit.support.types import Array, Device, Key, PyTree

COMPILE_SECONDS = 1.0  # approximate time to compile the loop for fewer lanes
NO_METRICS: Mapping[str, Any] = MappingProxyType({})
NARROWING = 4  # compaction divides the number of lanes by this


class UntilStop(Program):
    """Every run ends by its own rule, or is censored after `max_rounds` pulls; its recommendation is recorded."""

    where, engine = "identify", "runs that stop"
    loop: LaneLoop

    def __init__(self, call: Call, max_rounds: int, metrics: Mapping[str, Any] = NO_METRICS, keep: Any = None):
        super().__init__(call)
        self.metrics, self.keep = metrics, keep
        self.options = (tuple((name, Same(metric)) for name, metric in metrics.items()), Same(keep))
        self.max_rounds, self.length, self.about = max_rounds, ("max_rounds", max_rounds), {"max_rounds": max_rounds}
        self.about |= {"metrics": list(metrics)} if metrics else {}
        self.about |= {"limits": limits} if (limits := limits_of(metrics)) else {}
        self.about |= {"states": True} if keep is not None else {}
        self.queues = [device for device in self.devices for _ in range(self.workers)]
        self.compiling = threading.Lock()

    @functools.cached_property
    def root(self) -> Key:
        """The key of the seed, from which a lane draws the key words of the run that it begins."""
        return keys.compiled_root_key(self.call.seed, self.call.implementation)

    def _trace(self) -> LaneLoop:
        call = self.call
        more = {"given": tuple(self.metrics.items()), "keep": self.keep}
        run = StoppingRun(call.make, self.arguments, call.implementation, any_rewards=call.any_rewards, **more)
        return LaneLoop(run, self.platform)

    def _check(self) -> None:
        if self.max_rounds > MOST_ROUNDS and not self.loop.run.batches:
            allowed = f"must be in [1, {MOST_ROUNDS}] for single pulls"
            raise ValueError(f"max_rounds = {self.max_rounds}, {allowed}")
        super()._check()

    def _names(self) -> list[str]:
        run = self.loop.run
        _, verdict = jaxprs.trace(run.verdict, run.arguments, run.world, run.state, run.tally)
        batches = ["batches"] if run.batches else []
        return ["samples", "outcome", *batches, *(name for name in verdict if name in STOPPED_RUNS or is_per_run(name))]

    def _lanes(self, memory: int, run_bytes: int) -> int:
        given = self.call.execution.width
        if self.loop.alone:
            return 1
        return sizes.lanes(self.platform, memory, run_bytes, self.left(), len(self.queues), given)

    def _fitting(self, width: int, memory: int) -> int:
        return sizes.fitting(lambda width: self.advance(width, self.devices[0]), width, memory)

    def _players(self, width: int) -> tuple[Iterator["Queue"], int]:
        """A queue per thread of each device, with its share of the runs in progress and of those not started."""
        number = min(len(self.queues), self.left())
        if number:
            leaves = (jax.tree.leaves(self.shapes(lanes)) for lanes in (sizes.LANES_LEAST, 2 * sizes.LANES_LEAST))
            self.varies = [few.shape != many.shape for few, many in zip(*leaves, strict=True)]  # True with a lane axis
            each = self.loop.run.recorder.sizes
            self.pulls_of_a_round = each[0] if len(each) == 1 and "pulls" in self._names() else None
            self.first = self.first_states()
        for device in dict.fromkeys(self.queues[:number]):
            self.advance(width, device)
        dealt = zip(self._deal(number), self.queues, strict=False)
        queues = [Queue(self, i, *share, width, device) for i, (share, device) in enumerate(dealt)]
        return iter(queues), max(number, 1)

    def shapes(self, width: int) -> Lanes:
        """The shapes of this number of lanes."""
        loop, number = self.loop, jax.ShapeDtypeStruct((), jnp.int32)
        _, first = jaxprs.trace(loop.run.first, loop.run.arguments)  # kept with the loop: it takes long for some rules
        return jax.eval_shape(lambda first, n: loop.empty(first, n, width), first, number)

    def empty(self, width: int, device: Device) -> Lanes:
        """Lanes without runs."""
        lanes = self.loop.empty(self.first, np.int32(0), width)  # pyright: ignore[reportArgumentType]
        # Separate buffers, because `advance` donates them.
        return jax.tree.map(lambda x: jax.device_put(np.asarray(x), device, may_alias=False), lanes)

    def advance(self, width: int, device: Device) -> Any:
        """The compiled loop of this number of lanes."""
        loop, number = self.loop, jax.ShapeDtypeStruct((), jnp.int32)

        def construct() -> Any:
            given = (self.arguments, self.root, self.shapes(width), number, loop.run.count, number, number)
            return compile_program(loop.advance, device, *given, donate=(2,), whole=loop.run.whole_loops)

        with jax.default_device(device):
            return remember((*self.key, width, device), construct)

    def is_compiled(self, width: int, device: Device) -> bool:
        """Whether `advance` has been compiled for this number of lanes."""
        with jax.default_device(device):
            return remembers((*self.key, width, device))

    def verified(self, states: PyTree, number: int) -> np.ndarray:
        """The algorithm's `verify`, evaluated in float64 on the final float32 states of runs, bool[number]."""
        run = self.loop.run
        size = 1 << max(number - 1, sizes.LANES_LEAST - 1).bit_length()  # only powers of two: few compilations

        def check(arguments: PyTree, state: PyTree) -> Array:
            algorithm: Any = run.make(arguments)[0]
            return algorithm.verify(state)

        def widen(x: np.ndarray, varies: bool) -> np.ndarray:
            x = x.astype(np.float64) if np.issubdtype(x.dtype, np.floating) else x
            return np.resize(x, (size, *x.shape[1:])) if varies else x

        device, axes = jax.local_devices()[0], jax.tree.map(lambda varies: 0 if varies else None, run.state_varies)
        with jax.enable_x64(True), jax.default_device(device):
            wide = jax.tree.map(widen, states, run.state_varies)
            exact = jax.tree.map(jnp.asarray, self.call.arguments)
            many = jax.vmap(check, (None, axes))
            judge = remember((*self.key, "verify", size), lambda: compile_program(many, device, exact, wide))
            return np.asarray(judge(exact, wide))[:number]

    def _deal(self, queues: int) -> list[tuple[list[Segment], list[tuple[int, int]]]]:
        """For each queue, its share of the runs in progress, and of those not started, as ranges [first, end)."""
        known, segments = self.outcome != NOT_ENDED, []
        for segment in self.checkpoint.under_way():
            place = segment["run"] - self.first_run
            here = np.flatnonzero((place >= 0) & (place < self.num_runs))
            here = here[~known[place[here]]]
            known[place[here]] = True
            segments.append(columns(segment, here))
        ranges = [(first + self.first_run, end + self.first_run) for first, end in unknown(known)]
        dealt = enumerate(shares(ranges, queues))
        return [([columns(x, slice(i, None, queues)) for x in segments], share) for i, share in dealt]


class Queue(Player):
    """Some runs on one device: runs resumed from a checkpoint, and ranges of runs not yet started."""

    program: UntilStop

    def __init__(
        self,
        program: UntilStop,
        key: int,
        segments: list[Segment],
        ranges: list[tuple[int, int]],
        width: int,
        device: Device,
    ):
        self.program, self.key, self.ranges, self.width, self.device = program, key, ranges, width, device
        self.waiting = joined(segments)
        self.end = 0  # end of the range from which the lanes are refilled
        self.left = sum(end - first for first, end in ranges) + size(self.waiting)
        self.arguments, self.root = jax.device_put((program.arguments, program.root), device)
        self.lost = 0.0  # seconds spent while most lanes were empty
        self.lanes: Any = None  # until the first chunk
        if self.waiting:
            self.hold()

    def play(self) -> None:
        """Play on the device of the queue."""
        with jax.default_device(self.device):
            super().play()

    def _over(self) -> bool:
        return not self.left

    def _advance(self, blocks: int) -> Chunk:
        program = self.program
        lanes = program.empty(self.width, self.device) if self.lanes is None else self.lanes
        self.lanes = self._fed(lanes)
        floor = self._narrow()
        width, steps_before = self.lanes.run.shape[0], _steps(self.lanes)
        if self.waiting or self.ranges:  # return to the host for more runs
            floor = width - max(width // REFILL_SHARE, 1)
        advance = program.advance(width, self.device)
        limit = jnp.asarray(program.max_rounds, self.lanes.pulls.dtype)
        begun = time.monotonic()
        more = jnp.int32(self.end), limit, jnp.int32(blocks), jnp.int32(floor)
        report = advance(self.arguments, self.root, self.lanes, *more)
        self.lanes = jax.block_until_ready(report.lanes)
        seconds = time.monotonic() - begun
        ended, ended_steps = self._ended(report)
        self.left -= 0 if ended is None else len(ended["run"])
        executed = int(report.blocks)
        if self._is_last() and int((np.asarray(self.lanes.status) == LIVE).sum()) * NARROWING <= width:
            self.lost += seconds
        steps = ended_steps + _steps(self.lanes) - steps_before
        return Chunk(seconds, executed, steps, executed * program.loop.block_steps * width, ended)

    def _segment(self) -> Segment:
        if self.lanes is None:
            return self.waiting
        own = np.flatnonzero(np.asarray(self.lanes.status) != EMPTY)
        leaves = zip(jax.tree.leaves(self.lanes), self.program.varies, strict=True)
        named = {f"leaf{i}": np.asarray(leaf)[..., own] for i, (leaf, varies) in enumerate(leaves) if varies}
        return joined([{"run": np.asarray(self.lanes.run)[own], **named}, self.waiting])

    def _is_last(self) -> bool:
        """Whether all runs of the queue have been started."""
        return not self.waiting and not self.ranges and int(self.lanes.next) >= self.end

    def _fed(self, lanes: Lanes) -> Lanes:
        """Lanes with resumed runs in the empty ones; when all resumed runs have a lane, the next range is started."""
        free = np.flatnonzero(np.asarray(lanes.status) == EMPTY)[: size(self.waiting)]
        if len(free):
            leaves, structure = jax.tree.flatten(lanes)
            for i, varies in enumerate(self.program.varies):
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

    def _narrow(self) -> int:
        """Remove most empty lanes once the queue is empty; return the number of live lanes at which to return."""
        program, width = self.program, self.lanes.run.shape[0]
        narrow = max(-(-width // NARROWING // sizes.LANE_MULTIPLE) * sizes.LANE_MULTIPLE, sizes.LANES_LEAST)
        if narrow >= width or not self._is_last():
            return 0
        occupied = np.flatnonzero(np.asarray(self.lanes.status) != EMPTY)
        if not program.is_compiled(narrow, self.device):
            if len(occupied) > narrow or self.lost < COMPILE_SECONDS:
                return 0
            self.hold()  # compilation cannot be interrupted
            with program.compiling:
                program.advance(narrow, self.device)
        if len(occupied) > narrow:
            return narrow
        free = np.flatnonzero(np.asarray(self.lanes.status) == EMPTY)
        order = np.concatenate([occupied, free])[:narrow]
        self.lost = 0.0
        shapes = program.shapes(narrow)
        self.lanes = jax.tree.map(lambda x, shape: x[..., order] if x.shape != shape.shape else x, self.lanes, shapes)
        return self._narrow()

    def _ended(self, report: Report) -> tuple[Rows | None, int]:
        """The results of ended runs, and the number of their steps."""
        program, run = self.program, self.program.loop.run
        slots = int(report.slots)
        status = np.asarray(report.ended["status"])[:slots]
        slot, lane = np.nonzero(status >= 0)
        if not len(slot):
            return None, 0

        def rows(x: Any) -> np.ndarray:
            return np.moveaxis(np.asarray(x), -1, 1)[slot, lane]

        ended = {name: rows(x) for name, x in report.ended.items() if name != "state"}
        outcome = ended.pop("status").astype(np.int8)
        if run.verifies:
            final: Any = report.ended["state"]
            states = jax.tree.map(lambda x, v: rows(x) if v else np.asarray(x[0]), final, run.state_varies)
            trusted = program.verified(states, len(slot))
            outcome[(outcome == Outcome.STOPPED) & ~trusted] = Outcome.PRECISION
        played = ended.pop("steps")
        steps = int(played.sum(dtype=np.int64))
        if run.batches:
            ended["batches"] = played
        for name, values in ended.items():  # zeros, because the step at which a failure is found depends on the block
            if name != "run":
                values[outcome == Outcome.NONFINITE] = 0
        known = (outcome == Outcome.STOPPED) | (outcome == Outcome.MAX_ROUNDS)
        each = program.pulls_of_a_round
        if each is not None and (ended["pulls"].sum(1)[known] != each * ended["samples"][known]).any():
            raise ContractError(MISCOUNTED)
        return {**ended, "outcome": outcome}, steps


def _steps(lanes: Lanes) -> int:
    steps, status = np.asarray(lanes.steps), np.asarray(lanes.status)
    return int(steps[status != EMPTY].sum(dtype=np.int64))
