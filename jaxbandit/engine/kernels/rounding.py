"""Correctly rounded quotients and square roots in float32, many of them with one branch.

`div.rn` and `sqrt.rn` branch in every operation, so that nothing is computed beside them. Here an approximation is
refined as they do it where nothing can overflow; only if an operand of this thread is very large or very small, all
are computed by `div.rn` or `sqrt.rn`. Both ways are correctly rounded, so that the branch decides no bit. On an H200,
none of 2^24 quotients of random numbers and none of the roots of all 2^24 mantissas was wrong.
"""

from collections.abc import Callable, Sequence

import numpy as np

from jaxbandit.engine.kernels.operations import Code, is_power_of_two
from jaxbandit.engine.kernels.ptx import Atom, const

LOW, HIGH = const("f32", 2.0**-60), const("f32", 2.0**60)  # magnitudes between which nothing can overflow


def _quotient(code: Code, safe: Atom | None, a: Atom, b: Atom) -> tuple[Atom, Atom | None]:
    """The quotient, and where it is right: where all before it are, `safe`, and its operands have usual sizes."""
    if b.value is not None:
        with np.errstate(all="ignore"):
            y = const("f32", np.float32(1) / b.value)
    else:
        y = code.emit("rcp.approx.ftz.f32", "f32", b)
        y = code.fma(y, code.fma(code.unary("neg", b), y, const("f32", 1)), y)
        safe = _between(code, code.unary("abs", b), safe)
    q = code.binary("mul", a, y)
    q = code.fma(code.fma(code.unary("neg", b), q, a), y, q)
    if a.value is None:  # 0 is safe, but -0 would lose its sign
        zero = code.compare("eq", code.bitcast(a, "s32"), const("s32", 0))
        safe = _between(code, code.unary("abs", a), safe, zero)
    return q, safe


def _root(code: Code, safe: Atom | None, a: Atom) -> tuple[Atom, Atom]:
    """The square root, and where it is right."""
    y = code.emit("rsqrt.approx.ftz.f32", "f32", a)
    g, h = code.binary("mul", a, y), code.binary("mul", const("f32", 0.5), y)
    return code.fma(code.fma(code.unary("neg", g), g, a), h, g), _between(code, a, safe)


# Operations by name: the instruction that branches, the function of NumPy, and the refined approximation.
OPERATIONS: dict[str, tuple[str, Callable, Callable]] = {
    "div": ("div.rn.f32", np.divide, _quotient),
    "sqrt": ("sqrt.rn.f32", np.sqrt, _root),
}


def compute(code: Code, name: str, operands: Sequence[tuple[Atom, ...]]) -> list[Atom]:
    """Return the correctly rounded quotients (div) of pairs, or square roots (sqrt) of numbers."""
    opcode, exact, refine = OPERATIONS[name]
    keys = [tuple(x.text for x in each) for each in operands]
    results, asked = {}, {}
    for key, each in zip(keys, operands, strict=True):
        values, last = [x.value for x in each if x.value is not None], each[-1].value
        if len(values) == len(each):
            with np.errstate(all="ignore"):
                results[key] = const("f32", exact(*values))
        elif (known := code.known.get((opcode, *key))) is not None:
            results[key] = known
        elif not all(LOW.value <= abs(x) <= HIGH.value for x in values) or (last is not None and is_power_of_two(last)):
            results[key] = code.binary(name, *each)
        else:
            asked[key] = each
    safe, fast = None, []
    for each in asked.values():
        value, safe = refine(code, safe, *each)
        fast.append(value)
    registers = [code.register("f32") for _ in fast]
    for register, value in zip(registers, fast, strict=True):
        code.move(register, value)
    if safe is not None:
        end = code.label("rounded")
        code.raw(f"@{safe.text} bra {end};")
        for register, each in zip(registers, asked.values(), strict=True):
            code.raw(f"{opcode} {register.text}, {', '.join(x.text for x in each)};")
        code.raw(f"{end}:")
    for key, register in zip(asked, registers, strict=True):
        results[key] = code.known[opcode, *key] = register
    return [results[key] for key in keys]


def _between(code: Code, size: Atom, safe: Atom | None, other: Atom | None = None) -> Atom:
    """`safe`, and the size is between LOW and HIGH, or `other`."""
    if other is not None:
        enough = code.emit("setp.ge.or.f32", "pred", size, LOW, other)
        enough = enough if safe is None else code.binary("and", enough, safe)
    elif safe is not None:
        enough = code.emit("setp.ge.and.f32", "pred", size, LOW, safe)
    else:
        enough = code.compare("ge", size, LOW)
    return code.emit("setp.le.and.f32", "pred", size, HIGH, enough)
