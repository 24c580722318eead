"""The compiled part of fixed-horizon runs: `start` creates the carry of a tile of runs, and `advance` plays rounds.

Its nested loops are over blocks of rounds whose noise is drawn at once, over the segments of a block between two
checkpoints, and over rounds. The length of the blocks changes no result.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec

from jaxbandit.engine.layout import jaxprs, sizes
from jaxbandit.engine.layout.batching import RUNS, batch_last, constant_flags, without_splits
from jaxbandit.engine.rounds.metrics import METRIC
from jaxbandit.engine.rounds.recorder import Measured, Tally
from jaxbandit.engine.rounds.single import SingleRun
from jaxbandit.support.types import Array, Device, PyTree

AXIS = "runs"
ROUND = "round"  # name of the operations of a round in profiles and in the compiled program


class Carry(NamedTuple):
    """The state of a tile of B runs between two chunks. Leaves that differ between runs have the run axis last."""

    round: Array  # int32[], the next round, counted from 1
    row: Array  # int32[], number of checkpoints passed
    words: tuple[Array, Array]  # uint32[words, B]: keys of the environment and of the algorithm
    world: PyTree
    state: PyTree
    tally: Tally
    stuck: Array | None  # bool[B], whether `replan` was still due after it was applied; None if there is no replan
    measured: Measured  # float[checkpoints, B] each


def apart(inner: PyTree) -> PyTree:
    """Keep a GPU's compiler from fusing two rounds that are written out one after the other.

    It would contract a product of one round and a sum of the next into one rounding, and numbers would depend on which
    rounds are written out together. An integer that all runs share does not need a kernel of its own.
    """

    def stored(x: Array) -> Array:
        return lax.optimization_barrier(x) if x.ndim or jnp.issubdtype(x.dtype, jnp.floating) else x

    return jax.tree.map(stored, inner)


class TileLoop:
    """The functions of a tile of runs, ready to be compiled."""

    def __init__(self, run: SingleRun, num_checkpoints: int, platform: str = "cpu"):
        self.run, self.num_checkpoints = run, num_checkpoints
        self.measured = jaxprs.trace(run.measured, run.arguments, run.world, run.state, run.tally)[1]
        noise_bytes = max(run.bytes(run.noise, run.noise_varies), 1)
        self.alone = sizes.alone(platform, run.operations())
        self.block_steps = sizes.block_steps(platform, noise_bytes, alone=self.alone)
        chosen = sizes.of(platform)
        self.pack = chosen.pack
        # A rule that replans asks the host in every round anyway.
        self.together, self.unroll = (1, 1) if run.replans else (chosen.together, chosen.unroll)
        # The bytes that the rounds of a block read and write, and all bytes of a run on the device.
        self.lane_bytes = run.bytes(run.state, run.state_varies) + self.block_steps * noise_bytes
        self.run_bytes = self.lane_bytes + self._kept_bytes()
        stuck: Any = True if run.replans else None
        measured = constant_flags(self.measured, True)
        self.varying: Any = Carry._make(
            (False, False, (True, True), run.world_varies, run.state_varies, run.tally_varies, stuck, measured)
        )

    def words(self, lanes: int) -> PyTree:
        """The shapes of the key words of `lanes` runs."""
        return jax.tree.map(lambda x: jax.ShapeDtypeStruct((*x.shape, lanes), x.dtype), self.run.words)

    def start(self, arguments: PyTree, words: tuple[Array, Array], first: PyTree = None) -> Carry:
        """The carry before round 1 of the runs with these key words; `first` is `run.first`, or None."""
        run, lanes = self.run, words[0].shape[-1]
        begin = batch_last(
            run.begin,
            (run.arguments, run.words),
            (run.shared, (True, True)),
            (run.world_varies, run.state_varies),
            lanes,
        )
        rows = jnp.zeros((self.num_checkpoints, lanes))

        def leaf(x: Array, varies: bool) -> Array:
            return jnp.zeros((*x.shape, lanes) if varies else x.shape, x.dtype)

        def spread(x: Array, varies: bool) -> Array:
            return jnp.broadcast_to(x[..., None], (*x.shape, lanes)) if varies else x

        def chosen(new: Array, first: Array, varies: bool, new_varies: bool) -> Array:
            return new if new_varies else spread(first, varies)

        world, state = begin(arguments, words)
        if first is not None:  # the compiler drops what `begin` computes of leaves that are equal in all runs
            flags = (run.world_varies, run.state_varies), run.begin_varies
            world, state = jax.tree.map(chosen, (world, state), first, *flags)
        tally = jax.tree.map(leaf, run.tally, run.tally_varies)
        own = jax.tree.map(spread, run.recorder.metrics.empty(), run.tally_varies.metrics)
        return Carry(
            round=jnp.int32(1),
            row=jnp.int32(0),
            words=words,
            world=world,
            state=state,
            tally=tally._replace(metrics=own),
            stuck=jnp.zeros(lanes, bool) if run.replans else None,
            measured=jax.tree.map(lambda _: rows, self.measured),
        )

    def advance(self, arguments: PyTree, carry: Carry, last: Array, checkpoints: Array) -> Carry:
        """Play up to and including round `last`; checkpoints is int32[num_checkpoints], increasing."""
        run, lanes = self.run, carry.words[0].shape[-1]
        flags = (run.shared, run.world_varies, run.state_varies, run.tally_varies)
        example = (run.arguments, run.world, run.state, run.tally)
        play = batch_last(run.play, (*example, run.noise), (*flags, run.noise_varies), flags[1:], lanes)
        draw = drawn(run, None, lanes)
        measured = batch_last(run.measured, example, flags, True, lanes)
        replanned = self._replanned(arguments, lanes) if run.replans else None

        def block(carry: Carry) -> Carry:
            first = carry.round
            rounds = first + jnp.arange(self.block_steps, dtype=jnp.int32)
            noise = jax.vmap(lambda t: draw(arguments, carry.words, t))(rounds)
            end_of_block = jnp.minimum(rounds[-1], last)

            @jax.named_scope(ROUND)
            def one_round(t: Array, inner: tuple) -> tuple:
                world, state, tally, stuck = inner if self.unroll == 1 else apart(inner)
                if replanned is not None:
                    state, stuck = replanned(state, stuck, t)
                now = jax.tree.map(lambda x: lax.dynamic_index_in_dim(x, t - first, 0, keepdims=False), noise)
                met = world if run.moves else carry.world
                moved, state, tally = play(arguments, met, state, tally, now)
                return moved if run.moves else None, state, tally, stuck

            def play_rounds(first: Array, end: Array, inner: tuple) -> tuple:
                if self.together == 1:
                    return lax.fori_loop(first, end + 1, one_round, inner)

                # A GPU's host is asked after each iteration whether to go on, unless the length of the loop is known.
                def several(i: Array, inner: tuple) -> tuple:
                    def play(j: Array, inner: tuple) -> tuple:
                        return one_round(first + i * self.together + j, inner)

                    return lax.fori_loop(0, self.together, play, inner, unroll=self.unroll)

                number = (end + 1 - first) // self.together
                inner = lax.fori_loop(0, number, several, inner)
                return lax.fori_loop(first + number * self.together, end + 1, one_round, inner)

            def segment(carry: Carry) -> Carry:
                due = checkpoints[carry.row]
                end = jnp.minimum(due, end_of_block)
                inner = (carry.world if run.moves else None, carry.state, carry.tally, carry.stuck)
                world, state, tally, stuck = play_rounds(carry.round, end, inner)
                world = world if run.moves else carry.world
                now = measured(arguments, world, state, tally)

                def written(rows: Array, row: Array) -> Array:
                    return lax.dynamic_update_slice_in_dim(rows, row[None], carry.row, 0)

                return carry._replace(
                    round=end + 1,
                    row=carry.row + (end == due).astype(jnp.int32),
                    world=world,
                    state=state,
                    tally=tally,
                    stuck=stuck,
                    measured=jax.tree.map(written, carry.measured, now),
                )

            return lax.while_loop(lambda c: c.round <= end_of_block, segment, carry)

        return lax.while_loop(lambda c: c.round <= last, block, carry)

    def _kept_bytes(self) -> int:
        """Bytes of a run's carry besides the state: environment, tally, keys, and what is recorded at checkpoints."""
        run = self.run
        width = jnp.zeros(()).dtype.itemsize * len(jax.tree.leaves(self.measured))
        own = run.bytes(run.world, run.world_varies) + run.bytes(run.tally, run.tally_varies)
        return own + run.bytes(run.words, (True, True)) + width * self.num_checkpoints

    def _replanned(self, arguments: PyTree, lanes: int) -> Callable[[PyTree, Array, Array], tuple[PyTree, Array]]:
        """A function that replans the runs that are due before round t, `pack` at a time; it returns state and `stuck`.

        A batched cond would replan every run whenever one is due.
        """
        run, every = self.run, self.run.late + 1
        example = (run.arguments, run.state, run.flag)
        flags = (run.shared, run.state_varies, True)
        waits = batch_last(run.waits, example, flags, True, lanes)
        pack = min(self.pack, lanes)
        replan = batch_last(run.replanned, example, flags, (run.state_varies, True), pack)

        def alone(state: PyTree, stuck: Array, t: Array) -> tuple[PyTree, Array]:
            due = waits(arguments, state, ~stuck)[0] & ((t - 1) % every == 0)
            return lax.cond(due, lambda: replan(arguments, state, ~stuck), lambda: (state, stuck))

        if lanes == 1:  # of the loop below XLA would compute what does not change in it before it, in every round
            return alone

        def go_on(inner: tuple[PyTree, Array, Array]) -> Array:
            state, stuck, t = inner
            return waits(arguments, state, ~stuck).any() & ((t - 1) % every == 0)

        def some(inner: tuple[PyTree, Array, Array]) -> tuple:
            state, stuck, t = inner
            asks = waits(arguments, state, ~stuck)
            (place,) = jnp.nonzero(asks, size=pack, fill_value=lanes)

            def packed(x: Array, varies: bool) -> Array:
                return jnp.take(x, place, axis=RUNS, mode="clip") if varies else x

            def unpacked(old: Array, new: Array, changed: bool) -> Array:
                return old.at[..., place].set(new, mode="drop", unique_indices=True) if changed else old

            fresh, failed = replan(arguments, jax.tree.map(packed, state, run.state_varies), place < lanes)
            state = jax.tree.map(unpacked, state, fresh, run.replan_changes)
            return state, stuck.at[place].set(failed, mode="drop", unique_indices=True), t

        return lambda state, stuck, t: lax.while_loop(go_on, some, (state, stuck, t))[:2]

    def finish(self, arguments: PyTree, carry: Carry) -> dict[str, Array]:
        """The results besides regret, with the run axis last."""
        run, lanes = self.run, carry.words[0].shape[-1]
        report = batch_last(
            run.report,
            (run.arguments, run.state, run.tally, run.round),
            (run.shared, run.state_varies, run.tally_varies, False),
            True,
            lanes,
        )
        result = report(arguments, carry.state, carry.tally, carry.round - 1)
        regret, hindsight, metrics = carry.measured
        failed = result["nonfinite"] if regret is None else result["nonfinite"] | ~jnp.isfinite(regret).all(0)
        result["nonfinite"] = failed if carry.stuck is None else failed | carry.stuck
        curves = {} if hindsight is None else {"hindsight": hindsight}
        names = [METRIC + name for name in run.recorder.metrics.names]
        return result | curves | dict(zip(names, metrics, strict=True))


