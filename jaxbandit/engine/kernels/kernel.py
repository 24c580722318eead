"""One kernel that plays rounds first, ..., last of `lanes` runs, and records what is measured at checkpoints.

A run has `width` threads, one or more. What is one number per run is in registers; an array along the arms is in shared
memory, [entry][run], so that an entry of any arm of any run is read and written without conflicts. What all runs share
stays in global memory.
"""

import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.engine.kernels.arms import ArmCode, Home
from jaxbandit.engine.kernels.arrays import Values, array, axis_of_arms, pack, physical
from jaxbandit.engine.kernels.control import assign, play, variables
from jaxbandit.engine.kernels.launch import launch
from jaxbandit.engine.kernels.ptx import MOST_LINES, TYPES, Atom, NoRule, const
from jaxbandit.engine.kernels.stores import store, wait
from jaxbandit.engine.layout import jaxprs
from jaxbandit.engine.rounds.recorder import Measured, Tally
from jaxbandit.engine.rounds.single import SingleRun
from jaxbandit.support.types import Array, PyTree

SHARED = 48 * 1024  # bytes of shared memory that a block may have without asking
FEW_THREADS = 132 * 4 * 32  # one warp for each scheduler of an H100; fewer threads are divided into smaller blocks
SEPARATE = (1, 4)  # numbers of arms that are lengths of other axes too, such as the four words of a key


