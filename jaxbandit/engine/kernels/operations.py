"""The operations of one thread. Nothing here knows about JAX or bandits.

An operation on constants is done here if it is exact or correctly rounded. Every operation on floating-point numbers
names its rounding (`.rn`), which the assembler must not contract, so that the text fixes every bit of the results.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxbandit.engine.kernels.ptx import NUMPY, Atom, Text, Value, compound, const, elementwise

EXTREMES = ("min", "max")
# Operations that NumPy rounds as PTX does.
FOLD: dict[str, Callable] = {x: getattr(operator, f"__{x}__") for x in "add sub mul and or xor neg abs".split()}
FOLD |= {"not": np.invert, "min": np.minimum, "max": np.maximum}


class Code(Text):
    """Instructions of one thread, written by their meaning."""

    @elementwise(lambda name, a: a.type)
    def unary(self, name: str, a: Atom) -> Atom:
        """neg, abs, not, and sqrt of floats."""
        if a.value is not None and name in FOLD:
            with np.errstate(all="ignore"):
                return const(a.type, FOLD[name](a.value))
        kinds = {"not": _bits(a.type), "sqrt": "rn.f32"}
        return self.emit(f"{name}.{kinds.get(name, _number_type(a.type))}", a.type, a)

    @elementwise(lambda name, a, b: a.type)
    def binary(self, name: str, a: Atom, b: Atom) -> Atom:
        """add, sub, mul, min, max, and, or, xor; div and rem of integers other than 0 and -1; div of floats."""
        if a.type == "pred":
            name = {"max": "or", "min": "and", "add": "or", "mul": "and"}.get(name, name)
        known = a.value is not None and b.value is not None and name in FOLD
        # The larger of 0 and -0 is 0 in PTX, and either of them in NumPy.
        if known and not (name in EXTREMES and a.value == b.value):
            with np.errstate(all="ignore"):
                return const(a.type, FOLD[name](a.value, b.value))
        if (same := self.identity(name, a, b)) is not None:
            return same
        if name in ("and", "or", "xor"):
            return self.emit(f"{name}.{_bits(a.type)}", a.type, a, b)
        if a.type == "f32":
            if name == "div" and b.value is not None and is_power_of_two(b.value):
                return self.binary("mul", a, const("f32", 1 / b.value))
            return self.emit(f"{name}.{'NaN' if name in EXTREMES else 'rn'}.f32", a.type, a, b)
        if name == "mul":
            return self.emit(f"mul.lo.{a.type}", a.type, a, b)
        if name in EXTREMES:
            # The assembler of CUDA 13.0 loses the sign of -b in the largest of a, -b and c (seen in its code, and on an
            # H200). As numbers of the other signedness with the same order they are no negatives.
            other = "u32" if a.type == "s32" else "s32"
            result = self.emit(f"{name}.{other}", other, self.flip(a, other), self.flip(b, other))
            return self.flip(result, a.type)
        return self.emit(f"{name}.{a.type if name in ('div', 'rem') else _number_type(a.type)}", a.type, a, b)

    def flip(self, a: Atom, type: str) -> Atom:
        """The integer of the other signedness that has the same place in its order."""
        return self.bitcast(self.binary("xor", self.bitcast(a, "u32"), const("u32", 2**31)), type)

    @elementwise(lambda a, most: a.type)
    def clip(self, a: Atom, most: int) -> Atom:
        """The integer, or 0 or `most` if that is nearer to it."""
        if a.value is not None:
            return const(a.type, min(max(int(a.value), 0), most))
        positive = self.emit(f"max.{a.type}", a.type, a, const(a.type, 0))
        return self.emit(f"min.{a.type}", a.type, positive, const(a.type, most))

    def identity(self, name: str, a: Atom, b: Atom) -> Atom | None:
        """Return the result if it is an operand or a constant, whatever the other operand's value is."""
        if name in ("min", "max", "and", "or") and a.text == b.text:
            return a
        for x, y in ((a, b), (b, a)):
            if x.value is None:
                continue
            if a.type == "pred" and name in ("and", "or"):
                return y if x.value == (name == "and") else x
            if a.type == "pred" and name == "xor" and x.value:
                return self.unary("not", y)
            if name == "mul" and x.value == 1:
                return y
            if name in ("add", "or", "xor") and a.type != "f32" and x.value == 0:
                return y
        if b.value is None:
            return None
        nothing = name == "sub" and b.value == 0 and not np.signbit(np.float64(b.value))
        return a if nothing or (name == "div" and b.value == 1) else None

    @elementwise(lambda a, b, c: a.type)
    def fma(self, a: Atom, b: Atom, c: Atom) -> Atom:
        """a b + c with one rounding."""
        return self.emit("fma.rn.f32", "f32", a, b, c)

    @elementwise(lambda name, a, b: a.type)
    def shift(self, name: str, a: Atom, b: Atom) -> Atom:
        """shl, shr (arithmetic for s32, logical for u32); a shift by the width or more leaves no bit of the number."""
        if a.value is not None and b.value is not None:
            number, by = int(a.value), min(max(int(b.value), 0), 32)
            shifted = number << by if name == "shl" else number >> by
            return const(a.type, np.array(shifted & 0xFFFFFFFF, np.uint32).view(NUMPY[a.type])[()])
        return self.emit(f"{name}.{'b32' if name == 'shl' else a.type}", a.type, a, b)

    @elementwise(lambda a, by: a.type)
    def rotate(self, a: Atom, by: int) -> Atom:
        """The bits of a word rotated to the left."""
        return self.emit("shf.l.wrap.b32", "u32", a, a, const("u32", by))

    @elementwise(lambda name, a, b: "pred")
    def compare(self, name: str, a: Atom, b: Atom) -> Atom:
        """eq, ne, lt, le, gt, ge."""
        if a.value is not None and b.value is not None:
            return const("pred", getattr(operator, name)(a.value, b.value))
        if a.type != "pred":
            return self.emit(f"setp.{'neu' if name == 'ne' and a.type == 'f32' else name}.{a.type}", "pred", a, b)
        if name in ("eq", "ne"):
            differs = self.binary("xor", a, b)
            return self.unary("not", differs) if name == "eq" else differs
        if name in ("lt", "ge"):
            a, b = b, a
        greater = self.binary("and", a, self.unary("not", b))
        return greater if name in ("lt", "gt") else self.unary("not", greater)

    def select(self, p: Value, yes: Value, no: Value) -> Any:
        """`yes` where p is true, else `no`."""
        if isinstance(p, Atom) and p.value is not None:
            return yes if p.value else no
        if isinstance(yes.value, tuple) and isinstance(no.value, tuple):
            return compound(yes.type, [self.select(p, a, b) for a, b in zip(yes.value, no.value, strict=True)])
        return yes if yes.text == no.text else self._select(p, yes, no)

    @elementwise(lambda p, yes, no: yes.type)
    def _select(self, p: Atom, yes: Atom, no: Atom) -> Any:
        if p.value is not None or yes.text == no.text:
            return self.select(p, yes, no)
        if yes.type == "pred":
            return self.binary("or", self.binary("and", p, yes), self.binary("and", self.unary("not", p), no))
        return self.emit(f"selp.{'f32' if yes.type == 'f32' else 'b32'}", yes.type, yes, no, p)

    def convert(self, a: Value, type: str) -> Any:
        """The number in another type; a float becomes the integer next to it towards 0."""
        return a if a.type == type else self._convert(a, type)

    @elementwise(lambda a, type: type)
    def _convert(self, a: Atom, type: str) -> Any:
        if a.value is not None and not (a.type == "f32" and type in ("s32", "u32")):
            return const(type, np.asarray(a.value).astype(NUMPY[type]))
        if a.type == "pred":
            return self.select(a, const(type, 1), const(type, 0))
        if type == "pred":
            return self.compare("ne", a, const(a.type, 0))
        if "f32" not in (a.type, type):
            return Atom(type, a.text)
        return self.emit(f"cvt.{'rn' if type == 'f32' else 'rzi'}.{type}.{a.type}", type, a)

    def bitcast(self, a: Value, type: str) -> Any:
        """The bits of a number as another type."""
        return a if a.type == type else self._bitcast(a, type)

    @elementwise(lambda a, type: type)
    def _bitcast(self, a: Atom, type: str) -> Atom:
        if a.value is not None:
            return const(type, np.asarray(a.value).view(NUMPY[type])[()])
        return self.emit("mov.b32", type, a) if "f32" in (a.type, type) else Atom(type, a.text)

    @elementwise(lambda how, a: a.type)
    def round_to(self, how: str, a: Atom) -> Atom:
        """The integer below (rmi), above (rpi), or nearest, of two the even one (rni)."""
        return self.emit(f"cvt.{how}.f32.f32", a.type, a)


def is_power_of_two(x: Any) -> bool:
    """Whether a product with the reciprocal is the quotient."""
    x = abs(float(x))
    return bool(np.isfinite(x) and 2.0**-60 < x < 2.0**60 and np.frexp(x)[0] == 0.5)


def _bits(type: str) -> str:
    return "pred" if type == "pred" else "b32"


def _number_type(type: str) -> str:
    return "f32" if type == "f32" else "s32"
