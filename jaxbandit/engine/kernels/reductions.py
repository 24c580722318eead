"""Reductions of a vector over its arms. The order of a sum is fixed by the number of arms alone.

It is a tree over eight neighbours, and then the order of these blocks, whatever the number of threads of a run is.
"""

import math
from typing import Any

import numpy as np

from jaxbandit.engine.kernels.arms import Arm, ArmCode, Exists
from jaxbandit.engine.kernels.ptx import NUMPY, Atom, Value, Vector, const

NEUTRAL = {"add": -0.0, "mul": 1, "max": -math.inf, "min": math.inf, "and": True, "or": False}
BLOCK = 8  # number of neighbours that are combined in a tree
MOST = 0x7FFFFFFF


def fold(code: ArmCode, name: str, atoms: list) -> Any:
    """Combine values in a balanced tree, whose order is part of the numbers."""
    while len(atoms) > 1:
        halves = [code.binary(name, *atoms[i : i + 2]) for i in range(0, len(atoms) - 1, 2)]
        atoms = halves + ([atoms[-1]] if len(atoms) % 2 else [])
    return atoms[0]


def reduce(code: ArmCode, name: str, v: Value) -> Any:
    """The sum, product, largest, smallest, and, or, over the arms."""
    assert code.arms is not None
    if not isinstance(v, Vector):
        if name not in ("add", "mul"):
            return v
        v = code.vector(v.type, "table", (v,) * code.arms)
    kept = v.type
    if kept == "pred":
        v = code.convert(v, "s32")
    neutral = const(v.type, _extreme(v.type, name == "min") if name in ("max", "min") else NEUTRAL[name])
    total = neutral
    if not code.is_written_out:
        total = code.register(v.type)
        code.move(total, neutral)

    def body(arms: list[Arm], exists: Exists) -> None:
        nonlocal total
        (atoms,) = code.values([v], arms)
        if name in ("add", "mul"):  # an arm that does not exist stands for the last one
            here = [exists(u) for u in range(len(arms))]
            atoms = [a if h is None else code.select(h, a, neutral) for h, a in zip(here, atoms, strict=True)]
        atoms = _of_neighbours(code, name, atoms, min(code.width, BLOCK))
        if code.width <= BLOCK:
            per = BLOCK // code.width
            blocks = [fold(code, name, atoms[i : i + per]) for i in range(0, len(atoms), per)]
        else:
            mask = (32 - code.width) << 8 | 31  # of the threads of a run, whose first has the number 0
            firsts = range(0, code.width, BLOCK)
            blocks = [_exchange(code, a, "idx", thread, mask) for a in atoms for thread in firsts]
        now = total
        for block in blocks:
            now = code.binary(name, now, block)
        if code.is_written_out:
            total = now
        else:
            code.move(total, now)

    code.turns(body)
    return code.convert(total, kept) if kept == "pred" else total


def argmax(code: ArmCode, v: Value, largest: bool, type: str) -> Atom:
    """The number of the first extreme entry; the first NaN is the extreme."""
    if not isinstance(v, Vector):
        return const(type, 0)
    v = code.convert(v, "s32") if v.type == "pred" else v
    best, place = code.register(v.type), code.register("s32")
    if not code.is_written_out:
        code.move(best, const(v.type, _extreme(v.type, not largest)))
        code.move(place, const("s32", 0) if code.share is None else code.share)

    def body(arms: list[Arm], exists: Exists) -> None:
        (atoms,) = code.values([v], arms)
        top = fold(code, "max" if largest else "min", list(atoms))
        index = _first(code, atoms, [arm.number(code) for arm in arms], top)
        if code.is_written_out:
            code.move(best, top)
            code.move(place, index)
            return
        better = code.register("pred")
        ahead = ("gt" if largest else "lt") + ("u" if v.type == "f32" else "")  # with u also where one is NaN
        code.raw(f"setp.{ahead}.{v.type} {better.text}, {top.text}, {best.text};")
        if v.type == "f32":  # once the best is NaN it stays
            number = code.register("pred")
            code.raw(f"setp.eq.f32 {number.text}, {best.text}, {best.text};")
            code.raw(f"and.pred {better.text}, {better.text}, {number.text};")
        code.raw(f"@{better.text} mov.b32 {place.text}, {index.text};")
        code.raw(f"@{better.text} mov.{'f32' if v.type == 'f32' else 'b32'} {best.text}, {top.text};")

    code.turns(body)
    if code.width > 1:
        place = _first_of_threads(code, best, place, largest)
    return code.convert(place, type)


def _extreme(type: str, highest: bool) -> float | int:
    """The largest or the smallest number of a type."""
    if type == "f32":
        return math.inf if highest else -math.inf
    limits = np.iinfo(NUMPY[type])
    return int(limits.max if highest else limits.min)


def _first(code: ArmCode, atoms: list[Atom], numbers: list[Atom], top: Atom) -> Atom:
    """The first number whose atom equals `top`, or is NaN if `top` is."""
    index = numbers[-1]
    for a, number in list(zip(atoms, numbers, strict=True))[-2::-1]:
        index = code.select(code.compare("eq", a, top), number, index)
    if top.type != "f32":
        return index
    found, end = code.register("s32"), code.label("number")
    code.move(found, index)
    code.raw(f"@{code.compare('eq', top, top).text} bra {end};")
    with code.region():
        index = numbers[-1]
        for a, number in list(zip(atoms, numbers, strict=True))[-2::-1]:
            index = code.select(code.compare("eq", a, a), index, number)
        code.move(found, index)
    code.raw(f"{end}:")
    return found


def _first_of_threads(code: ArmCode, best: Atom, place: Atom, largest: bool) -> Atom:
    """The same among the threads of a run: by integers, in which NaN comes first and -0 equals 0."""
    key = best
    if best.type == "f32":
        size = code.binary("add", best, const("f32", 0.0))
        size = code.binary("add", size if largest else code.unary("neg", size), const("f32", 0.0))
        bits = code.bitcast(size, "s32")
        sign = code.shift("shr", bits, const("s32", 31))
        key = code.binary("xor", bits, code.binary("and", sign, const("s32", MOST)))
        key = code.select(code.compare("eq", best, best), key, const("s32", MOST))
    elif not largest:
        key = code.unary("not", key)
    (top,) = _of_neighbours(code, "max", [key], code.width)
    place = code.select(code.compare("eq", key, top), place, const("s32", MOST))
    return _of_neighbours(code, "min", [place], code.width)[0]


def _of_neighbours(code: ArmCode, name: str, atoms: list[Atom], threads: int) -> list[Atom]:
    """Combine each value with those of so many neighbours, a power of two."""
    by = 1
    while by < threads:
        atoms = [code.binary(name, a, _exchange(code, a, "bfly", by, 31)) for a in atoms]
        by *= 2
    return atoms


def _exchange(code: ArmCode, a: Atom, way: str, thread: int, mask: int) -> Atom:
    """The value of another thread: of a number (idx), or whose number differs in these bits (bfly)."""
    type = "u32" if a.type == "f32" else a.type
    out = code.register(type)
    code.raw(f"shfl.sync.{way}.b32 {out.text}, {code.bitcast(a, type).text}, {thread}, {mask}, -1;")
    return code.bitcast(out, a.type)
