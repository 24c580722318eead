"""What the operations of PTX compute, on NumPy arrays with an entry for each thread.

They are rounded correctly, as PTX says, and approximations are wrong by about as much as its manual allows, in another
direction in every thread. There is no float operation that the assembler may contract, such as `add.f32` without `.rn`.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

WORDS = "s32 u32"
WARP = 32  # threads that exchange numbers
POISON = 0xFFDEADBE  # of every word that PTX leaves undefined; NaN as a float


class Operation(NamedTuple):
    """What an opcode computes from arrays of its operands' types."""

    function: Callable[..., np.ndarray]
    result: str
    operands: list[str]


def fma(a, b, c):
    """a b + c in float32 with one rounding: the product is exact in float64, and its sum is rounded to odd."""
    product, c = a.astype(np.float64) * b, c.astype(np.float64)
    total = product + c
    # A second rounding harms only from the middle between two numbers, or from below the normal ones.
    small = (np.abs(total) < 2.0**-125) & (total != 0)
    if not ((total.view(np.int64) & 0x1FFFFFFF == 0x10000000) | small).any():
        return total.astype(np.float32)
    other = total - product
    error = (product - (total - other)) + (c - other)
    even = np.isfinite(total) & (error != 0) & (total.view(np.int64) % 2 == 0)
    odd = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
    return np.where(even, odd, total).astype(np.float32)


def extreme(function):
    """`function`, np.minimum or np.maximum, with -0 below 0."""

    def of_two(a, b):
        first = np.signbit(a) == (function is np.minimum)
        return np.where((a == 0) & (b == 0), np.where(first, a, b), function(a, b))

    return of_two


@functools.cache
def errors(number):
    """Relative errors of approximations before they are rounded, so that the sum of both is at most 2^-22.9."""
    return (np.random.default_rng(0).random(number) - 0.5) * 2.0**-22.8


def approximation(function):
    """`function` of a float32, not rounded correctly, in which subnormal numbers are 0."""

    def flush(x):
        return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(x.dtype.type(0), x), x)

    def of_one(a):
        return flush((function(flush(a).astype(np.float64)) * (1 + errors(a.size))).astype(np.float32))

    return of_one


def shift(a, by, left):
    """All bits leave a word that is shifted by 32 or more."""
    wide, by = a.astype(np.int64), np.minimum(by, 32).astype(np.int64)
    return (wide << by if left else wide >> by).astype(a.dtype)


def funnel(low, high, by):
    """The upper word of `high` and `low`, shifted to the left."""
    wide = high.astype(np.uint64) << np.uint64(32) | low
    return (wide << (by & 31).astype(np.uint64) >> np.uint64(32)).astype(np.uint32)


