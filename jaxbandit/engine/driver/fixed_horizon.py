"""Runs of a fixed horizon: tiles of runs, each of which a thread advances chunk by chunk."""

import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Outcome
from jaxbandit.engine.driver.kernel_loop import KernelLoop
from jaxbandit.engine.driver.programs import NOT_ENDED, Call, Chunk, Player, Program
from jaxbandit.engine.driver.tile_loop import Functions, TileLoop, sharded
from jaxbandit.engine.kernels.eligible import ARITHMETIC, is_eligible
from jaxbandit.engine.layout import sizes
from jaxbandit.engine.layout.compiled import Same, compile_all, compile_program, remember
from jaxbandit.engine.rounds import keys
from jaxbandit.engine.rounds.metrics import METRIC, included, is_curve, limits_of
from jaxbandit.engine.rounds.moments import Limbs, Moments, limbs
from jaxbandit.engine.rounds.recorder import MISCOUNTED, REPORTED
from jaxbandit.engine.rounds.single import SingleRun
from jaxbandit.engine.rounds.states import Kept, is_state
from jaxbandit.engine.rounds.step import ContractError
from jaxbandit.engine.storage.checkpoint import Rows, Segment, unknown
from jaxbandit.support.types import Array, PyTree

JUDGED = ("nonfinite", "out_of_range", "miscounted")  # the entries of a report that determine the outcome


class Recorded(NamedTuple):
    """What is recorded of each run, in the words of `simulate_cell`."""

    hindsight: bool
    metrics: Mapping[str, Any]
    kept: Kept


