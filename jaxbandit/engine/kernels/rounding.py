"""Correctly rounded quotients and square roots in float32, many of them with one branch.

`div.rn` and `sqrt.rn` branch in every operation, so that nothing is computed beside them. Here an approximation is
refined as they do it where nothing can overflow; only if an operand of this thread is very large or very small, all
are computed by `div.rn` or `sqrt.rn`. Both ways are correctly rounded, so that the branch decides no bit. On an H200,
none of 2^24 quotients of random numbers and none of the roots of all 2^24 mantissas was wrong.
"""

from collections.abc import Sequence

import numpy as np

from jaxbandit.engine.kernels.operations import Code, is_power_of_two
from jaxbandit.engine.kernels.ptx import Atom, const

LOW, HIGH = const("f32", 2.0**-60), const("f32", 2.0**60)  # magnitudes between which nothing can overflow
DIVISION, ROOT = "div.rn.f32", "sqrt.rn.f32"


def quotients(code: Code, pairs: Sequence[tuple[Atom, Atom]]) -> list[Atom]:
    """Return the correctly rounded quotients of all pairs."""
    results: dict[tuple[str, str], Atom] = {}
    asked: dict[tuple[str, str], tuple[Atom, Atom]] = {}
    for a, b in pairs:
        key = (a.text, b.text)
        if a.value is not None and b.value is not None:
            with np.errstate(all="ignore"):
                results[key] = const("f32", a.value / b.value)
        elif (known := code.recall(DIVISION, a, b)) is not None:
            results[key] = known
        elif (b.value is not None and is_power_of_two(b.value)) or any(map(_is_unusual, (a, b))):
            results[key] = code.binary("div", a, b)
        else:
            asked[key] = (a, b)
    if asked:
        safe, fast = None, []
        for a, b in asked.values():
            if b.value is not None:
                with np.errstate(all="ignore"):
                    y = const("f32", np.float32(1) / b.value)
            else:
                y = code.emit("rcp.approx.ftz.f32", "f32", b)
                y = code.fma(y, code.fma(code.unary("neg", b), y, const("f32", 1)), y)
                safe = _between(code, code.unary("abs", b), safe)
            q = code.binary("mul", a, y)
            fast.append(code.fma(code.fma(code.unary("neg", b), q, a), y, q))
            if a.value is None:  # 0 is safe, but -0 would lose its sign
                zero = code.compare("eq", code.bitcast(a, "s32"), const("s32", 0))
                safe = _between(code, code.unary("abs", a), safe, zero)
        done = _resolve(code, safe, fast, DIVISION, list(asked.values()))
        results |= dict(zip(asked, done, strict=True))
    return [results[a.text, b.text] for a, b in pairs]


def roots(code: Code, numbers: Sequence[Atom]) -> list[Atom]:
    """Return the correctly rounded square roots of all numbers."""
    results: dict[str, Atom] = {}
    asked: dict[str, Atom] = {}
    for a in numbers:
        if a.value is not None:
            with np.errstate(all="ignore"):
                results[a.text] = const("f32", np.sqrt(a.value))
        elif (known := code.recall(ROOT, a)) is not None:
            results[a.text] = known
        else:
            asked[a.text] = a
    if asked:
        safe, fast = None, []
        for a in asked.values():
            y = code.emit("rsqrt.approx.ftz.f32", "f32", a)
            g, h = code.binary("mul", a, y), code.binary("mul", const("f32", 0.5), y)
            fast.append(code.fma(code.fma(code.unary("neg", g), g, a), h, g))
            safe = _between(code, a, safe)
        done = _resolve(code, safe, fast, ROOT, [(a,) for a in asked.values()])
        results |= dict(zip(asked, done, strict=True))
    return [results[a.text] for a in numbers]


def _is_unusual(x: Atom) -> bool:
    """Whether it is a constant for which an approximation cannot be refined."""
    return x.value is not None and not (LOW.value <= abs(x.value) <= HIGH.value)


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


def _resolve(code: Code, safe: Atom | None, fast: list[Atom], opcode: str, operands: Sequence[tuple]) -> list[Atom]:
    """Registers with the fast results, or with those of the opcode unless everything is safe."""
    registers = [code.register("f32") for _ in fast]
    for register, value in zip(registers, fast, strict=True):
        code.move(register, value)
    if safe is not None:
        end = code.label("rounded")
        code.raw(f"@{safe.text} bra {end};")
        for register, each in zip(registers, operands, strict=True):
            code.raw(f"{opcode} {register.text}, {', '.join(x.text for x in each)};")
        code.raw(f"{end}:")
    for register, each in zip(registers, operands, strict=True):
        code.note(register, opcode, *each)
    return registers