def quotient(a, b):
    """Towards 0; POISON for a divisor of 0, for which PTX has no result."""
    wide, divisor = a.astype(np.int64), np.where(b == 0, 1, b).astype(np.int64)
    value = np.sign(wide) * np.sign(divisor) * (np.abs(wide) // np.abs(divisor))
    return np.where(b == 0, np.uint32(POISON).astype(a.dtype), value.astype(a.dtype))


def remainder(a, b):
    return np.where(b == 0, np.uint32(POISON).astype(a.dtype), a - quotient(a, b) * b)


def to_integer(function, type):
    """`function` of a float, 0 for NaN, and the nearest number of the type outside of its range."""
    least, most = np.iinfo(type).min, np.iinfo(type).max
    return lambda a: np.clip(np.nan_to_num(function(a.astype(np.float64))), least, most).astype(type)


def widen(x):
    return x.astype(np.int64 if x.dtype.kind == "i" else np.uint64)


def butterfly(a, lane, clamp, members):
    return a[np.arange(a.size) ^ int(lane[0])]


def indexed(a, lane, clamp, members):
    """What a thread of the own segment has, whose mask is in the upper bits of `clamp`."""
    number = np.arange(a.size)
    return a[(number & ~(WARP - 1)) | (number & (int(clamp[0]) >> 8)) | int(lane[0])]


def every_operation():
    found = {}

    def row(opcode, types, function, signature):
        for t in types.split():
            result, *operands = (t if x == "T" else x for x in signature.split())
            found[opcode.replace("T", t)] = Operation(function, result, operands)

    def comparison(name, types, function):
        row(f"setp.{name}.T", types, function, "pred T T")
        row(f"setp.{name}.and.T", types, lambda a, b, p: function(a, b) & p, "pred T T pred")
        row(f"setp.{name}.or.T", types, lambda a, b, p: function(a, b) | p, "pred T T pred")

    compare = {"eq": np.equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
    for name, function in compare.items():
        comparison(name, f"f32 {WORDS}", function)
    comparison("ne", WORDS, np.not_equal)
    comparison("neu", "f32", np.not_equal)  # unordered: true of NaN
    comparison("gtu", "f32", lambda a, b: ~(a <= b))
    comparison("ltu", "f32", lambda a, b: ~(a >= b))
    for name, function in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}.items():
        row(f"{name}.rn.f32", "f32", function, "f32 f32 f32")
    for name, function in {"min": np.minimum, "max": np.maximum}.items():
        row(f"{name}.T", WORDS, function, "T T T")
        row(f"{name}.NaN.f32", "f32", extreme(function), "f32 f32 f32")
    for name, function in {"add": np.add, "sub": np.subtract, "mul.lo": np.multiply}.items():
        row(f"{name}.T", f"{WORDS} s64 u64", function, "T T T")
    for name, function in {"neg": np.negative, "abs": np.abs}.items():
        row(f"{name}.T", "f32 s32", function, "T T")
    for name, function in {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}.items():
        row(f"{name}.T", "b32 pred", function, "T T T")
    row("not.T", "b32 pred", np.invert, "T T")
    for name, function in {"rmi": np.floor, "rpi": np.ceil, "rni": np.rint, "rzi": np.trunc}.items():
        row(f"cvt.{name}.f32.f32", "f32", function, "f32 f32")
        row(f"cvt.{name}.s32.f32", "f32", to_integer(function, np.int32), "s32 f32")
        row(f"cvt.{name}.u32.f32", "f32", to_integer(function, np.uint32), "u32 f32")
    row("cvt.rn.f32.T", WORDS, lambda a: a.astype(np.float32), "f32 T")
    row("cvt.u64.u32", "u32", widen, "u64 u32")
    row("cvt.s64.s32", "s32", widen, "s64 s32")
    row("fma.rn.f32", "f32", fma, "f32 f32 f32 f32")
    row("sqrt.rn.f32", "f32", np.sqrt, "f32 f32")
    row("rcp.approx.ftz.f32", "f32", approximation(lambda a: 1 / a), "f32 f32")
    row("rsqrt.approx.ftz.f32", "f32", approximation(lambda a: 1 / np.sqrt(a)), "f32 f32")
    row("mul.hi.T", WORDS, lambda a, b: (widen(a) * widen(b) >> 32).astype(a.dtype), "T T T")
    row("mul.wide.u32", "u32", lambda a, b: widen(a) * widen(b), "u64 u32 u32")
    row("mad.lo.T", WORDS, lambda a, b, c: a * b + c, "T T T T")
    row("div.T", WORDS, lambda a, b: quotient(a, b), "T T T")
    row("rem.T", WORDS, lambda a, b: remainder(a, b), "T T T")
    row("shl.b32", "b32", lambda a, by: shift(a, by, True), "b32 b32 u32")
    row("shr.T", WORDS, lambda a, by: shift(a, by, False), "T T u32")
    row("shf.l.wrap.b32", "b32", funnel, "b32 b32 b32 u32")
    row("mov.T", "b32 b64 f32 u32 pred", lambda a: a, "T T")
    row("selp.T", "b32 f32", lambda a, b, p: np.where(p, a, b), "T T T pred")
    row("shfl.sync.bfly.b32", "b32", butterfly, "b32 b32 u32 u32 u32")
    row("shfl.sync.idx.b32", "b32", indexed, "b32 b32 u32 u32 u32")
    return found


OPERATIONS = every_operation()
