"""Vectors along the arms, evaluated where they are reduced, searched, looked up or stored, a few arms at a time.

Only the state is stored for every arm. Many arms are a loop. `width` threads may share the arms of a run: thread l has
the arms l, l + width, ..., and reductions end with exchanges between the threads (`reductions.py`).
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from jaxbandit.engine.kernels import rounding
from jaxbandit.engine.kernels.operations import Code
from jaxbandit.engine.kernels.ptx import Atom, Value, Vector, const, memory_type

WRITTEN_OUT = 12  # largest number of arms of a thread for which there is no loop
FARTHEST = 2**31  # bytes from which on an offset does not fit into a load or store
TURN = 8  # number of arms of a thread in a turn of the loop, a power of two
ARITHMETIC = inspect.unwrap(Code.unary), inspect.unwrap(Code.binary)  # as `Vector.op` has them

Exists = Callable[[int], Atom | None]


class Home:
    """Where an array along the arms is in memory: entry k at base + offset + k stride."""

    def __init__(self, space: str, base: Atom, stride: int, offset: int = 0):
        self.space, self.base, self.stride, self.offset = space, base, stride, offset


class Arm:
    """The number base + plus of an arm; without a base it is known."""

    def __init__(self, base: Atom | None, plus: int = 0):
        self.base, self.plus = base, plus

    def number(self, code: Code) -> Atom:
        """Its number as a value."""
        plus = const("s32", self.plus)
        return plus if self.base is None else code.binary("add", self.base, plus)


def arm_of(index: Atom) -> Arm:
    """The arm of a number that may be known."""
    return Arm(index) if index.value is None else Arm(None, int(index.value))


class ArmCode(Code):
    """Instructions of a thread that has all arms of a run, or shares them with other threads.

    `arms` is the length of the axes that are vectors, or None if every array is written out, and `share` the register
    with the number of this thread among the `width` threads of its run.
    """

    def __init__(self, arms: int | None = None, width: int = 1):
        super().__init__()
        self.arms, self.width = arms, width
        self.share: Atom | None = None

    def index(self) -> Vector:
        """The numbers of the arms."""
        return self.vector("s32", "index")

    def table(self, atoms: Sequence[Atom]) -> Value:
        """A vector of numbers that are computed one by one."""
        atoms = tuple(atoms)
        same = all(a.text == atoms[0].text for a in atoms)
        return atoms[0] if same else self.vector(atoms[0].type, "table", atoms)

    def at(self, v: Value, index: Atom) -> Atom:
        """The entry of an arm, whose number must be in range."""
        return self.values([v], [arm_of(index)])[0][0]

    def values(self, vectors: Sequence[Value], arms: Sequence[Arm]) -> list[list[Atom]]:
        """For each vector the atoms of these arms."""
        done: dict[str, list] = {}

        def entries(x: Any) -> list:
            return done[x.text] if isinstance(x, Vector) else [x] * len(arms)

        for v in _dependencies(vectors):
            if v.op == "index":
                done[v.text] = [arm.number(self) for arm in arms]
            elif v.op == "load":
                home = v.operands[0]
                done[v.text] = [self.load(home.space, v.type, self.place(home, arm)) for arm in arms]
            elif v.op == "table":
                done[v.text] = [choice(self, arm.number(self), v.operands[0]) for arm in arms]
            elif v.op == "update":
                base, index, value = map(entries, v.operands)
                here = [self.compare("eq", arm.number(self), i) for arm, i in zip(arms, index, strict=True)]
                done[v.text] = [self.select(*each) for each in zip(here, value, base, strict=True)]
            elif v.op == "at":
                done[v.text] = [self.values(v.operands[:1], [Arm(i)])[0][0] for i in entries(v.operands[1])]
            else:
                columns = list(zip(*map(entries, v.operands), strict=True))
                if v.op in ARITHMETIC and v.operands[0] in rounding.OPERATIONS and v.type == "f32":
                    done[v.text] = rounding.compute(self, v.operands[0], [each[1:] for each in columns])
                else:
                    done[v.text] = [v.op(self, *each) for each in columns]
        return [entries(v) for v in vectors]

    def pointer(self, home: Home, index: Atom) -> Atom:
        """The address of an arm's entry, without the offset."""
        index, stride = self.convert(index, "u32"), const("u32", home.stride)
        if home.space == "shared":
            return self.emit("mad.lo.s32", "u32", index, stride, home.base)
        return self.emit("add.s64", "u64", home.base, self.emit("mul.wide.u32", "u64", index, stride))

    def place(self, home: Home, arm: Arm) -> Atom:
        """The operand of a load or store of an arm's entry."""
        base = home.base if arm.base is None else self.pointer(home, arm.base)
        return self.address(base, home.offset + home.stride * arm.plus)

    def address(self, base: Atom, offset: int = 0) -> Atom:
        """The operand of a load or store at an offset of any size."""
        if offset >= FARTHEST:
            base, offset = self.emit("add.s64", "u64", base, Atom("u64", str(offset))), 0
        return Atom("u64", f"[{base.text}+{offset}]")

    def load(self, space: str, type: str, place: Atom) -> Atom:
        """A number in memory that nothing writes while the load is known."""
        number = self.emit(f"ld.{space}.{memory_type(type)}", "s32" if type == "pred" else type, place)
        return self.convert(number, type)

    def store(self, space: str, place: Atom, x: Atom) -> None:
        """Write a number into memory."""
        number = self.convert(x, "u32") if x.type == "pred" else x
        self.raw(f"st.{space}.{memory_type(x.type)} {place.text}, {number.text};")

    def turns(self, body: Callable[[list[Arm], Exists], None]) -> None:
        """Call body(arms, exists) for the arms of this thread; exists(u) is None if the u-th of them surely does."""
        assert self.arms is not None
        last = const("s32", self.arms - 1)
        slots = -(-self.arms // self.width)
        if self.is_written_out:
            short = self.arms % self.width != 0
            arms = [Arm(self.share, u * self.width) for u in range(slots)]
            number = arms[-1].number(self)
            if short:
                arms[-1] = Arm(self.clip(number, self.arms - 1))

            def ends(u: int) -> Atom | None:
                return self.compare("le", number, last) if short and u == slots - 1 else None

            body(arms, ends)
            return
        step, ragged = TURN * self.width, self.arms % (TURN * self.width) != 0
        end = -(-self.arms // step) * step
        k, more, head = self.register("s32"), self.register("pred"), self.label("arms")
        self.move(k, const("s32", 0) if self.share is None else self.share)
        self.raw(f"{head}:")
        self.raw('.pragma "nounroll";')
        with self.region():
            arms = [Arm(k, u * self.width) for u in range(TURN)]
            numbers = [arm.number(self) for arm in arms] if ragged else []
            if ragged:
                arms = [Arm(self.clip(number, self.arms - 1)) for number in numbers]
            body(arms, lambda u: self.compare("le", numbers[u], last) if ragged else None)
            self.raw(f"add.s32 {k.text}, {k.text}, {step};")
            self.raw(f"setp.lt.s32 {more.text}, {k.text}, {end};")
            self.raw(f"@{more.text} bra {head};")

    @property
    def is_written_out(self) -> bool:
        """Whether the arms of a thread are so few that there is no loop over them."""
        return -(-(self.arms or 0) // self.width) <= WRITTEN_OUT


def choice(code: Code, index: Atom, candidates: Sequence[Any]) -> Any:
    """candidates[index] for an index in range: selects by the bits of the index, so that few predicates are alive."""
    candidates, bit = list(candidates), 0
    if index.value is not None:
        return candidates[min(int(index.value), len(candidates) - 1)]
    while len(candidates) > 1:
        masked = code.binary("and", code.convert(index, "s32"), const("s32", 1 << bit))
        p = code.compare("ne", masked, const("s32", 0))
        chosen = [code.select(p, candidates[i + 1], candidates[i]) for i in range(0, len(candidates) - 1, 2)]
        candidates = chosen + ([candidates[-1]] if len(candidates) % 2 else [])
        bit += 1
    return candidates[0]


def _dependencies(vectors: Sequence[Value]) -> list[Vector]:
    """The vectors that are to be evaluated for the same arms, operands first."""
    found: dict[int, Vector] = {}
    todo = [v for v in vectors if isinstance(v, Vector)]
    while todo:
        v = todo.pop()
        if v.number not in found:
            found[v.number] = v
            todo += [x for x in (v.operands[1:] if v.op == "at" else v.operands) if isinstance(x, Vector)]
    return [found[number] for number in sorted(found)]
