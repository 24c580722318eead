"""The text of one thread in PTX, the assembly language of NVIDIA's GPUs: registers, labels, and what is known already.

A value is an `Atom`, which is a constant or a register that is written once, or a `Vector`, which has a value for every
arm and is computed where it is used (`arms.py`). Equal operations are written once.
"""

import functools
import re
import struct
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

NUMPY: dict[str, type] = {"f32": np.float32, "s32": np.int32, "u32": np.uint32, "pred": np.bool_}
TYPES = {np.dtype(numpy): type for type, numpy in NUMPY.items()}
REGISTERS = {"f32": "%f", "s32": "%r", "u32": "%r", "u64": "%rd", "pred": "%p"}  # names of the registers of a type
DECLARED = {"%f": "f32", "%r": "b32", "%rd": "b64", "%p": "pred"}
REGISTER = re.compile(r"%(?:f|r|rd|p)\d+")
PURE = re.compile(
    r"(?:rcp|rsqrt|add|sub|mul|div|min|max|and|or|xor|not|neg|abs|sqrt|fma|selp|setp|cvt|mov|shl|shr|shf|ld|mad|rem)\b"
)
HEAD = (".version 7.4", ".target sm_80", ".address_size 64")  # the oldest that has all instructions

MOST_LINES = 8000  # longer texts take seconds to assemble
MOST_WRITTEN = 2 * MOST_LINES  # before lines are left out that nothing reads, which are a fifth at most


class NoRule(Exception):
    """A program has an operation that no rule writes as PTX; the engine's own loop plays it."""


class Atom(NamedTuple):
    """A number of one thread. A complex number or a key is an atom whose value is the tuple of its parts."""

    type: str
    text: str
    value: Any = None  # a NumPy scalar if it is a constant


class Vector:
    """A value for every arm: a function `op` of operands, of which some are vectors."""

    __slots__ = ("number", "op", "operands", "text", "type", "value")

    def __init__(self, type: str, number: int, op: Any, operands: tuple):
        self.type, self.number, self.op, self.operands = type, number, op, operands
        self.text, self.value = f"v{number}", None


Value = Atom | Vector
Method = Callable[..., Any]


def const(type: str, value: Any) -> Atom:
    """Return a constant."""
    value = NUMPY[type](value)
    if type == "f32":
        return Atom(type, f"0f{struct.pack('>f', value).hex().upper()}", value)
    return Atom(type, str(int(value)), value)


def memory_type(type: str) -> str:
    """Return the type of a load or store."""
    return {"f32": "f32", "pred": "u8"}.get(type, "u32")


def elementwise(result: Callable[..., str]) -> Callable[[Method], Method]:
    """Return a decorator: with a vector among its operands a method of `Text` gives a vector of type result(...)."""

    def decorate(method: Method) -> Method:
        @functools.wraps(method)
        def call(self: "Text", *operands: Any) -> Any:
            if any(isinstance(x, Vector) for x in operands):
                return self.vector(result(*operands), method, *operands)
            return method(self, *operands)

        return call

    return decorate


class Text:
    """The instructions of one thread, as they are written."""

    def __init__(self):
        self.lines: list[str] = []
        self.known: dict[tuple[str, ...], Atom] = {}  # results by opcode and the texts of operands
        self.numbers: Counter[str] = Counter()
        self.vectors: dict[Hashable, Vector] = {}

    def register(self, type: str) -> Atom:
        """Return a new register."""
        self.numbers[REGISTERS[type]] += 1
        return Atom(type, f"{REGISTERS[type]}{self.numbers[REGISTERS[type]]}")

    def label(self, stem: str) -> str:
        """Return a new label."""
        self.numbers["$"] += 1
        return f"${stem}_{self.numbers['$']}"

    def raw(self, line: str) -> None:
        """Write a line."""
        if len(self.lines) == MOST_WRITTEN:
            raise NoRule(f"a text of more than {MOST_WRITTEN} lines")
        self.lines.append(line)

    @contextmanager
    def region(self) -> Iterator[None]:
        """Context manager for code that may not be executed: what it computes is not known afterwards."""
        known = self.known.copy()
        yield
        self.known = known

    def vector(self, type: str, op: Any, *operands: Any) -> Vector:
        """Return the vector of an operation, the same one for the same operands."""
        key = (type, op, *(x.text if isinstance(x, (Atom, Vector)) else x for x in operands))
        if key not in self.vectors:
            self.vectors[key] = Vector(type, len(self.vectors), op, operands)
        return self.vectors[key]

    def emit(self, opcode: str, type: str, *operands: Any) -> Atom:
        """Write an operation, unless it is known, and return its result."""
        texts = [x.text for x in operands]
        result = self.known.get((opcode, *texts))
        if result is None:
            result = self.known[opcode, *texts] = self.register(type)
            self.raw(f"{opcode} {result.text}, {', '.join(texts)};")
        return result

    def special(self, name: str) -> Atom:
        """Return a register of the machine, such as %tid.x, or the address of a variable."""
        return self.emit("mov.u32", "u32", Atom("u32", name))

    def parameter(self, name: str) -> Atom:
        """Return the pointer that is a parameter of the kernel."""
        return self.emit("ld.param.u64", "u64", Atom("u64", f"[{name}]"))

    def move(self, into: Atom, value: Atom) -> None:
        """Write a value into a register."""
        if into.text == value.text:
            return
        if into.type != "pred":
            self.raw(f"mov.{'f32' if into.type == 'f32' else 'b32'} {into.text}, {value.text};")
        elif value.value is None:
            self.raw(f"mov.pred {into.text}, {value.text};")
        else:
            self.raw(f"setp.{'eq' if value.value else 'ne'}.s32 {into.text}, 0, 0;")

    def prune(self) -> None:
        """Leave out what computes or loads a register that no line reads."""
        lines: list[tuple[str, str | None, list[str]]] = []  # with the register that is all a line computes
        for line in self.lines:
            words = REGISTER.findall(line)
            pure = len(words) > 0 and PURE.match(line) is not None
            lines.append((line, words[0], words[1:]) if pure else (line, None, words))
        number = None
        while number != len(lines):
            number, read = len(lines), {word for _, _, words in lines for word in words}
            lines = [each for each in lines if each[1] is None or each[1] in read]
        self.lines = [line for line, _, _ in lines]

    def text(self, name: str, parameters: Sequence[str], threads: int, *, shared: bool = False) -> str:
        """Return the module with these instructions as its only kernel, of pointers to global memory."""
        registers = [f".reg .{DECLARED[p]} {p}<{n + 1}>;" for p, n in sorted(self.numbers.items()) if p in DECLARED]
        pointers = ",\n".join(f"  .param .u64 .ptr .global .align 16 {p}" for p in parameters)
        room = [".extern .shared .align 16 .b8 kept[];"] if shared else []
        head = [*HEAD, *room, f".visible .entry {name}(", pointers, ")", f".maxntid {threads}, 1, 1", "{"]
        return "\n".join([*head, *registers, *self.lines, "ret;", "}", ""])


def compound(type: str, parts: Sequence[Value]) -> Atom:
    """Return a complex number or a key, which is only taken apart again."""
    return Atom(type, f"({','.join(x.text for x in parts)})", tuple(parts))
