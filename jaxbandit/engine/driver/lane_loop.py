"""The compiled part of runs with a stopping rule: lanes, each of which plays one run and is refilled from a queue.

An iteration of the compiled loop `advance` writes out the results of the lanes whose runs have ended, refills them with
the queue's next runs, and plays blocks of steps until enough runs have ended again.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit.base.contract import Outcome
from jaxbandit.engine.driver.tile_loop import ROUND, apart, drawn
from jaxbandit.engine.layout import jaxprs, sizes
from jaxbandit.engine.layout.batching import batch_last, constant_flags
from jaxbandit.engine.rounds import keys
from jaxbandit.engine.rounds.recorder import Tally
from jaxbandit.engine.rounds.stopping import EMPTY, LIVE, StoppingRun
from jaxbandit.support.types import Array, Key, PyTree

REFILL_SHARE = 32  # a refill costs as much as a few steps, so it waits until 1/32 of the lanes are free
REPLAN_SHARE = 4  # replanning is expensive work on all lanes, so it waits until 1/4 of the live ones need it


class Lanes(NamedTuple):
    """The state of W lanes between two calls. Leaves that differ between runs have the lane axis last."""

    run: Array  # int32[W], index of the run
    status: Array  # int32[W], EMPTY, LIVE, or the Outcome of a run whose results have not been written out
    steps: Array  # int32[W], number of steps taken, which are single pulls or batches of pulls
    pulls: Array  # int32[W], number of pulls; int64 for batches in float64
    words: tuple[Array, Array]  # uint32[words, W]: keys of the environment and of the algorithm
    world: PyTree
    state: PyTree
    tally: Tally
    next: Array  # int32[], index of the run to be started next
    first: PyTree  # world and state of one run before its first step, for leaves that are initially equal in all runs


class Report(NamedTuple):
    """The output of one call for the host."""

    lanes: Lanes
    ended: dict[str, Array]  # results by write-out and lane, [slots, ..., W]; "status" < 0 marks lanes without results
    slots: Array  # int32[], number of write-outs
    blocks: Array  # int32[], number of blocks of steps executed by all lanes


class LaneLoop:
    """The function that advances W lanes, ready to be compiled."""

    def __init__(self, run: StoppingRun, platform: str = "cpu"):
        self.run = run
        noise_bytes = max(run.bytes(run.noise, constant_flags(run.noise, True)), 1)
        self.alone = sizes.alone(platform, run.operations())
        self.block_steps = sizes.block_steps(platform, noise_bytes, batches=run.batches, alone=self.alone)
        self.slots = sizes.of(platform).slots
        self.unroll = 1 if run.replans else sizes.of(platform).unroll
        self.lane_bytes = run.bytes(run.state, run.state_varies) + self.block_steps * noise_bytes

    @property
    def run_bytes(self) -> int:
        """Bytes of a run on the device: state, noise, environment, tally, keys, and a part of every write-out slot."""
        run = self.run
        example = (run.arguments, run.world, run.state, run.tally)
        ended = jax.tree.leaves((jaxprs.trace(run.verdict, *example)[1], run.state if run.verifies else None))
        slot = 4 * 4 + sum(leaf.size * leaf.dtype.itemsize for leaf in ended)
        own = run.bytes(run.world, run.world_varies) + run.bytes(run.tally, run.tally_varies)
        return self.lane_bytes + own + run.bytes(run.words, (True, True)) + self.slots * slot

    def empty(self, first: PyTree, next: Array, width: int) -> Lanes:
        """`width` lanes without runs; the queue starts at run `next`. NumPy avoids a compilation of each operation."""
        run = self.run

        def leaf(x: Any, varies: bool) -> Any:
            return np.zeros((*x.shape, width), x.dtype) if varies else x

        words: Any = tuple(np.zeros((w.shape[0], width), np.uint32) for w in run.words)
        world, state = jax.tree.map(leaf, first, (run.world_varies, run.state_varies))
        nothing = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), run.tally)
        tally = jax.tree.map(leaf, nothing, run.tally_varies)
        number: Any = np.zeros(width, np.int32)
        pulls: Any = np.zeros(width, run.count.dtype)
        return Lanes(number, number + EMPTY, number, pulls, words, world, state, tally, next, first)

    def advance(
        self, arguments: PyTree, root: Key, lanes: Lanes, end: Array, limit: Array, budget: Array, floor: Array
    ) -> Report:
        """Play about `budget` blocks of steps of the queue's runs before run `end`, of at most `limit` pulls each.

        If the queue is empty, return at `floor` live lanes, so that the host can continue with fewer lanes.
        """
        run, width = self.run, lanes.run.shape[0]
        varies = (run.world_varies, run.state_varies, run.tally_varies)
        step = batch_last(
            run.step,
            (run.arguments, run.world, run.state, run.tally, run.noise, run.number, run.count, run.count),
            (run.shared, *varies, run.noise_varies, True, True, False),
            (*varies, True, True, True),
            width,
        )
        draw = drawn(run, 0, width)
        broken = batch_last(run.broken, (run.state, run.tally), (run.state_varies, run.tally_varies), True, width)

        def block(inner: tuple[Lanes, Array]) -> tuple[Lanes, Array]:
            lanes, blocks = inner
            offsets = jnp.arange(1, self.block_steps + 1, dtype=jnp.int32)
            noise = jax.vmap(lambda t: draw(arguments, lanes.words, lanes.steps + t))(offsets)

            @jax.named_scope(ROUND)
            def one(i: Array, inner: tuple) -> tuple:
                world, state, tally, status, pulls, steps = inner if self.unroll == 1 else apart(inner)
                others, own = status, jnp.ones((), bool)
                if run.replans:
                    # The noise is drawn for the steps of this block, so a run that has waited for `replan` in this
                    # block cannot continue before the next block.
                    own = steps == lanes.steps + i
                    status = jnp.where(own, status, EMPTY)
                    due = self._replan_due(arguments, state, status)
                    state, status = lax.cond(due, partial(self._replan, arguments), lambda *x: x, state, status)
                now = jax.tree.map(lambda x: lax.dynamic_index_in_dim(x, i, 0, keepdims=False), noise)
                met = world if run.moves else lanes.world
                moved, state, tally, status, pulls, played = step(
                    arguments, met, state, tally, now, status, pulls, limit
                )
                if run.replans:
                    status = jnp.where(own, status, others)
                return moved if run.moves else None, state, tally, status, pulls, steps + played.astype(jnp.int32)

            world = lanes.world if run.moves else None
            start = (world, lanes.state, lanes.tally, lanes.status, lanes.pulls, lanes.steps)
            world, state, tally, status, pulls, steps = lax.fori_loop(
                0, self.block_steps, one, start, unroll=self.unroll
            )
            status = jnp.where((status == LIVE) & broken(state, tally), int(Outcome.NONFINITE), status)
            world = world if run.moves else lanes.world
            after = lanes._replace(world=world, state=state, tally=tally, status=status, pulls=pulls, steps=steps)
            return after, blocks + 1

        def busy(inner: tuple[Lanes, Array]) -> Array:
            lanes, blocks = inner
            live = jnp.sum(lanes.status == LIVE, dtype=jnp.int32)
            ended = jnp.sum(lanes.status >= 0, dtype=jnp.int32)
            fed = jnp.where(lanes.next < end, ended * REFILL_SHARE < width, live > floor)
            return (live > 0) & fed & (blocks < budget)

        def iteration(report: Report) -> Report:
            lanes, ended = self._hand_in(arguments, report.lanes)
            every = jax.tree.map(
                lambda all, now: lax.dynamic_update_slice_in_dim(all, now[None], report.slots, 0), report.ended, ended
            )
            lanes = self._refill(arguments, root, lanes, end)
            lanes, blocks = lax.while_loop(busy, block, (lanes, report.blocks))
            return Report(lanes, every, report.slots + 1, blocks)

        def more(report: Report) -> Array:
            lanes = report.lanes
            live = jnp.sum(lanes.status == LIVE, dtype=jnp.int32)
            due = (lanes.next < end) | (lanes.status >= 0).any() | (live > floor)
            return due & (report.blocks < budget) & (report.slots < self.slots)

        shapes = jax.eval_shape(lambda x: self._hand_in(arguments, x)[1], lanes)
        nothing = jax.tree.map(lambda x: jnp.zeros((self.slots, *x.shape), x.dtype), shapes)
        nothing["status"] = nothing["status"] - 1
        return lax.while_loop(more, iteration, Report(lanes, nothing, jnp.int32(0), jnp.int32(0)))

    def _hand_in(self, arguments: PyTree, lanes: Lanes) -> tuple[Lanes, dict[str, Array]]:
        """Write out the results of ended runs, whose lanes become EMPTY."""
        run, width = self.run, lanes.run.shape[0]
        flags = (run.shared, run.world_varies, run.state_varies, run.tally_varies)
        verdict = batch_last(run.verdict, (run.arguments, run.world, run.state, run.tally), flags, True, width)
        ended = verdict(arguments, lanes.world, lanes.state, lanes.tally)
        over = lanes.status >= 0
        status = jnp.where(over & ended.pop("out_of_range"), int(Outcome.OUT_OF_RANGE), lanes.status)
        status = jnp.where(over & ended.pop("nonfinite"), int(Outcome.NONFINITE), status)
        if run.verifies:
            ended["state"] = lanes.state
        own = {"status": jnp.where(over, status, EMPTY), "run": lanes.run, "samples": lanes.pulls, "steps": lanes.steps}
        return lanes._replace(status=jnp.where(over, EMPTY, lanes.status)), {**ended, **own}

    def _refill(self, arguments: PyTree, root: Key, lanes: Lanes, end: Array) -> Lanes:
        """The lanes after refilling the EMPTY ones with the queue's next runs."""
        run, width = self.run, lanes.run.shape[0]
        free = lanes.status == EMPTY
        number = lanes.next + jnp.cumsum(free, dtype=jnp.int32) - 1
        taken = free & (number < end)
        number = jnp.where(taken, number, lanes.run)
        words = keys.run_keys(root, number)
        begin = batch_last(run.begin, (run.arguments, run.words), (run.shared, (True, True)), run.begin_varies, width)

        def choose(old: Array, first: Array, new: Array, varies: bool, new_varies: bool) -> Array:
            return jnp.where(taken, new if new_varies else first[..., None], old) if varies else old

        flags = ((run.world_varies, run.state_varies), run.begin_varies)
        world, state = jax.tree.map(choose, (lanes.world, lanes.state), lanes.first, begin(arguments, words), *flags)

        def reset(old: Array, first: Array, varies: bool) -> Array:
            return jnp.where(taken, first[..., None], old) if varies else old

        zero = jnp.zeros_like(number)
        return Lanes(
            run=number,
            status=jnp.where(taken, LIVE, lanes.status),
            steps=jnp.where(taken, zero, lanes.steps),
            pulls=jnp.where(taken, jnp.zeros_like(lanes.pulls), lanes.pulls),
            words=jax.tree.map(lambda new, old: jnp.where(taken, new, old), words, lanes.words),
            world=world,
            state=state,
            tally=jax.tree.map(reset, lanes.tally, run.recorder.empty(), run.tally_varies),
            next=lanes.next + jnp.sum(taken, dtype=jnp.int32),
            first=lanes.first,
        )

    def _replan_due(self, arguments: PyTree, state: PyTree, status: Array) -> Array:
        """Whether enough of the live lanes wait for `replan`, bool[]."""
        run = self.run
        flags = (run.shared, run.state_varies, True)
        waits = batch_last(run.waits, (run.arguments, run.state, run.flag), flags, True, status.shape[0])
        live = status == LIVE
        waiting = jnp.sum(waits(arguments, state, live), dtype=jnp.int32)
        return (waiting > 0) & (waiting * REPLAN_SHARE >= jnp.sum(live, dtype=jnp.int32))

    def _replan(self, arguments: PyTree, state: PyTree, status: Array) -> tuple[PyTree, Array]:
        """States after `replan` where it is due, and status; a run in which it is still due becomes NONFINITE."""
        run = self.run
        flags = (run.shared, run.state_varies, True)
        replanned = batch_last(
            run.replanned, (run.arguments, run.state, run.flag), flags, (run.state_varies, True), status.shape[0]
        )
        state, stuck = replanned(arguments, state, status == LIVE)
        return state, jnp.where(stuck, int(Outcome.NONFINITE), status)