class FixedHorizon(Program):
    """Every run ends at the horizon; its regret at the checkpoints and their exact sums are recorded."""

    where, engine = "simulate", "fixed horizon"
    loop: TileLoop

    def __init__(self, call: Call, marks: np.ndarray, recorded: Recorded):
        super().__init__(call)
        self.marks, self.horizon = marks.astype(np.int32), int(marks[-1])
        self.recorded = recorded
        named = tuple((name, Same(metric)) for name, metric in recorded.metrics.items())
        self.kernels = call.execution.kernel == "auto"
        self.options = (len(marks), recorded.hindsight, named, Same(recorded.kept.state), self.kernels)
        self.about = {"horizon": self.horizon, "checkpoints": marks.tolist(), "hindsight": recorded.hindsight}
        if recorded.metrics:
            self.about["metrics"] = list(recorded.metrics)
        if limits := limits_of(recorded.metrics):
            self.about["limits"] = limits
        if recorded.kept.state is not None:
            self.about["states"] = True
        self.length = ("horizon", self.horizon)
        self.counted = 0  # number of runs without a failure
        self.moments: dict[str, Moments] = {}  # exact sums of the curves over these runs
        self.totals: dict[str, np.ndarray] = {}  # int64, sums over these runs
        self.compiled: dict[int, Functions] = {}  # by the number of lanes of a tile
        self.first: PyTree = None  # `run.first`, where runs are played one at a time
        # An accelerator adds up its runs itself; on a CPU that is not faster than on the host.
        self.on_device = sizes.of(self.platform).cache is None and len(self.devices) == 1
        self.keeps_runs = recorded.kept.runs or call.execution.directory is not None

    def _trace(self) -> TileLoop:
        call, recorded = self.call, self.recorded
        run = SingleRun(
            call.make,
            self.arguments,
            call.implementation,
            any_rewards=call.any_rewards,
            hindsight=recorded.hindsight,
            given=tuple(recorded.metrics.items()),
            keep=recorded.kept.state,
        )
        kernel = self.kernels and is_eligible(run, len(self.marks), self.devices[0])
        return (KernelLoop if kernel else TileLoop)(run, len(self.marks), self.platform)

    def _check(self) -> None:
        super()._check()
        self.about["replan_late"] = self.loop.run.late
        if isinstance(self.loop, KernelLoop):
            self.about["arithmetic"] = ARITHMETIC

    def _names(self) -> list[str]:
        report = jax.eval_shape(self.loop.finish, self.arguments, self._carry(self.loop, sizes.LANES_LEAST))
        regret = ["regret"] if self.loop.run.recorder.measure else []
        return [*regret, "outcome", *(name for name in report if name not in JUDGED)]

    def _lanes(self, memory: int, run_bytes: int) -> int:
        given = self.call.execution.width
        if self.loop.alone:
            return len(self.devices)
        return sizes.tile(self.platform, memory, run_bytes, self.left(), self.workers, len(self.devices), given)

    def _fitting(self, width: int, memory: int) -> int:
        return sizes.fitting(lambda width: self.functions(width).advance, width, memory, len(self.devices))

    def _players(self, width: int) -> tuple[Iterator["Tile"], int]:
        """The tiles of the runs that are left."""
        known, unit = self.outcome != NOT_ENDED, sizes.LANES_LEAST * len(self.devices)
        resumed: list[Tile] = []
        for segment in self.checkpoint.under_way():
            run = segment["run"]
            run = run[(run >= self.first_run) & (run < self.first_run + self.num_runs)]
            run = run[~known[run - self.first_run]]
            known[run - self.first_run] = True
            own = -(-int(segment["lanes"]) // unit) * unit
            lanes = width if self.loop.alone or own > width // 2 else own
            for start in range(0, len(run), lanes):
                part = _part(segment, run[start : start + lanes])
                resumed.append(Tile(self, len(resumed), part["run"], lanes, part))
                resumed[-1].hold()
        missing = [(self.first_run + first, self.first_run + end) for first, end in unknown(known)]
        widths = {tile.lanes for tile in resumed} | ({width} if missing else set())
        if self.loop.alone and self.left():
            self.first = jax.tree.map(np.asarray, self.first_states())
        self.compiled = {each: self.functions(each) for each in sorted(widths)}

        def tiles() -> Iterator[Tile]:
            yield from resumed
            for key, run in enumerate(_batches(missing, width), len(resumed)):
                yield Tile(self, key, run, width, {})

        return tiles(), max(1, min(self.workers, -(-self.left() // min(widths, default=1))))

    def functions(self, lanes: int) -> Functions:
        """The compiled functions of tiles of `lanes` runs."""

        def construct() -> Functions:
            device, loop = self.devices[0], self.loop
            chosen: Any = loop
            if len(self.devices) > 1 or device != jax.local_devices()[0]:
                chosen = sharded(loop, self.arguments, lanes, self.devices)
            last, marks = (jax.ShapeDtypeStruct(shape, jnp.int32) for shape in ((), self.marks.shape))
            carry, more = self._carry(chosen, lanes), {"whole": loop.run.whole_loops, "searches": True}
            given = (self.arguments, carry, last, marks)
            advance, start, finish, _ = compile_all(  # the slowest first
                lambda: compile_program(chosen.advance, device, *given, donate=(1,), **more),
                lambda: compile_program(chosen.start, device, self.arguments, loop.words(lanes), self.first),
                lambda: compile_program(chosen.finish, device, self.arguments, carry),
                lambda: self.words(np.zeros(lanes)),
            )
            return Functions(start=start, advance=advance, finish=finish)

        return remember((*self.key, lanes, tuple(self.devices)), construct)

    def words(self, runs: np.ndarray) -> tuple[Any, Any]:
        """The key words of runs, where the functions of a tile take them."""
        words = keys.compiled_run_keys(self.call.seed, self.call.implementation, runs)
        return words if self.devices == jax.local_devices()[:1] else jax.device_get(words)

    def sums(self, curves: dict[str, Any], report: dict[str, Any], number: int) -> tuple[dict, dict] | None:
        """The sums of curves and counts over the first runs of a tile; None if the host is to add them up."""
        if not self.on_device:
            return None
        totals = {name: report[name] for name in REPORTED if name in report}
        with jax.enable_x64(True):
            sums = jax.device_get(_sums(curves, totals, report["nonfinite"] | report["out_of_range"], number))
        return None if any(found.left for found in sums[0].values()) else sums

    def _record(self, rows: Rows, sums: tuple[dict, dict] | None) -> None:
        counts = rows["outcome"] == Outcome.STOPPED
        self.counted += int(counts.sum())
        for name in filter(is_curve, rows if sums is None else sums[0]):
            moments = self.moments.setdefault(name, Moments(len(self.marks)))
            if sums is None:
                moments.add(rows[name].T, included(name, rows[name], counts))
            else:
                moments.add_limbs(sums[0][name])
        totals = {name: rows[name][counts].sum(0, dtype=np.int64) for name in rows.keys() & set(REPORTED)}
        for name, total in (totals if sums is None else sums[1]).items():
            self.totals[name] = self.totals.get(name, 0) + total
        kept = {name for name in rows if self.recorded.kept.runs or is_state(name)}
        super()._record({name: rows[name] for name in kept | {"run", "outcome"}}, sums)

    def mean(self, name: str) -> np.ndarray | None:
        """Mean of "pulls" or "kinds" over the runs without a failure, float64; None if the algorithm has none."""
        return self.totals[name] / max(self.counted, 1) if name in self.totals else None

    def _carry(self, loop: Any, lanes: int) -> Any:
        return jax.eval_shape(loop.start, self.arguments, self.loop.words(lanes), None)


class Tile(Player):
    """Runs that are all in the same round."""

    program: FixedHorizon

    def __init__(self, program: FixedHorizon, key: int, run: np.ndarray, lanes: int, saved: Segment):
        self.program, self.key, self.run, self.lanes, self.saved = program, key, run, lanes, saved
        self.carry: Any = None  # until the first chunk
        self.round = 1

    def _over(self) -> bool:
        return self.round > self.program.horizon

    def _advance(self, blocks: int) -> Chunk:
        program, functions, number = self.program, self.program.compiled[self.lanes], len(self.run)
        if self.carry is None:
            self.carry = self._begun(functions)
            self.round, self.saved = int(self.carry.round), {}
        last = min(self.round + blocks * program.loop.block_steps - 1, program.horizon)
        begun = time.monotonic()
        advanced = functions.advance(program.arguments, self.carry, np.int32(last), program.marks)
        self.carry = jax.block_until_ready(advanced)
        seconds = time.monotonic() - begun
        rounds, self.round = last + 1 - self.round, last + 1
        ended = sums = None
        if self._over():
            report, regret = functions.finish(program.arguments, self.carry), self.carry.measured.regret
            report |= {} if regret is None else {"regret": regret}
            sums = program.sums({name: x for name, x in report.items() if is_curve(name)}, report, number)
            spared = sums is not None and not program.keeps_runs
            ended = _rows(self.run, {name: x for name, x in report.items() if not (spared and _is_summed(name))})
            self.carry = None
        return Chunk(seconds, blocks, rounds * number, rounds * self.lanes, ended, sums)

    def _segment(self) -> Segment:
        if self.carry is None:
            return self.saved
        varies = jax.tree.leaves(self.program.loop.varying)
        leaves = {f"leaf{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(self.carry))}
        whole = {"run": self._padded(), "lanes": np.array(self.lanes), "varies": np.array(varies), **leaves}
        return _part(whole, self.run)

    def _begun(self, functions: Functions) -> Any:
        if not self.saved:
            return functions.start(self.program.arguments, self.program.words(self._padded()), self.program.first)
        part, structure = _part(self.saved, self._padded()), jax.tree.structure(self.program.loop.varying)
        return jax.tree.unflatten(structure, [part[f"leaf{i}"] for i in range(structure.num_leaves)])

    def _padded(self) -> np.ndarray:
        """The runs, and copies of the last one for the lanes that are left over, whose results are discarded."""
        return np.pad(self.run, (0, self.lanes - len(self.run)), mode="edge")


@jax.jit
def _sums(curves: dict[str, Array], totals: dict[str, Array], failed: Array, number: Array) -> tuple[dict, dict]:
    """Exact sums over the first runs of a tile that did not fail."""
    keep = ~failed & (jnp.arange(len(failed)) < number)

    def summed(name: str, x: Array) -> Limbs:
        return limbs(x, keep & jnp.isfinite(x).all(0) if name.startswith(METRIC) else keep)

    counts = {name: jnp.where(keep, x, 0).sum(-1, dtype=jnp.int64) for name, x in totals.items()}
    return {name: summed(name, x) for name, x in curves.items()}, counts


def _is_summed(name: str) -> bool:
    """Whether only sums of an entry of a report are needed if nothing is kept of each run."""
    return is_curve(name) or name in REPORTED


def _rows(run: np.ndarray, report: dict[str, Any]) -> Rows:
    """The results of the runs of a tile, without those of the lanes used for padding."""
    rows = {name: np.moveaxis(np.asarray(x), -1, 0)[: len(run)] for name, x in report.items()}
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