def drawn(run: SingleRun, round_axis: int | None, lanes: int) -> Callable[[PyTree, tuple[Array, Array], Array], PyTree]:
    """`run.draw` for all lanes, whose rounds are equal (round_axis None) or not; the lane axis comes last."""
    draw = without_splits(run.draw, (run.arguments, run.words, run.round))
    return jax.vmap(draw, (None, RUNS, round_axis), RUNS, axis_size=lanes)


class Functions(NamedTuple):
    """`start`, `advance` and `finish` of a TileLoop."""

    start: Callable[..., Any]
    advance: Callable[..., Any]
    finish: Callable[..., Any]


def sharded(loop: TileLoop, arguments: PyTree, lanes: int, devices: Sequence[Device]) -> Functions:
    """The functions on several devices, each with its own share of the runs; `lanes` is a multiple of their number."""
    mesh = Mesh(np.array(devices), (AXIS,))
    words, whole = PartitionSpec(None, AXIS), PartitionSpec()
    shapes = jax.eval_shape(loop.start, arguments, loop.words(lanes))

    def spec(leaf: Any, varies: bool) -> PartitionSpec:
        return PartitionSpec(*[None] * (leaf.ndim - 1), AXIS) if varies else whole

    carry = jax.tree.map(spec, shapes, loop.varying)
    report = jax.tree.map(lambda leaf: spec(leaf, True), jax.eval_shape(loop.finish, arguments, shapes))

    def shard(function: Callable, in_specs: tuple, out_specs: PyTree) -> Callable:
        return jax.shard_map(function, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False)

    return Functions(
        start=shard(loop.start, (whole, (words, words), whole), carry),
        advance=shard(loop.advance, (whole, carry, whole, whole), carry),
        finish=shard(loop.finish, (whole, carry), report),
    )
