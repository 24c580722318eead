"""Logarithm and exponential in float32 by correctly rounded operations, so that their bits do not depend on the GPU.

Their largest errors against float64 are .92 ulp (log), 1.02 (exp), 1.44 (log1p) and 2.2 (expm1). The coefficients were
fitted by least squares of the relative error, reweighted towards the smallest maximum, on Chebyshev nodes.
"""

from collections.abc import Sequence

import numpy as np

from jaxbandit.engine.kernels.operations import Code
from jaxbandit.engine.kernels.ptx import Atom, Value, const

# (log(1 + r) - r + r^2 / 2) / r^3 for |r| <= 1/3, and (exp(r) - 1 - r) / r^2 for |r| <= log(2) / 2.
LOG = (0.33333224, -0.24999689, 0.20010044, -0.16685468, 0.1401092, -0.12115106, 0.13962461, -0.13191688)
EXP = (0.5, 0.16666518, 0.041666206, 0.008368888, 0.0013950482)
# log(2) in two parts, of which the first has so few bits that its products with exponents are exact.
LOG2_HIGH = 0.693359375
LOG2_LOW = -2.1219444e-4
SMALLEST_NORMAL = 2.0**-126


def _f(x: float) -> Atom:
    return const("f32", x)


def _i(x: int) -> Atom:
    return const("s32", x)


def polynomial(code: Code, coefficients: Sequence[float], x: Value) -> Value:
    """The polynomial by Horner's rule."""
    total: Value = _f(coefficients[-1])
    for c in coefficients[-2::-1]:
        total = code.fma(total, x, _f(c))
    return total


def log(code: Code, x: Value) -> Value:
    """The natural logarithm, of subnormal numbers too; 0 -> -inf, negative -> NaN, inf -> inf."""
    small = code.compare("lt", x, _f(SMALLEST_NORMAL))
    scaled = code.select(small, code.binary("mul", x, _f(2.0**23)), x)
    bits = code.bitcast(scaled, "s32")
    exponent = code.binary("and", code.binary("sub", bits, _i(0x3F2AAAAB)), _i(-0x800000))
    mantissa = code.bitcast(code.binary("sub", bits, exponent), "f32")  # in [2/3, 4/3)
    k = code.fma(code.convert(exponent, "f32"), _f(2.0**-23), code.select(small, _f(-23.0), _f(0.0)))
    r = code.binary("sub", mantissa, _f(1.0))
    rest = code.fma(polynomial(code, LOG, r), r, _f(-0.5))
    rest = code.fma(rest, code.binary("mul", r, r), r)
    y = code.fma(k, _f(LOG2_HIGH), code.fma(k, _f(LOG2_LOW), rest))
    positive = code.compare("gt", x, _f(0.0))
    usual = code.binary("and", positive, code.compare("lt", x, _f(np.inf)))
    unusual = code.select(positive, _f(np.inf), _f(np.nan))
    return code.select(usual, y, code.select(code.compare("eq", x, _f(0.0)), _f(-np.inf), unusual))


def exp(code: Code, x: Value) -> Value:
    """The exponential; it underflows to 0 and overflows to inf as the exact one does."""
    bounded = code.binary("min", code.binary("max", x, _f(-104.0)), _f(89.0))
    j = code.round_to("rni", code.binary("mul", bounded, _f(1.4426950408889634)))
    r = code.fma(j, _f(-LOG2_LOW), code.fma(j, _f(-LOG2_HIGH), bounded))
    p = code.fma(polynomial(code, EXP, r), code.binary("mul", r, r), r)
    p = code.binary("add", p, _f(1.0))
    n = code.convert(j, "s32")
    half = code.shift("shr", n, _i(1))  # 2^n in two factors, because it may not be a normal number

    def power_of_two(k: Value) -> Value:
        return code.bitcast(code.shift("shl", code.binary("add", k, _i(127)), _i(23)), "f32")

    return code.binary("mul", code.binary("mul", p, power_of_two(half)), power_of_two(code.binary("sub", n, half)))


def log1p(code: Code, x: Value) -> Value:
    """log(u) for u = 1 + x as rounded, with the correction (x - (u - 1)) / u (Kahan)."""
    one = _f(1.0)
    u = code.binary("add", one, x)
    rest = code.binary("div", code.binary("sub", x, code.binary("sub", u, one)), u)
    value = code.binary("add", log(code, u), code.select(_is_usual(code, u), rest, _f(0.0)))
    return code.select(code.compare("eq", u, one), x, value)


def expm1(code: Code, x: Value) -> Value:
    """(u - 1) x / log(u) for u = exp(x) as rounded (Kahan)."""
    one = _f(1.0)
    u = exp(code, x)
    less = code.binary("sub", u, one)
    value = code.binary("mul", less, code.binary("div", x, log(code, u)))
    return code.select(code.compare("eq", u, one), x, code.select(_is_usual(code, u), value, less))


def _is_usual(code: Code, u: Value) -> Value:
    return code.binary("and", code.compare("gt", u, _f(0.0)), code.compare("lt", u, _f(np.inf)))