class Kernel:
    """The text for one program and one number of lanes.

    Operands are the leaves of (arguments, words, world, state, tally), then `first`, `last`, `row` and `checkpoints`,
    and the leaves of `measured`; results are the leaves of (world, state, tally) that a round changes, and `measured`.
    With `arms` None all arrays are written out. A program that cannot be written raises `NoRule`.
    """

    def __init__(
        self, run: SingleRun, lanes: int, num_checkpoints: int, arms: int | None, width: int = 1, threads: int = 0
    ):
        if arms in SEPARATE or (arms is None and width > 1):
            raise NoRule(f"{arms} arms as an axis of its own, with {width} threads for each run")
        self.run, self.lanes, self.num_checkpoints, self.width = run, lanes, num_checkpoints, width
        example = (run.arguments, run.words, run.world, run.state, run.tally)
        flags = (run.shared, (True, True), run.world_varies, run.state_varies, run.tally_varies)
        self.leaves, self.varies = jax.tree.leaves(example), jax.tree.leaves(flags)
        sizes = [len(jax.tree.leaves(x)) for x in example]
        self.num_arguments, self.first_state = sizes[0], sum(sizes[:2])
        own = (run.arguments, run.world, run.state, run.tally)
        self.programs = [
            jaxprs.read(jaxprs.trace(function, *given)[0])
            for function, given in (
                (run.draw, (run.arguments, run.words, run.round)),
                (run.play, (*own, run.noise)),
                (run.measured, own),
            )
        ]
        step = self.programs[1]
        places = range(self.first_state, len(self.leaves))
        self.carried = [i for i in places if step.outputs[i - self.first_state] is not step.inputs[i - sizes[1]]]
        code = self.code = ArmCode(arms, width)
        # Leaves along the arms that differ between runs are kept in shared memory.
        self.kept = [i for i in places if self._is_along(i) and self.varies[i]]
        if any(self.leaves[i].dtype not in (np.float32, np.int32) for i in self.kept):
            raise NoRule("an array along the arms that is neither float32 nor int32")
        entries = sum(self.leaves[i].size for i in self.kept)
        self.threads = threads or self._threads(entries)
        self.runs = self.threads // width  # of a block
        self.shared_bytes = 4 * entries * self.runs
        if self.shared_bytes > SHARED:
            raise NoRule(f"{entries} entries of arrays along the arms")
        names = [f"in{i}" for i in range(len(self.leaves))] + ["first", "last", "row", "checkpoints"]
        rows = [f"row{i}" for i in range(len(self.programs[2].outputs))]
        self.results = [f"out{i}" for i in self.carried]
        parameters = [*names, *(f"{name}_before" for name in rows), *self.results, *rows]
        self.bases = {name: code.parameter(name) for name in parameters}
        self._write()
        code.prune()
        if len(code.lines) > MOST_LINES:
            raise NoRule(f"a text of {len(code.lines)} lines")
        self.text = code.text("rounds", parameters, self.threads, shared=bool(self.kept))

    def __call__(
        self,
        arguments: PyTree,
        words: tuple[Array, Array],
        states: tuple[PyTree, PyTree, Tally],
        measured: Measured,
        rounds: tuple[Array, Array, Array, Array],
    ) -> tuple[tuple[PyTree, PyTree, Tally], Measured]:
        """World, state and tally after rounds first, ..., last; `rounds` are first, last, row and the checkpoints."""
        leaves, structure = jax.tree.flatten(states)
        before, shape = jax.tree.flatten(measured)
        given = [*jax.tree.leaves((arguments, words)), *leaves, *(jnp.reshape(x, -1) for x in rounds), *before]
        changed = [leaves[i - self.first_state] for i in self.carried]
        results = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in (*changed, *before)]
        # A leaf that all runs share is written by every thread, and may not be the one that others still read.
        own = {i: n for n, i in enumerate(self.carried) if self.varies[i]}
        rows = {len(given) - len(before) + n: len(changed) + n for n in range(len(before))}
        blocks = -(-self.lanes // self.runs)
        new = launch("rounds", self.text, given, results, blocks, self.threads, self.shared_bytes, own | rows)
        for i, x in zip(self.carried, new, strict=False):
            leaves[i - self.first_state] = x
        return jax.tree.unflatten(structure, leaves), jax.tree.unflatten(shape, new[len(changed) :])

    def _is_along(self, i: int) -> bool:
        return axis_of_arms(self.code, self.leaves[i].shape) is not None

    def _threads(self, entries: int) -> int:
        threads = 128 if self.lanes * self.width > FEW_THREADS else 32
        while threads > 32 and 4 * entries * threads // self.width > SHARED:
            threads //= 2
        return threads

    def _write(self) -> None:
        """Write all instructions."""
        code = self.code
        tid, block = code.special("%tid.x"), code.special("%ctaid.x")
        self.own = tid  # the number of the run in the block
        if self.width > 1:
            self.own = code.shift("shr", tid, const("u32", self.width.bit_length() - 1))
            code.share = code.convert(code.binary("and", tid, const("u32", self.width - 1)), "s32")
        lane = code.emit("mad.lo.s32", "u32", block, const("u32", self.runs), self.own)
        outside = code.compare("ge", lane, const("u32", self.lanes))
        if self.width == 1:
            code.raw(f"@{outside.text} bra $exit;")
        else:  # every thread of a warp takes part in exchanges
            lane = code.binary("min", lane, const("u32", self.lanes - 1))
        self.lane = lane
        values, homes = self._load_leaves()
        numbers = [i for i in self.carried if i not in homes]
        begin, last, start = (code.load("global", "s32", code.address(self.bases[x])) for x in ("first", "last", "row"))
        t, row, due = (code.register("s32") for _ in range(3))
        code.move(t, begin)
        code.move(row, start)
        self._look(row, due)
        state = variables(code, [values[i] for i in numbers])
        for i, x in zip(numbers, state, strict=True):
            values[i] = x
        wait(code, self.kept)
        head, end, more = code.label("round"), code.label("played"), code.register("pred")
        code.raw(f"setp.gt.s32 {more.text}, {t.text}, {last.text};")
        code.raw(f"@{more.text} bra {end};")
        code.raw(f"{head}:")
        with code.region():
            self._round(values, numbers, t)
        with code.region():
            self._checkpoint(values, t, row, due)
        code.raw(f"add.s32 {t.text}, {t.text}, 1;")
        code.raw(f"setp.le.s32 {more.text}, {t.text}, {last.text};")
        code.raw(f"@{more.text} bra {head};")
        code.raw(f"{end}:")
        if self.width > 1:
            code.raw(f"@{outside.text} bra $exit;")
        for i in self.carried:
            self._save(i, values, homes)
        code.raw("$exit:")

    def _load_leaves(self) -> tuple[list[Values], dict[int, Home]]:
        """The values of all leaves before the first round, and where those in shared memory are."""
        code, homes, room, values = self.code, {}, 0, []
        local = code.emit("mad.lo.s32", "u32", self.own, const("u32", 4), code.special("kept"))
        for i, leaf in enumerate(self.leaves):
            if i in self.kept:
                base = code.emit("add.s32", "u32", local, const("u32", 4 * self.runs * room))
                homes[i], room = Home("shared", base, 4 * self.runs), room + leaf.size
                for x, place in zip(self._numbers(i), self._places(i, homes[i]), strict=True):
                    code.store("shared", place, x)
                values.append(self._vectors(i, homes[i]))
            elif self._is_along(i) and i not in self.carried and TYPES[np.dtype(leaf.dtype)] != "pred":
                values.append(self._vectors(i, self._home(i, "in", "global.nc")))
            else:
                numbers = iter(self._numbers(i))
                values.append(pack(code, array(leaf.shape, lambda _, numbers=numbers: next(numbers))))
        return values, homes

    def _round(self, values: list[Values], numbers: list[int], t: Atom) -> None:
        """Draw and play round t, and write the new states in place of the old."""
        code, (draw, step, _), first = self.code, self.programs, self.first_state
        noise = play(code, draw, [*values[:first], array((), lambda _: t)])
        outputs = play(code, step, [*values[: self.num_arguments], *values[first:], *noise])
        after = [outputs[i - first] for i in numbers]
        store(code, [(values[i], outputs[i - first]) for i in self.kept if i in self.carried])
        assign(code, [values[i] for i in numbers], after)

    def _checkpoint(self, values: list[Values], t: Atom, row: Atom, due: Atom) -> None:
        """Record what is measured of this run, if it is due after round t."""
        code, later = self.code, self.code.label("later")
        code.raw(f"@{code.compare('ne', t, due).text} bra {later};")
        rows = play(code, self.programs[2], [*values[: self.num_arguments], *values[self.first_state :]])
        passed = code.emit("mul.wide.u32", "u64", code.convert(row, "u32"), const("u32", 4 * self.lanes))
        for n, x in enumerate(rows):
            place = code.emit("add.s64", "u64", self._begin(f"row{n}", 4), passed)
            if x[()].type != "f32":
                raise NoRule("a measurement that is not float32")
            code.store("global", code.address(place), x[()])
        code.raw(f"add.s32 {row.text}, {row.text}, 1;")
        with code.region():  # where `row` is another number
            self._look(row, due)
        code.raw(f"{later}:")

    def _look(self, row: Atom, due: Atom) -> None:
        """The next checkpoint; behind the last one that one again, which is over."""
        code = self.code
        index = code.register("s32")
        code.raw(f"min.s32 {index.text}, {row.text}, {self.num_checkpoints - 1};")
        place = code.pointer(Home("global", self.bases["checkpoints"], 4), index)
        code.raw(f"ld.global.u32 {due.text}, {code.address(place).text};")

    def _save(self, i: int, values: list[Values], homes: dict[int, Home]) -> None:
        """Write a leaf to the results."""
        code, numbers, places = self.code, list(values[i].flat), self._places(i, self._home(i, "out"))
        if i in homes:
            numbers = [code.load("shared", numbers[0].type, place) for place in self._places(i, homes[i])]
        for x, place in zip(numbers, places, strict=True):
            code.store("global", place, x)

    def _begin(self, name: str, size: int) -> Atom:
        """The address of the first entry of this run."""
        return self.code.pointer(Home("global", self.bases[name], size), self.lane)

    def _home(self, i: int, name: str, space: str = "global") -> Home:
        """Where the entries of a leaf of this run are."""
        size, name = self.leaves[i].dtype.itemsize, f"{name}{i}"
        if not self.varies[i]:
            return Home(space, self.bases[name], size)
        return Home(space, self._begin(name, size), size * self.lanes)

    def _places(self, i: int, home: Home) -> Iterator[Atom]:
        """The places of the entries of a leaf, one after another."""
        return (self.code.address(home.base, home.stride * n) for n in range(self.leaves[i].size))

    def _numbers(self, i: int) -> list[Atom]:
        """Registers with all entries of a leaf."""
        leaf = self.leaves[i]
        if np.dtype(leaf.dtype) not in TYPES:
            raise NoRule(f"numbers of type {leaf.dtype}")
        type, places = TYPES[np.dtype(leaf.dtype)], self._places(i, self._home(i, "in"))
        return [self.code.load("global", type, place) for place in places]

    def _vectors(self, i: int, home: Home) -> Values:
        """The array of vectors of a leaf along the arms."""
        code, shape, type = self.code, self.leaves[i].shape, TYPES[np.dtype(self.leaves[i].dtype)]
        axis = axis_of_arms(code, shape)
        assert axis is not None
        inner = math.prod(shape[axis + 1 :])

        def vector(index: tuple[int, ...]) -> Any:
            at = int(np.ravel_multi_index(index, shape))
            return code.vector(type, "load", Home(home.space, home.base, home.stride * inner, home.stride * at))

        return array(physical(code, shape), vector)
