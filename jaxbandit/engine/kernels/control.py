"""How whole programs are written, with the calls, branches and loops in them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandit.engine.kernels import shapes
from jaxbandit.engine.kernels.arms import ArmCode
from jaxbandit.engine.kernels.arrays import Values, apply, array, axis_of_arms, constant, pack, type_of, unpack
from jaxbandit.engine.kernels.ptx import Atom, NoRule, Vector, const
from jaxbandit.engine.kernels.rules import RULES, Operands, rule
from jaxbandit.engine.layout.jaxprs import Equation, Program, evaluate, program_of, scan_parts

PLATFORM = "cuda"
SCANNED = 32  # largest length of a scan, which is written out

assert shapes.FILL  # its import registers the rules


def play(code: ArmCode, program: Program, inputs: Sequence[Values]) -> list[Values]:
    """The outputs of a program on arrays of values."""

    def compute(e: Equation, xs: list[Values]) -> Sequence[Values]:
        if e.called is not None:
            return play(code, e.called, xs)
        if e.name not in RULES:
            raise NoRule(f"the operation {e.name}")
        out = RULES[e.name](code, e, xs)
        return _without_arms(code, e, xs) if out is None else out

    return evaluate(program, list(inputs), compute, lambda x: constant(code, x))


def _without_arms(code: ArmCode, e: Equation, xs: Operands) -> Sequence[Values]:
    """The results of an operation that has no rule for vectors of arms: they are written out for it."""
    arms, xs = code.arms, [unpack(code, x, described.shape) for x, described in zip(xs, e.inputs, strict=True)]
    code.arms = None
    try:
        out = RULES[e.name](code, e, xs)
    finally:
        code.arms = arms
    if out is None:
        raise NoRule(f"this form of the operation {e.name}")
    return [pack(code, x) for x in out]


def variables(code: ArmCode, xs: Sequence[Values]) -> list[Values]:
    """Registers with these values, which a loop or a branch may write again."""
    if any(isinstance(a, Vector) for x in xs for a in x.flat):
        raise NoRule("a loop that carries an array of arms")
    registers = [apply(lambda a: code.register(a.type), x) for x in xs]
    for into, x in zip(registers, xs, strict=True):
        for a, b in zip(into.flat, x.flat, strict=True):
            code.move(a, b)
    return registers


def assign(code: ArmCode, into: Sequence[Values], values: Sequence[Values]) -> None:
    """Write all registers at once: a value may be one of the registers that are written."""
    pairs = []
    for registers, x in zip(into, values, strict=True):
        pairs += zip(registers.flat, np.broadcast_to(x, registers.shape).flat, strict=True)
    pairs = [(a, b) for a, b in pairs if a.text != b.text]
    if any(isinstance(b, Vector) for _, b in pairs):
        raise NoRule("a loop or branch that returns an array of arms")
    overwritten = {a.text for a, _ in pairs}
    moves = []
    for a, b in pairs:
        if b.text in overwritten:
            spare = code.register(b.type)
            code.move(spare, b)
            moves.append((a, spare))
        else:
            moves.append((a, b))
    for a, b in moves:
        code.move(a, b)


@rule("platform_index")
def _platform(code: ArmCode, e: Equation, xs: Operands) -> list[Values]:
    names = e.params["platforms"]
    return [constant(code, np.int32(next(i for i, each in enumerate(names) if each is None or PLATFORM in each)))]


@rule("cond")
def _branches(code: ArmCode, e: Equation, xs: Operands) -> Sequence[Values]:
    programs, index = e.programs, xs[0][()]
    if isinstance(index, Vector):
        raise NoRule("another branch for every arm")
    if index.value is not None:
        return play(code, programs[min(max(int(index.value), 0), len(programs) - 1)], xs[1:])
    if len(programs) != 2:
        raise NoRule("a switch")
    take = index if index.type == "pred" else code.compare("gt", index, const(index.type, 0))
    if any(axis_of_arms(code, o.shape) is not None for o in e.outputs):
        no, yes = (play(code, program, xs[1:]) for program in programs)
        return [apply(lambda a, b: code.select(take, a, b), a, b) for a, b in zip(yes, no, strict=True)]
    results = [array(o.shape, lambda _, o=o: code.register(type_of(o))) for o in e.outputs]
    other, end = code.label("else"), code.label("end")
    code.raw(f"@!{take.text} bra {other};")
    with code.region():
        assign(code, results, play(code, programs[1], xs[1:]))
    code.raw(f"bra {end};")
    code.raw(f"{other}:")
    with code.region():
        assign(code, results, play(code, programs[0], xs[1:]))
    code.raw(f"{end}:")
    return results


@rule("while")
def _loop(code: ArmCode, e: Equation, xs: Operands) -> list[Values]:
    """A loop of this thread: other threads of its warp wait only until their own end."""
    if code.width > 1:
        raise NoRule("a loop of one run whose threads exchange numbers")
    condition, body = program_of(e.params["cond_jaxpr"]), program_of(e.params["body_jaxpr"])
    assert condition is not None and body is not None
    of_condition = e.params["cond_nconsts"]
    shared = of_condition + e.params["body_nconsts"]
    state = variables(code, xs[shared:])
    begin, end = code.label("while"), code.label("ended")
    code.raw(f"{begin}:")
    with code.region():
        more: Any = play(code, condition, [*xs[:of_condition], *state])[0][()]
        more = _in_register(code, more)
        code.raw(f"@!{more.text} bra {end};")
        assign(code, state, play(code, body, [*xs[of_condition:shared], *state]))
        code.raw(f"bra {begin};")
    code.raw(f"{end}:")
    return state


@rule("scan")
def _scan(code: ArmCode, e: Equation, xs: Operands) -> list[Values]:
    (inner,), (first, number), length = e.programs, scan_parts(e), e.params["length"]
    if length > SCANNED or length == code.arms:
        raise NoRule(f"a scan of length {length}")
    carry, stacked = list(xs[first : first + number]), []
    order = range(length)[:: -1 if e.params["reverse"] else 1]
    for i in order:
        rows = [x[i : i + 1].reshape(x.shape[1:]) for x in xs[first + number :]]
        out = play(code, inner, [*xs[:first], *carry, *rows])
        carry = out[:number]
        stacked.append(out[number:])
    stacked = stacked[:: -1 if e.params["reverse"] else 1]
    return [*carry, *(np.stack(column) for column in zip(*stacked, strict=True))]


def _in_register(code: ArmCode, p: Atom) -> Atom:
    """A constant cannot guard a branch."""
    if p.value is None:
        return p
    register = code.register("pred")
    code.move(register, p)
    return register
